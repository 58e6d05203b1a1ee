//! Atomic file replace: writes a draft and renames it, so that a reader sees the old text or the new one.

use std::{fs, io, path::Path};

/// Replaces the content of a file, or creates it. A symbolic link stays one.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    fs::create_dir_all(path.parent().unwrap_or(&path))?;
    let draft = path.with_extension(format!("{}.draft", std::process::id()));
    fs::write(&draft, text)?;
    if let Ok(was) = fs::metadata(&path) {
        fs::set_permissions(&draft, was.permissions())?;
    }
    fs::rename(&draft, &path)
}
