//! Has the context of a session compacted: by its agent, which this process wakes for it, or by the process that owns it.

use rooftree_protocol::{Command, ErrorCode, Principal, Problem, SessionId, command::CommandReply};

use super::Handle;
use crate::{
    Error,
    signals::{AgentSignal, CompactionRequest},
};

/// Characters that may say what a summary should keep.
const LONGEST_FOCUS: usize = 4_000;

impl Handle {
    /// Tells the session's agent. Idle, it summarises at once; in a run, at the next turn. `context.compacted` says that
    /// it is done, a notice `not_compacted` why not.
    pub(super) async fn compact(
        &self,
        who: &Principal,
        session: &SessionId,
        focus: Option<String>,
    ) -> Result<CommandReply, Error> {
        let session = self.session(who, session).await?.id;
        let focus = checked(focus)?;
        if self.other_owner(&session).await?.is_some() {
            let command = Command::Compact {
                session: session.clone(),
                focus,
            };
            self.leave(who, &session, command).await?;
            return Ok(CommandReply::Forwarded);
        }
        let sender = Some(Box::new(who.clone()));
        let signal = AgentSignal::Compact(CompactionRequest { focus, who: sender });
        let Some(agents) = &self.agents else {
            return Err(Self::needs_agents("compacting a session"));
        };
        // Waking it would go on with what it left unfinished, and that is not what was asked for.
        let is_awake = agents.context.awake.has(&session);
        if !is_awake && self.store.unfinished().await?.contains(&session) {
            return Err(unfinished(&session).into());
        }
        self.wake(&session, signal);
        Ok(CommandReply::Done)
    }
}

fn checked(focus: Option<String>) -> Result<Option<String>, Error> {
    let focus = focus.map(|focus| focus.trim().to_owned());
    let focus = focus.filter(|focus| !focus.is_empty());
    let is_long = |focus: &String| focus.chars().count() > LONGEST_FOCUS;
    if focus.as_ref().is_some_and(is_long) {
        let message = "what the summary should keep is too long";
        return Err(Problem::new(ErrorCode::InvalidArguments, message)
            .fix(format!("use at most {LONGEST_FOCUS} characters"))
            .into());
    }
    Ok(focus)
}

fn unfinished(session: &SessionId) -> Problem {
    let message = format!("session {session} has an unfinished run");
    Problem::new(ErrorCode::SessionBusy, message)
        .cause("its context is needed as it is to go on")
        .fix(format!("let it finish first: rooftree run -s {session}"))
}
