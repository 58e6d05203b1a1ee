//! Cache of the permission rules people saved, with an answer or by hand, as far as this process knows them.
//!
//! They are rows that any process may write. Each claim of a session tells whether they have changed, and so does
//! every commit of another process while an agent is awake here.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rooftree_protocol::{SessionId, Timestamp};
use rooftree_store::{RuleKind, RuleRow, RuleScope, RuleVersion, Store};
use rooftree_tools::{PermissionRule, Policy};

use crate::Error;

/// Cached saved rules.
#[derive(Default)]
pub(crate) struct SavedRules(Mutex<SavedRulesState>);

#[derive(Default)]
struct SavedRulesState {
    version: Option<RuleVersion>,
    rules: Arc<[RuleRow]>,
    /// Counts how often they were read: a caller with an older count reads again.
    edition: u64,
}

impl SavedRules {
    /// They may have changed.
    pub(crate) fn forget(&self) {
        self.lock().version = None;
    }

    /// They are of this version now; says nothing if that is known.
    pub(crate) fn expect(&self, version: RuleVersion) {
        let mut known = self.lock();
        match known.version {
            Some(same) if same == version => {}
            // None were made yet: no need to look.
            None if version == RuleVersion::default() && known.edition == 0 => {
                known.version = Some(version)
            }
            _ => known.version = None,
        }
    }

    /// Whether this edition is the newest one.
    pub(crate) fn is_current(&self, edition: u64) -> bool {
        let known = self.lock();
        known.version.is_some() && known.edition == edition
    }

    /// The rules and their edition, read anew if they may have changed.
    pub(crate) async fn read(&self, store: &dyn Store) -> Result<(u64, Arc<[RuleRow]>), Error> {
        {
            let known = self.lock();
            if known.version.is_some() {
                return Ok((known.edition, known.rules.clone()));
            }
        }
        let (version, rules) = store.rules().await?;
        let mut known = self.lock();
        let edition = known.edition + 1;
        *known = SavedRulesState {
            version: Some(version),
            rules: rules.into(),
            edition,
        };
        Ok((known.edition, known.rules.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, SavedRulesState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Suffix of the author of a rule that was made by answering a question.
const ANSWERED: &str = " (answer)";

/// The author of a rule that an answer makes.
pub(crate) fn by_answer(author: &str) -> String {
    format!("{author}{ANSWERED}")
}

/// The rules people made that hold in one place: in these sessions, the last of which is the agent's own, and
/// around this directory.
#[derive(Clone, Copy)]
pub(crate) struct ApplicableRules<'a> {
    pub(crate) rules: &'a [RuleRow],
    pub(crate) sessions: &'a [SessionId],
    pub(crate) home: &'a Path,
}

impl ApplicableRules<'_> {
    /// Rules that allow something in the agent's own session. They were made for this session, whichever agent gives
    /// it work.
    pub(crate) fn own(&self) -> impl Iterator<Item = PermissionRule> {
        let own = self.sessions.last();
        let is_own =
            move |row: &&RuleRow| matches!(&row.scope, RuleScope::Session(id) if Some(id) == own);
        self.rules.iter().filter(is_own).filter_map(allowing)
    }

    /// Rules that allow something and were made since, by a person's answer to a question or by an agent that
    /// passes on what it may do itself. They hold at once, also in runs that began before.
    pub(crate) fn answered(&self, since: Timestamp) -> impl Iterator<Item = PermissionRule> {
        let is_answer = |row: &&RuleRow| row.by.ends_with(ANSWERED) || row.by.starts_with("agent ");
        let holds = |row: &&RuleRow| holds(row, self.sessions, self.home);
        self.rules
            .iter()
            .filter(is_answer)
            .filter(holds)
            .filter(move |row| row.at >= since)
            .filter_map(allowing)
    }
}

fn allowing(row: &RuleRow) -> Option<PermissionRule> {
    (row.kind == RuleKind::Allow)
        .then(|| PermissionRule::parse(&row.rule).ok())
        .flatten()
}

/// Whether a rule holds in one of these sessions or around this directory.
fn holds(row: &RuleRow, sessions: &[SessionId], home: &Path) -> bool {
    match &row.scope {
        RuleScope::Session(session) => sessions.contains(session),
        RuleScope::Project(root) => home.starts_with(root),
        RuleScope::Always => true,
    }
}

/// Adds the rules that hold in one of these conversations or around this directory.
pub(crate) fn add(policy: &mut Policy, rules: &[RuleRow], sessions: &[SessionId], home: &Path) {
    for row in rules.iter().filter(|row| holds(row, sessions, home)) {
        let Ok(rule) = PermissionRule::parse(&row.rule) else {
            continue;
        };
        match row.kind {
            RuleKind::Allow => policy.allow.push(rule),
            RuleKind::Ask => policy.ask.push(rule),
            RuleKind::Deny => policy.deny.push(rule),
        }
    }
}

/// The directory a project begins at: where its repository or its settings are.
pub fn project(directory: &Path) -> PathBuf {
    let is_root = |path: &&Path| path.join(".git").exists() || path.join(".rooftree").exists();
    directory
        .ancestors()
        .find(is_root)
        .unwrap_or(directory)
        .to_owned()
}
