//! Trust ledger file: per folder, the files with the content hashes the user has accepted.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use rooftree_protocol::{ErrorCode, Problem};
use rooftree_stdx::atomic_file;
use serde::{Deserialize, Serialize};

use super::content::ProjectContent;

/// Versions of a file that are remembered, so that going back to one asks nothing.
const MOST_VERSIONS: usize = 20;

/// All folders the user was asked about.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct TrustLedger {
    #[serde(default)]
    folders: BTreeMap<PathBuf, TrustEntry>,
    /// The fingerprint of what was refused.
    #[serde(default)]
    refused: BTreeMap<PathBuf, String>,
}

/// What is trusted in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrustEntry {
    /// Whatever lies there when it is looked at next: it was trusted before content counted.
    Whatever,
    /// These files with these hashes.
    Trusted(BTreeMap<String, Vec<String>>),
    /// Nothing.
    Nothing,
}

impl TrustLedger {
    /// Reads it. A file that cannot be read trusts nothing.
    pub fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_default();
        let mut ledger: Self = serde_json::from_str(&text).unwrap_or_default();
        let old = fs::read_to_string(old(path)).unwrap_or_default();
        for folder in old.lines().filter(|line| !line.is_empty()) {
            ledger
                .folders
                .entry(PathBuf::from(folder))
                .or_insert(TrustEntry::Whatever);
        }
        ledger
    }

    /// Writes it, all or nothing, and durably: what was refused must not be trusted again.
    pub fn write(&self, path: &Path) -> Result<(), Problem> {
        let write = || {
            atomic_file::replace(path, serde_json::to_string_pretty(self)?.as_bytes())?;
            match fs::remove_file(old(path)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        };
        write().map_err(|error: std::io::Error| {
            Problem::new(
                ErrorCode::InvalidConfig,
                format!("cannot write {}", path.display()),
            )
            .cause(error.to_string())
        })
    }

    /// What is known about a folder; none if the user was not asked about it.
    pub fn entry(&self, root: &Path) -> Option<&TrustEntry> {
        self.folders.get(root)
    }

    /// The folders of which something is trusted.
    pub fn trusted(&self) -> Vec<PathBuf> {
        let is_trusted = |entry: &TrustEntry| *entry != TrustEntry::Nothing;
        self.folders
            .iter()
            .filter(|(_, entry)| is_trusted(entry))
            .map(|(root, _)| root.clone())
            .collect()
    }

    /// Whether exactly this was refused.
    pub fn has_refused(&self, root: &Path, content: &ProjectContent) -> bool {
        self.refused
            .get(root)
            .is_some_and(|fingerprint| *fingerprint == content.fingerprint())
    }

    /// Trusts this besides what was trusted.
    pub fn trust(&mut self, root: &Path, content: &ProjectContent) {
        let mut known = match self.folders.remove(root) {
            Some(TrustEntry::Trusted(known)) => known,
            _ => BTreeMap::new(),
        };
        for (path, hash) in &content.acting {
            let versions = known.entry(path.clone()).or_default();
            versions.retain(|version| version != hash);
            versions.push(hash.clone());
            if versions.len() > MOST_VERSIONS {
                versions.remove(0);
            }
        }
        self.folders
            .insert(root.to_owned(), TrustEntry::Trusted(known));
        self.refused.remove(root);
    }

    /// Remembers that this is not wanted; what was trusted before stays so.
    pub fn refuse(&mut self, root: &Path, content: &ProjectContent) {
        self.folders
            .entry(root.to_owned())
            .or_insert(TrustEntry::Nothing);
        self.refused.insert(root.to_owned(), content.fingerprint());
    }

    /// Knows nothing about a folder any more.
    pub fn forget(&mut self, root: &Path) {
        self.folders.remove(root);
        self.refused.remove(root);
    }
}

/// Where folders were listed before content counted.
fn old(path: &Path) -> PathBuf {
    path.with_file_name("trusted-folders")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(hash: &str) -> ProjectContent {
        ProjectContent {
            acting: [("a.md".to_owned(), hash.to_owned())].into(),
            text: Vec::new(),
        }
    }

    #[test]
    fn what_was_accepted_once_is_not_asked_about_again() {
        let (mut ledger, root) = (TrustLedger::default(), Path::new("/p"));
        ledger.trust(root, &content("one"));
        ledger.trust(root, &content("two"));
        let Some(TrustEntry::Trusted(known)) = ledger.entry(root) else {
            panic!("it is trusted")
        };
        assert!(
            content("one").changes_since(known).is_empty(),
            "going back to a branch asks nothing"
        );
        assert_eq!(content("three").changes_since(known).len(), 1);
        ledger.refuse(root, &content("three"));
        assert!(
            ledger.has_refused(root, &content("three"))
                && !ledger.has_refused(root, &content("four"))
        );
    }

    #[test]
    fn a_list_of_folders_becomes_a_ledger_and_goes_away() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("trusted-folders.json");
        fs::write(old(&path), "/a\n/b\n").unwrap();
        let mut ledger = TrustLedger::read(&path);
        assert_eq!(ledger.entry(Path::new("/a")), Some(&TrustEntry::Whatever));
        ledger.trust(Path::new("/a"), &content("one"));
        ledger.write(&path).unwrap();
        assert!(!old(&path).exists());
        let ledger = TrustLedger::read(&path);
        assert!(matches!(
            ledger.entry(Path::new("/a")),
            Some(TrustEntry::Trusted(_))
        ));
        assert_eq!(
            ledger.entry(Path::new("/b")),
            Some(&TrustEntry::Whatever),
            "it is pinned when it is next used"
        );
    }

    #[test]
    fn a_broken_file_trusts_nothing() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("trusted-folders.json");
        fs::write(&path, "{\"folders\":").unwrap();
        assert!(TrustLedger::read(&path).trusted().is_empty());
    }
}
