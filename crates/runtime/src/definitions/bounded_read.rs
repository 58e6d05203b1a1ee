//! Reads whole files, up to a size limit.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

/// Files that are looked at in one directory.
const MOST: usize = 1_000;

/// The text of a file; none if it cannot be read, is empty or is no text. What is too long is cut
/// and says so.
pub(super) fn read_bounded(path: &Path, longest: usize) -> Option<String> {
    let mut bytes = Vec::new();
    let file = fs::File::open(path).ok().filter(|_| path.is_file())?;
    file.take(longest as u64 + 1).read_to_end(&mut bytes).ok()?;
    let is_cut = bytes.len() > longest;
    bytes.truncate(longest);
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        // A cut may have gone through a letter.
        Err(error) if is_cut => String::from_utf8_lossy(error.as_bytes())
            .trim_end_matches('\u{fffd}')
            .to_owned(),
        Err(_) => return None,
    };
    if text.trim().is_empty() {
        return None;
    }
    Some(if is_cut {
        format!("{text}\n[the rest of {} is left out]", path.display())
    } else {
        text
    })
}

/// The Markdown files of a directory, by name.
pub(super) fn markdown_files(directory: &Path) -> Vec<PathBuf> {
    let is_ours =
        |path: &PathBuf| path.extension().is_some_and(|end| end == "md") && path.is_file();
    let mut files = entries(directory);
    files.retain(is_ours);
    files
}

/// The Markdown files of a directory and, so many levels deep, of those below it.
pub(super) fn markdown_files_below(directory: &Path, depth: usize) -> Vec<PathBuf> {
    let mut files = markdown_files(directory);
    if depth > 0 {
        let below = entries(directory).into_iter().filter(|path| path.is_dir());
        files.extend(below.flat_map(|path| markdown_files_below(&path, depth - 1)));
    }
    files.truncate(MOST);
    files
}

/// Entries of a directory, sorted by name.
pub(super) fn entries(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .take(MOST)
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}
