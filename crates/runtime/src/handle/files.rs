//! Changes of files (trust, settings, agent definitions) with an entry in the audit log before and after.
//!
//! A file and the store cannot change in one transaction. So the intent is stored first, and what came of it after: an
//! intent without an end tells that the process died in between.

use rooftree_protocol::{ErrorCode, Principal, Problem};
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
    /// Makes a change of files, with its intent stored before and its end after it. The error is that of the change,
    /// or that its intent cannot be stored: then nothing is changed.
    pub async fn change_files<T>(
        &self,
        who: &Principal,
        change: AuditedFileChange<'_>,
        work: impl Future<Output = Result<T, Problem>>,
    ) -> Result<T, Problem> {
        let intent = self.begin_file_change(who, &change).await?;
        let done = work.await;
        self.end_file_change(intent, done.as_ref().err()).await;
        done
    }

    /// Stores the intent of a change of files.
    pub async fn begin_file_change(
        &self,
        who: &Principal,
        change: &AuditedFileChange<'_>,
    ) -> Result<FileChangeIntent, Problem> {
        if !who.is_unbound_owner() {
            let message = "only the owner changes files of the installation";
            return Err(Problem::new(ErrorCode::ToolDenied, message));
        }
        let entry = AuditEntry::done(who, self.now(), change.action, &change.subject);
        let stored = self
            .store
            .add_audit(entry.clone().in_phase(AuditPhase::Intent));
        let number = stored.await.map_err(|error| error.problem())?;
        Ok(FileChangeIntent { number, entry })
    }

    /// Stores what came of it. If that fails, the intent stays without an end, which tells as much.
    pub async fn end_file_change(&self, intent: FileChangeIntent, problem: Option<&Problem>) {
        let FileChangeIntent { number, entry } = intent;
        let end = match problem {
            None => entry.in_phase(AuditPhase::Completed(number)),
            Some(problem) => entry
                .in_phase(AuditPhase::Failed(number))
                .with("problem", problem.message.clone()),
        };
        let at = self.now();
        let _ = self.store.add_audit(AuditEntry { at, ..end }).await;
    }
}

/// A change of files that has begun.
#[must_use = "its end is to be stored"]
pub struct FileChangeIntent {
    number: i64,
    entry: AuditEntry,
}
