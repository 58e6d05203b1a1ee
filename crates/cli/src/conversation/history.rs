//! Input history of conversations: a private file of JSON lines in the state directory, redacted and bounded.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
};

use rooftree_stdx::atomic_file;

/// Entries that are offered.
const MOST: usize = 1_000;
/// Bytes of one entry; a longer one is not kept.
const LONGEST: usize = 16 * 1024;

/// The history and its file.
#[derive(Debug)]
pub struct InputHistory {
    path: PathBuf,
    entries: Vec<String>,
}

impl InputHistory {
    /// Reads the file. Lines that cannot be understood are left out.
    pub fn open(path: PathBuf) -> Self {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut entries: Vec<String> = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        if entries.len() > 2 * MOST {
            entries.drain(..entries.len() - MOST);
            let kept: String = entries.iter().filter_map(|entry| written(entry)).collect();
            // If it cannot be shortened, it is shortened next time.
            let _ = atomic_file::replace_private(&path, kept.as_bytes());
        }
        Self { path, entries }
    }

    /// What was typed, the oldest first.
    pub fn entries(&self) -> &[String] {
        let first = self.entries.len().saturating_sub(MOST);
        self.entries.get(first..).unwrap_or_default()
    }

    /// Adds what was typed, unless it repeats the last entry, is too long, or begins with a space.
    pub fn add(&mut self, entry: &str) {
        let is_kept = !entry.trim().is_empty()
            && !entry.starts_with(' ')
            && entry.len() <= LONGEST
            && self.entries.last().is_none_or(|last| last != entry);
        if !is_kept {
            return;
        }
        self.entries.push(entry.to_owned());
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.path);
        // One write per entry, so that entries of several conversations stay whole. A full disk costs only history.
        if let (Ok(mut file), Some(line)) = (file, written(entry)) {
            let _ = file.write_all(line.as_bytes());
        }
    }
}

fn written(entry: &str) -> Option<String> {
    serde_json::to_string(entry).ok().map(|line| line + "\n")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn history_survives_and_only_its_owner_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history");
        let mut history = InputHistory::open(path.clone());
        for entry in ["one", "one", " hidden", "", "two\nlines"] {
            history.add(entry);
        }
        assert_eq!(history.entries(), ["one", "two\nlines"]);
        assert_eq!(
            InputHistory::open(path.clone()).entries(),
            ["one", "two\nlines"]
        );
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_long_history_is_shortened_and_nonsense_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history");
        let lines: String = (0..2_500).map(|number| format!("\"{number}\"\n")).collect();
        fs::write(&path, format!("nonsense\n{lines}")).unwrap();
        let history = InputHistory::open(path.clone());
        assert_eq!(history.entries().len(), MOST);
        assert_eq!(history.entries()[0], "1500");
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), MOST);
    }
}
