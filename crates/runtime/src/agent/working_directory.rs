//! Resolves the directory a run works in: its own working copy, the session's directory, or the original of a copy
//! that was removed.
//!
//! A working copy without changes is removed when its run ends, but the session stays and can be asked again. It goes
//! on in the directory the copy was made from, unless the new run brings a copy of its own.

use std::path::{Path, PathBuf};

use rooftree_protocol::{Mandate, RunId, Session};
use rooftree_tools::mcp::Notice;
use rooftree_workspace::Workspace;
use serde_json::Value;

use super::AgentActor;
use crate::runtime_context::RuntimeContext;

impl AgentActor {
    /// Moves to the directory of the run that begins, and tells people if that is not the session's own.
    /// Says whether it is another one than before.
    pub(super) async fn change_directory(&mut self, mandate: Option<&Mandate>) -> bool {
        let copy = mandate
            .and_then(|mandate| mandate.workspace.as_ref())
            .and_then(parsed);
        let own = copy.map(|copy| copy.cwd).filter(|cwd| cwd.is_dir());
        let directory = match own {
            Some(own) => own,
            None if self.session.cwd.is_dir() => return false,
            None => match original(&self.context, &self.session).await {
                Some(original) => original,
                None => return false,
            },
        };
        if directory == self.session.cwd {
            return false;
        }
        self.notices
            .pending
            .push(moved(&self.session.cwd, &directory));
        self.session.cwd.clone_from(&directory);
        self.journal.works_in(directory);
        true
    }
}

/// Fallback directory of a session whose working copy was removed: the directory the copy was made from.
pub(crate) async fn original(context: &RuntimeContext, session: &Session) -> Option<PathBuf> {
    // The task that opened a session has the same id under another prefix.
    let task = context
        .store()
        .task(RunId::derived_from(session.id.as_str()).as_str())
        .await
        .ok()??;
    let copy = parsed(task.data.get("workspace")?)?;
    let inside = session.cwd.strip_prefix(&copy.root).ok()?;
    // Collected anew, so that no slash is left at its end.
    let original: PathBuf = copy.origin.join(inside).components().collect();
    [original, copy.origin]
        .into_iter()
        .find(|directory| directory.is_dir())
}

fn parsed(workspace: &Value) -> Option<Workspace> {
    serde_json::from_value(workspace.clone()).ok()
}

fn moved(from: &Path, to: &Path) -> Notice {
    Notice {
        code: "directory",
        message: format!(
            "{} is gone; the session goes on in {}",
            from.display(),
            to.display()
        ),
        hint: None,
    }
}
