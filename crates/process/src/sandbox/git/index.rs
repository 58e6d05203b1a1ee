//! Reads which entries of git's index are links to other repositories: `git status` runs git inside these.

use std::{
    ffi::OsString,
    fs,
    os::unix::{ffi::OsStringExt, fs::MetadataExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// The mode of a link to a commit of another repository.
const GITLINK: u32 = 0o160_000;

/// A larger index is not read: parsing it would take longer than a command should wait.
const INDEX_BYTES: u64 = 128 * 1024 * 1024;

/// How many shared parts of an index are read.
const SHARED: usize = 4;

/// An index as it was read, known by what the kernel says of its file.
type CachedGitlinks = ((u64, u64, i64, i64, u64), Arc<[PathBuf]>);

/// How many are remembered.
const REMEMBERED: usize = 64;

/// The links in the index of a repository, relative to its working tree.
pub(super) fn gitlinks(git: &Path, hash_bytes: usize) -> Vec<PathBuf> {
    let entries = fs::read_dir(git)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let is_shared = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("sharedindex."))
    };
    let shared = entries.filter(is_shared).take(SHARED);
    let all = [git.join("index")].into_iter().chain(shared);
    all.flat_map(|file| {
        remembered(&file, hash_bytes)
            .iter()
            .cloned()
            .collect::<Vec<_>>()
    })
    .collect()
}

/// The links of one file. A file that has not changed is not read again.
fn remembered(file: &Path, hash_bytes: usize) -> Arc<[PathBuf]> {
    static READ: Mutex<Vec<CachedGitlinks>> = Mutex::new(Vec::new());
    let Ok(found) = fs::metadata(file) else {
        return Arc::default();
    };
    let state = (
        found.dev(),
        found.ino(),
        found.ctime(),
        found.ctime_nsec(),
        found.len(),
    );
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, links)) = read.iter().find(|(known, _)| *known == state) {
        return links.clone();
    }
    let bytes = fs::read(file)
        .ok()
        .filter(|_| found.len() <= INDEX_BYTES)
        .unwrap_or_default();
    // Git refuses an index that cannot be parsed, and runs nothing then.
    let links: Arc<[PathBuf]> = parse(&bytes, hash_bytes).unwrap_or_default().into();
    if read.len() >= REMEMBERED {
        read.clear();
    }
    read.push((state, links.clone()));
    links
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(
        bytes.get(at..at.checked_add(4)?)?.try_into().ok()?,
    ))
}

/// Versions 2 to 4 of the format (gitformat-index).
fn parse(bytes: &[u8], hash_bytes: usize) -> Option<Vec<PathBuf>> {
    bytes.strip_prefix(b"DIRC")?;
    let (version, count) = (number(bytes, 4)?, number(bytes, 8)?);
    let (mut at, mut name, mut links) = (12_usize, Vec::new(), Vec::new());
    for _ in 0..count {
        let start = at;
        let mode = number(bytes, at + 24)?;
        at += 40 + hash_bytes;
        let is_extended = bytes.get(at)? & 0x40 != 0;
        at += if is_extended && version >= 3 { 4 } else { 2 };
        if version == 4 {
            let dropped = varint(bytes, &mut at)?;
            name.truncate(name.len().checked_sub(dropped)?);
        } else {
            name.clear();
        }
        let rest = bytes.get(at..)?;
        let length = rest.iter().position(|byte| *byte == 0)?;
        name.extend(rest.get(..length)?);
        at += length + 1;
        if version < 4 {
            // Entries are padded to a multiple of eight bytes.
            at = start + (at - start).div_ceil(8) * 8;
        }
        if mode == GITLINK {
            links.push(PathBuf::from(OsString::from_vec(name.clone())));
        }
    }
    Some(links)
}

/// A number of as many bytes as it needs, the way git writes offsets.
fn varint(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut value = 0_usize;
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value = value
            .checked_mul(128)?
            .checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        value = value.checked_add(1)?;
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(place: &Path, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(arguments)
            .current_dir(place);
        assert!(git.status().unwrap().success(), "{arguments:?}");
    }

    #[test]
    fn gitlinks_are_found_in_every_version_of_the_index() {
        let commit = "1234567890123456789012345678901234567890";
        for version in ["2", "3", "4"] {
            let place = tempfile::tempdir().unwrap();
            git(place.path(), &["init", "-q"]);
            for name in ["a", "abc", "dir/one", "dir/other-with-a-long-name"] {
                fs::create_dir_all(place.path().join(name).parent().unwrap()).unwrap();
                fs::write(place.path().join(name), name).unwrap();
            }
            git(place.path(), &["add", "."]);
            fs::write(place.path().join("later"), "").unwrap();
            git(place.path(), &["add", "-N", "later"]);
            for name in ["sub", "dir/sub", "zz/deep/er/sub"] {
                git(
                    place.path(),
                    &[
                        "update-index",
                        "--add",
                        "--cacheinfo",
                        &format!("160000,{commit},{name}"),
                    ],
                );
            }
            git(place.path(), &["update-index", "--index-version", version]);
            let mut found = gitlinks(&place.path().join(".git"), 20);
            found.sort();
            let wanted = ["dir/sub", "sub", "zz/deep/er/sub"].map(PathBuf::from);
            assert_eq!(found, wanted, "version {version}");
            git(place.path(), &["update-index", "--split-index"]);
            assert_eq!(
                gitlinks(&place.path().join(".git"), 20).len(),
                3,
                "split {version}"
            );
        }
    }

    #[test]
    fn a_broken_index_has_no_links() {
        for bytes in [
            &b""[..],
            b"DIRC",
            b"DIRC\0\0\0\x02\0\0\0\x09",
            b"XXXX\0\0\0\x02\0\0\0\0",
        ] {
            assert!(parse(bytes, 20).unwrap_or_default().is_empty());
        }
    }
}
