//! Trust of project folders: whether the user permits their agents, skills, hooks and MCP servers, by content hash.
//!
//! Trust is given to what lies in a folder when it is given. What is new or changed after that, for
//! example after a `git pull`, is asked about again; until then nothing of the folder is used.

pub mod content;
mod ledger;
pub mod trust_prompt;

use std::path::{Path, PathBuf};

use rooftree_protocol::Problem;
use rooftree_runtime::definitions::{ProjectTrust, SearchDirs};

use self::{
    content::{ContentChange, ProjectContent},
    ledger::{TrustEntry, TrustLedger},
};
use crate::environment::Environment;

/// Trust status of a project.
#[derive(Debug, PartialEq, Eq)]
pub enum TrustStatus {
    /// All it brings is trusted.
    Trusted,
    /// The user was not asked about what it brings.
    Unknown,
    /// It was trusted, and has changed since then.
    Changed(Vec<ContentChange>),
    /// The person does not want what it brings.
    Refused,
    /// It brings more than can be looked at.
    TooMuch,
}

/// Whether the project around a directory is trusted: it was said on the command line, or once before
/// about what lies there now.
pub fn of(environment: &Environment, places: &SearchDirs) -> ProjectTrust {
    if environment.everywhere.trust || status(environment, places) == TrustStatus::Trusted {
        ProjectTrust::Given
    } else {
        ProjectTrust::Missing
    }
}

/// How the project around a directory stands, whatever was said on the command line.
pub fn status(environment: &Environment, places: &SearchDirs) -> TrustStatus {
    let Some(root) = places.root() else {
        return TrustStatus::Unknown;
    };
    let mut ledger = TrustLedger::read(&file(environment));
    let entry = ledger.entry(root);
    if entry.is_none() {
        return TrustStatus::Unknown;
    }
    let Some(content) = ProjectContent::of(places) else {
        return TrustStatus::TooMuch;
    };
    match entry {
        // Trusted when only the folder counted: what lies there now is what is meant.
        Some(TrustEntry::Whatever) => {
            ledger.trust(root, &content);
            // If it cannot be written, it is taken for meant the next time too.
            let _ = ledger.write(&file(environment));
            TrustStatus::Trusted
        }
        Some(TrustEntry::Trusted(known)) => match content.changes_since(known) {
            changes if changes.is_empty() => TrustStatus::Trusted,
            _ if ledger.has_refused(root, &content) => TrustStatus::Refused,
            changes => TrustStatus::Changed(changes),
        },
        _ if ledger.has_refused(root, &content) => TrustStatus::Refused,
        _ => TrustStatus::Unknown,
    }
}

/// Runs `write`, which is a command of the person that writes one file of the project, and trusts that file as it is then.
/// The rest must have been trusted before, or there was nothing else: what others changed still needs a look.
pub fn with_own_file<T>(
    environment: &Environment,
    places: &SearchDirs,
    write: impl FnOnce() -> Result<(T, PathBuf), Problem>,
) -> Result<T, Problem> {
    let is_new = ProjectContent::of(places).is_some_and(|content| content.is_empty());
    let was_trusted = is_new || status(environment, places) == TrustStatus::Trusted;
    let (done, path) = write()?;
    let Some(root) = places.root().filter(|root| path.starts_with(root)) else {
        return Ok(done);
    };
    if was_trusted {
        let mut content = ProjectContent::of(places).unwrap_or_default();
        let name = content::from(root, &path);
        content.acting.retain(|known, _| *known == name);
        // The change of the file itself is in the audit log.
        change(environment, |ledger| ledger.trust(root, &content))?;
    }
    Ok(done)
}

/// The folders that are trusted.
pub fn folders(environment: &Environment) -> Vec<PathBuf> {
    TrustLedger::read(&file(environment)).trusted()
}

/// Trusts from now on what a folder brings.
pub async fn give(
    environment: &Environment,
    root: &Path,
    content: &ProjectContent,
) -> Result<(), Problem> {
    let work = async { change(environment, |ledger| ledger.trust(root, content)) };
    let root = root.display();
    environment.change_files("trust.add", root, work).await
}

/// Does not want what a folder brings, and is not asked about it again.
pub async fn refuse(
    environment: &Environment,
    root: &Path,
    content: &ProjectContent,
) -> Result<(), Problem> {
    let work = async { change(environment, |ledger| ledger.refuse(root, content)) };
    let root = root.display();
    environment.change_files("trust.refuse", root, work).await
}

/// Trusts a folder no longer.
pub async fn withdraw(environment: &Environment, root: &Path) -> Result<(), Problem> {
    let work = async { change(environment, |ledger| ledger.forget(root)) };
    let root = root.display();
    environment.change_files("trust.remove", root, work).await
}

fn change(environment: &Environment, change: impl FnOnce(&mut TrustLedger)) -> Result<(), Problem> {
    let path = file(environment);
    let mut ledger = TrustLedger::read(&path);
    change(&mut ledger);
    ledger.write(&path)
}

/// Path of the trust ledger.
pub fn file(environment: &Environment) -> PathBuf {
    environment.database.with_file_name("trusted-folders.json")
}
