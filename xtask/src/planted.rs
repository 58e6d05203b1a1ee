//! A repository made up for a test: a temporary directory with the files a test plants.

use std::fs;

use tempfile::TempDir;

use crate::{finding::Finding, repository::Repository};

/// A planted repository; it is removed when dropped.
pub struct Planted(TempDir);

impl Planted {
    /// An empty one.
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Plants a file.
    pub fn with(self, path: &str, text: &str) -> Self {
        let file = self.0.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        self
    }

    /// What the checks work on.
    pub fn repository(&self) -> Repository {
        Repository::open(self.0.path()).unwrap()
    }
}

/// The findings as one text, for looking for words in it.
pub fn told(findings: &[Finding]) -> String {
    findings
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}
