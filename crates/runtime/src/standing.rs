//! The rules people made, with an answer or by hand, as far as this process knows them.
//!
//! They are rows that any process may write. Each claim of a session tells whether they have changed,
//! and so does every commit of another process while somebody is awake here.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rooftree_protocol::SessionId;
use rooftree_store::{RuleKind, RuleRow, RuleScope, RuleVersion, Store};
use rooftree_tools::{Policy, Rule};

use crate::Error;

/// What is known of the rules.
#[derive(Default)]
pub(crate) struct StandingRules(Mutex<Known>);

#[derive(Default)]
struct Known {
    version: Option<RuleVersion>,
    rules: Arc<[RuleRow]>,
    /// Counts how often they were read: whoever has an older count looks again.
    edition: u64,
}

impl StandingRules {
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
            None if version == RuleVersion::default() && known.edition == 0 => known.version = Some(version),
            _ => known.version = None,
        }
    }

    /// Whether somebody who has this edition has the newest one.
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
        *known = Known { version: Some(version), rules: rules.into(), edition };
        Ok((known.edition, known.rules.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds the rules that hold in one of these conversations or around this directory.
pub(crate) fn add(policy: &mut Policy, rules: &[RuleRow], sessions: &[SessionId], home: &Path) {
    let holds = |row: &&RuleRow| match &row.scope {
        RuleScope::Session(session) => sessions.contains(session),
        RuleScope::Project(root) => home.starts_with(root),
        RuleScope::Always => true,
    };
    for row in rules.iter().filter(holds) {
        let Ok(rule) = Rule::parse(&row.rule) else { continue };
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
    directory.ancestors().find(is_root).unwrap_or(directory).to_owned()
}
