//! A text file as edits see it: checked, decoded, and saved whole or not at all.

use std::{
    fs, io,
    io::{Read, Write},
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};
use tempfile::Builder;

use crate::{ToolContext, place};

/// Files up to this size are taken into memory, and can be edited.
pub(crate) const WHOLE_BYTES: u64 = 10 * 1024 * 1024;

const BOM: &str = "\u{feff}";

/// A file whose content the session knows and may change.
pub(crate) struct TextFile {
    /// Links followed: what is written is the target.
    pub path: PathBuf,
    /// Without byte order mark, and with plain line ends if all ends were the same.
    pub text: String,
    has_bom: bool,
    is_crlf: bool,
}

impl TextFile {
    /// Opens a file the session has read and that has not changed since.
    pub fn open(context: &ToolContext, shown: &str) -> Result<Self, String> {
        let path = place::real(&context.resolve(shown));
        let bytes = known_bytes(context, &path, shown)?;
        let text = String::from_utf8(bytes).map_err(|_| {
            format!("{shown} is not valid UTF-8 text, so it cannot be edited; a Bash command can.")
        })?;
        let (text, has_bom) = match text.strip_prefix(BOM) {
            Some(rest) => (rest.to_owned(), true),
            None => (text, false),
        };
        let is_crlf = text.contains("\r\n") && text.matches('\n').count() == text.matches("\r\n").count();
        let text = if is_crlf { text.replace("\r\n", "\n") } else { text };
        Ok(Self { path, text, has_bom, is_crlf })
    }

    /// What a model wrote, in the form `text` is in.
    pub fn fit(&self, written: &str) -> String {
        if self.is_crlf { written.replace("\r\n", "\n") } else { written.to_owned() }
    }

    /// The bytes to save for a new text: marks and line ends as they were.
    pub fn encode(&self, text: &str) -> Vec<u8> {
        let text = if self.is_crlf { text.replace('\n', "\r\n") } else { text.to_owned() };
        if self.has_bom { format!("{BOM}{text}").into_bytes() } else { text.into_bytes() }
    }
}

/// The content of a file the session has read, if it is still the same.
pub(crate) fn known_bytes(context: &ToolContext, path: &Path, shown: &str) -> Result<Vec<u8>, String> {
    let (file, metadata) = place::open(path, shown)?;
    if metadata.len() > WHOLE_BYTES {
        return Err(format!(
            "{shown} is too large to edit here ({}); a Bash command can.",
            place::size(metadata.len())
        ));
    }
    let Some(seen) = context.views.seen(path) else {
        return Err(format!("{shown} has not been read in this session. Read it first, then change it."));
    };
    let mut bytes = Vec::new();
    file.take(WHOLE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| place::explain(&error, path, shown, "read"))?;
    if hash(&bytes) != seen {
        return Err(format!("{shown} has changed since it was read. Read it again, then change it."));
    }
    Ok(bytes)
}

/// The name of a content.
pub(crate) fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Replaces or creates a file in one step: readers see the old content or the new one.
/// Directories above it are created; mode and owner stay.
pub(crate) fn save(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(directory)?;
    // The mode a new file gets is narrowed by the user's mask, as for any other program.
    let mode = fs::Permissions::from_mode(0o666);
    let mut temporary = Builder::new().prefix(".rooftree-").permissions(mode).tempfile_in(directory)?;
    temporary.write_all(bytes)?;
    if let Ok(existing) = fs::metadata(path) {
        let own = temporary.as_file().metadata()?;
        if (own.uid(), own.gid()) != (existing.uid(), existing.gid()) {
            // Only root can give files away; for others the file becomes their own.
            let _ = chown(temporary.path(), Some(existing.uid()), Some(existing.gid()));
        }
        fs::set_permissions(temporary.path(), existing.permissions())?;
    }
    temporary.persist(path).map(|_| ()).map_err(|error| error.error)
}
