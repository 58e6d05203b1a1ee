//! Changes of files (trust, settings, agent definitions) with an entry in the audit log before and after.
//!
//! A file and the store cannot change in one transaction. So the intent is stored first, and what came of it after: an
//! intent without an end tells that the process died in between.

use rooftree_protocol::{Principal, Problem};
use rooftree_store::{AuditEntry, AuditPhase};

use super::Handle;

/// A change of files.
#[derive(Clone, Debug)]
pub struct AuditedFileChange<'a> {
    /// What is done: `trust.add`, `settings.set`, `agent.write`.
    pub action: &'a str,
    /// To what: a path, a key, a name.
    pub subject: String,
}

impl Handle {
    /// Makes a change of files, with its intent stored before and its end after it.
    pub async fn change_files<T>(
        &self,
        who: &Principal,
        change: AuditedFileChange<'_>,
        work: impl Future<Output = Result<T, Problem>>,
    ) -> Result<T, Problem> {
        let entry = AuditEntry::done(who, self.now(), change.action, &change.subject);
        let intent = entry.clone().in_phase(AuditPhase::Intent);
        let number = self
            .store
            .add_audit(intent)
            .await
            .map_err(|error| error.problem())?;
        let done = work.await;
        let end = match &done {
            Ok(_) => entry.in_phase(AuditPhase::Completed(number)),
            Err(problem) => entry
                .in_phase(AuditPhase::Failed(number))
                .with("problem", problem.message.clone()),
        };
        let ended = self.store.add_audit(AuditEntry {
            at: self.now(),
            ..end
        });
        ended.await.map_err(|error| error.problem())?;
        done
    }
}
