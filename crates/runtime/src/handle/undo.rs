//! Undoes the file changes of a session's last run: restores what calls recorded before they changed files.
//!
//! Works without agents and models. The session is claimed meanwhile, so no run changes files at the same time. A
//! file that is not as the run left it is not touched. If the process dies in between, the next attempt finds what was
//! restored already and does the rest.

mod changes;
mod plan;

use std::time::Duration;

use rooftree_protocol::{
    ErrorCode, Event, EventBody, Principal, Problem, RunId, Session, SessionId,
    command::CommandReply, file_undo::FileUndo,
};
use rooftree_store::{AppendBatch, Claim, ClaimOutcome, ClaimedSession};

use self::plan::UndoPlan;
use super::{Handle, Queries, close_run::EventEnvelope};
use crate::{Error, signals::AgentSignal};

/// How long the claim lives if this process dies.
const LEASE: Duration = Duration::from_secs(60);
/// How often, and after what pause, a session is claimed anew that our own agent is about to release.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

impl Queries {
    /// What an undo would do now; none if no run of the session has changes that were not taken back.
    pub async fn undo_preview(&self, session: &SessionId) -> Result<Option<FileUndo>, Error> {
        let Some(session) = self.session(session).await? else {
            return Err(rooftree_store::Error::NoSession(session.clone()).into());
        };
        let plan = UndoPlan::of(self.store(), &session).await?;
        Ok(plan.map(|plan| plan.undo))
    }
}

impl Handle {
    /// Takes back the file changes of the last run that has any. With a run, only if that is the one.
    pub(super) async fn undo(
        &self,
        who: &Principal,
        session: &SessionId,
        run: Option<RunId>,
    ) -> Result<CommandReply, Error> {
        let session = self.session(who, session).await?.id;
        let claimed = self.claim_idle(&session).await?;
        let ClaimedSession {
            claim,
            session,
            commands,
            ..
        } = claimed;
        let undone = self.undo_claimed(who, &claim, &session, run).await;
        for row in commands {
            self.store.put_command(&session.id, row).detach();
        }
        self.store.release(claim).await?;
        // A message that arrived meanwhile found the session claimed.
        if self.store.unfinished().await?.contains(&session.id) {
            self.wake(&session.id, AgentSignal::Mail);
        }
        Ok(CommandReply::Undone(Box::new(undone?)))
    }

    /// Claims a session on which no agent works.
    async fn claim_idle(&self, session: &SessionId) -> Result<ClaimedSession, Error> {
        for _ in 0..TRIES {
            if self.store.unfinished().await?.contains(session) {
                return Err(busy(session).into());
            }
            let now = self.now();
            let claim = self
                .store
                .claim(session, &self.owner, now, now.after(LEASE));
            match claim.await? {
                ClaimOutcome::Granted(claimed) => return Ok(claimed),
                ClaimOutcome::Held(owner) if owner != self.owner => break,
                ClaimOutcome::Held(_) => tokio::time::sleep(PAUSE).await,
            }
        }
        Err(busy(session).into())
    }

    async fn undo_claimed(
        &self,
        who: &Principal,
        claim: &Claim,
        session: &Session,
        run: Option<RunId>,
    ) -> Result<FileUndo, Error> {
        let Some(plan) = UndoPlan::of(&*self.store, session).await? else {
            return Err(nothing_left(&session.id).into());
        };
        if run.is_some_and(|run| run != plan.undo.run) {
            let message = "the run to undo is not the last one with file changes any more";
            return Err(Problem::new(ErrorCode::InvalidArguments, message)
                .fix(format!("rooftree sessions undo {} --dry-run", session.id))
                .into());
        }
        let undo = plan.carry_out(&*self.store).await?;
        rooftree_store::failpoint::reach("undo.restored");
        let envelope = EventEnvelope {
            session: &session.id,
            agent: &session.agent,
            run: None,
            ts: self.now(),
        };
        let event = Event {
            id: Some(session.head + 1),
            who: Some(Box::new(who.clone())),
            ..envelope.around(EventBody::FilesUndone(undo.clone()))
        };
        let batch = AppendBatch {
            events: vec![event.clone()],
            lease: self.now().after(LEASE),
            ..AppendBatch::default()
        };
        self.store.append(claim, batch).await?;
        self.store.settled().await?;
        self.bus.publish(session.head + 1, event.into());
        Ok(undo)
    }
}

fn busy(session: &SessionId) -> Problem {
    let message = format!("session {session} is at work or has an unfinished run");
    Problem::new(ErrorCode::SessionBusy, message)
        .cause("its agent could change the same files meanwhile")
        .fix(format!(
            "wait until it is done, stop it, or let it finish: rooftree run -s {session}"
        ))
}

fn nothing_left(session: &SessionId) -> Problem {
    let message = format!("nothing is left to undo in session {session}");
    Problem::new(ErrorCode::InvalidArguments, message)
        .cause("no run in it has file changes of Write, Edit, ApplyDiff or Delete that were not taken back")
        .fix("changes that commands of Bash make are not recorded; use git for those")
}
