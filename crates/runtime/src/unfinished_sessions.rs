//! Unfinished sessions, and the permission mode in which they would resume.

use rooftree_protocol::{PermissionMode, Problem, Session};

use crate::{Error, interrupted_runs, runtime_context::RuntimeContext};

/// A session with an open run or a message that waits.
#[derive(Debug)]
pub struct UnfinishedSession {
    /// The session.
    pub session: Session,
    /// What its open run is about; none if only a message waits.
    pub title: Option<String>,
    /// The mode in which it goes on in this process.
    pub mode: PermissionMode,
    /// Why it cannot go on here.
    pub problem: Option<Problem>,
}

/// All of them, the oldest first.
pub(crate) async fn list(context: &RuntimeContext) -> Result<Vec<UnfinishedSession>, Error> {
    let mut list = Vec::new();
    for id in context.store().unfinished().await? {
        let Some(session) = context.store().session(&id).await? else {
            continue;
        };
        let run = interrupted_runs::open_run(context, &session).await?;
        let (title, began) = run.map(|run| interrupted_runs::described(&run)).unzip();
        let definition = context.options.agents.definitions.find(&session.agent);
        let defined = definition
            .as_ref()
            .ok()
            .and_then(|definition| definition.permission_mode);
        let modes = [Some(context.options.rights.policy.mode), began, defined];
        let mode = modes.into_iter().flatten().min().unwrap_or_default();
        list.push(UnfinishedSession {
            session,
            title,
            mode,
            problem: definition.err(),
        });
    }
    Ok(list)
}
