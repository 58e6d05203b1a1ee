//! Remembers which notices were shown in a project, so that each is shown once and not at every run.

use std::{collections::BTreeMap, fs, path::PathBuf};

use rooftree_protocol::{Event, EventBody};
use rooftree_stdx::atomic_file;
use sha2::{Digest, Sha256};

use crate::{environment::Environment, project_agents};

/// Codes of notices that describe the setup, which is the same at the next run.
const ABOUT_THE_SETUP: [&str; 7] = [
    "exposure",
    "hides",
    "mcp_left_out",
    "mcp_unconfined",
    "mcp_unknown",
    "surroundings",
    "verifier_missing",
];
/// Notices that are remembered of one project; the oldest are forgotten first.
const MOST_PER_PROJECT: usize = 200;
/// Projects that are remembered.
const MOST_PROJECTS: usize = 500;
/// Hexadecimal digits of the hash a notice is remembered by.
const DIGITS: usize = 16;

/// The notices that were shown in one project. The default one remembers nothing: every notice is new.
#[derive(Debug, Default)]
pub struct ToldNotices {
    /// Where they are kept; none if all are to be shown.
    file: Option<PathBuf>,
    project: String,
    /// Hashes of the texts, by project, the oldest first.
    told: BTreeMap<String, Vec<String>>,
    has_new: bool,
}

impl ToldNotices {
    /// What was shown around the working directory. With `-v` all is shown again, with `-q` nothing is shown.
    pub fn read(environment: &Environment) -> Self {
        if environment.everywhere.verbose > 0 || environment.everywhere.quiet {
            return Self::default();
        }
        let places = project_agents::places(environment);
        let project = places.root().unwrap_or(&environment.cwd);
        let file = environment.database.with_file_name("told-notices.json");
        // A file that cannot be read means that notices are shown again.
        let told = fs::read(&file)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        Self {
            project: project.display().to_string(),
            file: Some(file),
            told,
            has_new: false,
        }
    }

    /// Whether a notice was not shown here before; from now on it was.
    pub fn is_new(&mut self, text: &str) -> bool {
        if self.file.is_none() {
            return true;
        }
        let hash = digest(text);
        let told = self.told.entry(self.project.clone()).or_default();
        if told.contains(&hash) {
            return false;
        }
        told.push(hash);
        let excess = told.len().saturating_sub(MOST_PER_PROJECT);
        told.drain(..excess);
        self.has_new = true;
        true
    }

    /// Whether an event is to be shown: all but notices about the setup that were shown before.
    pub fn is_new_event(&mut self, event: &Event) -> bool {
        match &event.body {
            EventBody::Notice { code, message, .. } if ABOUT_THE_SETUP.contains(&code.as_str()) => {
                self.is_new(message)
            }
            _ => true,
        }
    }

    /// Writes them down. If that fails, the notices are shown again: it is not worth an error.
    pub fn save(&mut self) {
        let Some(file) = self
            .file
            .as_ref()
            .filter(|_| std::mem::take(&mut self.has_new))
        else {
            return;
        };
        while self.told.len() > MOST_PROJECTS {
            let other = self
                .told
                .keys()
                .find(|project| **project != self.project)
                .cloned();
            other.map(|project| self.told.remove(&project));
        }
        if let Ok(bytes) = serde_json::to_vec(&self.told) {
            let _ = atomic_file::replace(file, &bytes);
        }
    }
}

fn digest(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    hex.chars().take(DIGITS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept_in(file: PathBuf, project: &str) -> ToldNotices {
        let told = fs::read(&file)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok());
        ToldNotices {
            file: Some(file),
            project: project.into(),
            told: told.unwrap_or_default(),
            has_new: false,
        }
    }

    #[test]
    fn n_21_a_notice_is_new_once_in_each_project() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("told-notices.json");
        let mut first = kept_in(file.clone(), "/a");
        assert!(first.is_new("not trusted") && !first.is_new("not trusted"));
        first.save();
        assert!(!kept_in(file.clone(), "/a").is_new("not trusted"));
        assert!(kept_in(file.clone(), "/a").is_new("something else"));
        assert!(kept_in(file, "/b").is_new("not trusted"));
    }

    #[test]
    fn n_21_a_damaged_file_shows_notices_again_and_what_is_kept_is_bounded() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("told-notices.json");
        fs::write(&file, "not json").unwrap();
        let mut told = kept_in(file, "/a");
        for number in 0..=MOST_PER_PROJECT {
            assert!(told.is_new(&number.to_string()));
        }
        assert_eq!(told.told["/a"].len(), MOST_PER_PROJECT);
        assert!(told.is_new("0"), "the oldest is forgotten");
        assert!(ToldNotices::default().is_new("x"));
    }
}
