//! Manifest of a plain copy: every path with its kind and digest, and the texts themselves.
//!
//! It lies beside the copy. The texts are kept so that changes of both sides can be merged.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use rooftree_protocol::Problem;

use super::{
    errors,
    file_entry::{EntryKind, FileEntry},
    record,
};

/// Larger files are compared, but not merged.
const MERGED_BYTES: u64 = 1024 * 1024;

/// The copy as it was handed out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CopyManifest(pub BTreeMap<PathBuf, FileEntry>);

impl CopyManifest {
    /// Reads one of the lists below.
    pub fn read(list: &Path) -> Result<Self, Problem> {
        let bytes = fs::read(list).map_err(errors::at("read", list))?;
        let lines = bytes
            .split(|byte| *byte == 0)
            .filter(|line| !line.is_empty());
        let entries: Option<_> = lines.map(parse).collect();
        entries
            .map(Self)
            .ok_or_else(|| errors::failed(format!("{} cannot be understood", list.display())))
    }

    /// Writes one of the lists below.
    pub fn write(&self, list: &Path) -> io::Result<()> {
        let mut bytes = Vec::new();
        for (path, entry) in &self.0 {
            let sort = match entry.sort {
                EntryKind::Program => "program",
                EntryKind::Link => "link",
                EntryKind::File | EntryKind::Other => "file",
            };
            bytes.extend_from_slice(format!("{sort} {} ", entry.digest).as_bytes());
            bytes.extend_from_slice(path.as_os_str().as_bytes());
            bytes.push(0);
        }
        fs::write(list, bytes)
    }
}

fn parse(line: &[u8]) -> Option<(PathBuf, FileEntry)> {
    let mut fields = line.splitn(3, |byte| *byte == b' ');
    let sort = match fields.next()? {
        b"file" => EntryKind::File,
        b"program" => EntryKind::Program,
        b"link" => EntryKind::Link,
        _ => return None,
    };
    let digest = String::from_utf8(fields.next()?.to_vec()).ok()?;
    Some((
        OsStr::from_bytes(fields.next()?).into(),
        FileEntry { sort, digest },
    ))
}

/// Keeps the content of a file as it is now, if it is small enough to be merged later.
pub(super) fn keep(root: &Path, file: &Path, entry: &FileEntry) -> io::Result<()> {
    let kept = kept(root, entry);
    if entry.is_file() && fs::metadata(file)?.len() <= MERGED_BYTES && !kept.exists() {
        fs::copy(file, kept)?;
    }
    Ok(())
}

/// Where the content of an entry is kept, if it is.
pub(super) fn kept(root: &Path, entry: &FileEntry) -> PathBuf {
    directory(root).join(&entry.digest)
}

/// Where the contents are kept.
pub(super) fn directory(root: &Path) -> PathBuf {
    record::beside(root, ".base")
}

/// The list of what was applied last.
pub(super) fn applied(root: &Path) -> PathBuf {
    record::beside(root, ".applied")
}

/// The list of what the child found.
pub(super) fn found(root: &Path) -> PathBuf {
    record::beside(root, ".manifest")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_spaces_and_line_ends_in_its_path_is_read() {
        let (path, entry) = parse(b"program abc a b\n c").unwrap();
        assert_eq!(
            (path.as_path(), entry.sort),
            (Path::new("a b\n c"), EntryKind::Program)
        );
        assert!(parse(b"socket abc a").is_none());
    }
}
