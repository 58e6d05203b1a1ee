//! What is at a path, and how to say that it is not what was expected.

use std::{
    fs::{self, File, Metadata},
    io,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};

/// The name a file has when links are followed, so that every way to it is the same file.
/// Works for files that do not exist yet, also behind a link or in directories still to be made.
pub(crate) fn real(path: &Path) -> PathBuf {
    /// Longer chains of links are circles.
    const LINKS: usize = 8;
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        if let Ok(found) = fs::canonicalize(&path) {
            return found;
        }
        match (path.parent(), fs::read_link(&path)) {
            (Some(parent), Ok(target)) => path = parent.join(target),
            _ => break,
        }
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real(parent).join(name),
        _ => path,
    }
}

/// The same without following a link that is itself the last part: what would be deleted.
pub(crate) fn unlinked(path: &Path) -> PathBuf {
    match (path.parent().map(real), path.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    }
}

/// Opens a regular file; anything else is named. `shown` is the path as the model wrote it.
///
/// Looks before it opens: opening a FIFO would wait for a writer that never comes.
pub(crate) fn open(path: &Path, shown: &str) -> Result<(File, Metadata), String> {
    let metadata = fs::metadata(path).map_err(|error| explain(&error, path, shown, "read"))?;
    regular(&metadata, shown)?;
    let file = File::open(path).map_err(|error| explain(&error, path, shown, "read"))?;
    Ok((file, metadata))
}

/// Refuses what is not a regular file.
pub(crate) fn regular(metadata: &Metadata, shown: &str) -> Result<(), String> {
    let kind = metadata.file_type();
    if kind.is_file() {
        return Ok(());
    }
    if kind.is_dir() {
        return Err(format!("{shown} is a directory, not a file. List shows what is in it."));
    }
    let what = if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Err(format!("{shown} is {what}, not a regular file."))
}

/// Refuses what is not a directory.
pub(crate) fn directory(path: &Path, shown: &str) -> Result<(), String> {
    let metadata = fs::metadata(path).map_err(|error| explain(&error, path, shown, "look into"))?;
    if metadata.is_dir() {
        Ok(())
    } else {
        Err(format!("{shown} is a file, not a directory. Read shows it."))
    }
}

/// What the system said, in words that help.
pub(crate) fn explain(error: &io::Error, path: &Path, shown: &str, wish: &str) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => missing(path, shown),
        io::ErrorKind::PermissionDenied => format!("There is no permission to {wish} {shown}."),
        io::ErrorKind::NotADirectory => format!("{shown} leads through a file as if it were a directory."),
        _ => format!("Could not {wish} {shown}: {error}."),
    }
}

/// That there is nothing, and up to three names that may have been meant.
fn missing(path: &Path, shown: &str) -> String {
    let near = near_names(path);
    let start = Path::new(shown).parent().unwrap_or(Path::new(""));
    let meant: Vec<String> = near.iter().map(|name| start.join(name).display().to_string()).collect();
    match meant.as_slice() {
        [] => format!("{shown} does not exist."),
        names => format!("{shown} does not exist. Did you mean {}?", names.join(" or ")),
    }
}

fn near_names(path: &Path) -> Vec<String> {
    /// Enough for a directory people work in; a huge one is not searched to the end.
    const LOOKED_AT: usize = 5000;
    let (Some(directory), Some(wanted)) = (path.parent(), path.file_name()) else { return Vec::new() };
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().take(LOOKED_AT);
    let names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let near = similar::get_close_matches::<str>(&wanted.to_string_lossy(), &names, 3, 0.6);
    near.into_iter().map(str::to_owned).collect()
}

/// A size as people say it.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1000)];
    match UNITS.into_iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{}.{} {name}", bytes / unit, (bytes % unit) * 10 / unit),
        None => format!("{bytes} bytes"),
    }
}
