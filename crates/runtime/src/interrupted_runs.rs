//! Sessions whose run another process has left open: a message does not wake them here.
//!
//! An interrupted run goes on where a person or a server wants it to: `rooftree run -s`, `rooftree serve`, or the run
//! above that is awake here. A message of another session's agent waits in the inbox until then.

use std::sync::atomic::Ordering::Relaxed;

use rooftree_protocol::{Event, EventBody, Lane, Origin, PermissionMode, Session, SessionId};
use rooftree_store::batch_limit;

use crate::{Error, runtime_context::RuntimeContext};

/// Events that are read at a time, from the end of a journal.
const PAGE: u64 = 256;

/// Whether this process may work on a session that is not awake here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionOwnership {
    /// It works for a session that is awake here, or this process goes on with every session.
    Ours,
    /// No run of it is open, and no message waits for another process.
    Free,
    /// Another process left a run of it open, or a person's message waits for the process it was sent to.
    Foreign,
}

/// Ownership of a session that is not awake here.
pub(crate) async fn session_ownership(
    context: &RuntimeContext,
    id: &SessionId,
) -> Result<SessionOwnership, Error> {
    if context.takes_all.load(Relaxed) {
        return Ok(SessionOwnership::Ours);
    }
    let session = context.store().session(id).await?;
    // One that is not there yet has no run.
    let Some(session) = session.filter(|session| session.head > 0) else {
        return Ok(SessionOwnership::Free);
    };
    let owner = context.store().owner(id).await?;
    if owner.is_some_and(|owner| owner != context.owner && !owner.is_dead_for(&context.owner)) {
        return Ok(SessionOwnership::Free);
    }
    if let Some(started) = open_run(context, &session).await? {
        let is_below = matches!(&started.body, EventBody::RunStarted { parent: Some(parent), .. } if context.awake.has(&parent.session));
        return Ok(if is_below {
            SessionOwnership::Ours
        } else {
            SessionOwnership::Foreign
        });
    }
    let waiting = context
        .store()
        .waiting(id, Lane::Mail, batch_limit(Lane::Mail))
        .await?;
    let is_persons = |item: &rooftree_store::InboxItem| {
        !matches!(
            item.message.origin,
            Origin::Agent { .. } | Origin::Task { .. } | Origin::System { .. }
        )
    };
    Ok(if waiting.iter().any(is_persons) {
        SessionOwnership::Foreign
    } else {
        SessionOwnership::Free
    })
}

/// Whether a message to this session stays queued, because the session is not this process's to work on.
pub(crate) async fn stays_queued(context: &RuntimeContext, id: &SessionId) -> Result<bool, Error> {
    Ok(
        !context.awake.has(id)
            && session_ownership(context, id).await? == SessionOwnership::Foreign,
    )
}

/// The notice to the sender of a message that stays queued.
pub(crate) fn queued(session: &SessionId) -> String {
    format!(
        "It is queued: session {session} was interrupted, and its run goes on only with `rooftree run -s {session}` or a server."
    )
}

/// Title of a run that began with this event, and the highest mode it resumes in.
pub(crate) fn described(started: &Event) -> (String, PermissionMode) {
    let EventBody::RunStarted {
        title,
        policy,
        bounds,
        ..
    } = &started.body
    else {
        return (String::new(), PermissionMode::Plan);
    };
    let recorded = policy.as_ref().map_or(PermissionMode::Plan, |policy| {
        policy.mode.min(PermissionMode::Ask)
    });
    (
        title.clone(),
        bounds.as_ref().map_or(recorded, |bounds| bounds.mode),
    )
}

/// The start of the run that is open in a session, as its journal tells it.
pub(crate) async fn open_run(
    context: &RuntimeContext,
    session: &Session,
) -> Result<Option<Event>, Error> {
    let mut before = session.head;
    // What was inherited belongs to the session that this one branched off.
    let first = session.forked_from.as_ref().map_or(0, |fork| fork.at);
    while before > first {
        let after = before.saturating_sub(PAGE).max(first);
        let limit = usize::try_from(before - after).unwrap_or(usize::MAX);
        let page = context.store().events(&session.id, after, limit).await?;
        for event in page.into_iter().rev() {
            match event.body {
                EventBody::RunStarted { .. } => return Ok(Some(event)),
                EventBody::RunCompleted(_) => return Ok(None),
                _ => {}
            }
        }
        before = after;
    }
    Ok(None)
}
