//! Clears the context of a session: a marker is appended. Identity, metadata and journal stay.

use std::time::Duration;

use rooftree_protocol::{
    Command, ErrorCode, Event, EventBody, Lane, Principal, Problem, RunId, Session, SessionId,
    command::CommandReply, event::ClearReason,
};
use rooftree_store::{AppendBatch, Claim, ClaimOutcome, ClaimedSession, JournalPages, Owner};

use super::{
    Handle,
    close_run::{self, EventEnvelope},
};
use crate::{Error, agent::history::History, signals::AgentSignal};

/// How long the claim lives if this process dies.
const LEASE: Duration = Duration::from_secs(15);

impl Handle {
    /// Lets the session's agent clear it, or the process that owns it. Without either, appends the marker itself.
    pub(super) async fn clear(
        &self,
        who: &Principal,
        session: &SessionId,
        unless_busy: bool,
    ) -> Result<CommandReply, Error> {
        let session = self.session(who, session).await?.id;
        if self.agents.is_none() {
            let now = self.now();
            let claim = self
                .store
                .claim(&session, &self.owner, now, now.after(LEASE));
            match claim.await? {
                ClaimOutcome::Granted(claimed) => {
                    self.clear_claimed(who, claimed).await?;
                    return Ok(CommandReply::Done);
                }
                // An owner without a run is about to release the session.
                ClaimOutcome::Held(owner)
                    if unless_busy && self.store.unfinished().await?.contains(&session) =>
                {
                    return Err(busy(&session, &owner).into());
                }
                ClaimOutcome::Held(_) => {}
            }
        } else {
            match self.other_owner(&session).await? {
                None => {
                    let sender = Some(Box::new(who.clone()));
                    self.wake(&session, AgentSignal::Clear(sender));
                    return Ok(CommandReply::Done);
                }
                Some(owner) if unless_busy && self.store.unfinished().await?.contains(&session) => {
                    return Err(busy(&session, &owner).into());
                }
                Some(_) => {}
            }
        }
        let command = Command::Clear {
            session: session.clone(),
            unless_busy: false,
        };
        self.leave(who, &session, command).await?;
        Ok(CommandReply::Forwarded)
    }

    /// Clears a session that is claimed here, and releases it also if that fails. Commands that were left for its
    /// owner and are not done with the clear are left again.
    async fn clear_claimed(&self, who: &Principal, claimed: ClaimedSession) -> Result<(), Error> {
        let ClaimedSession {
            claim,
            session,
            commands,
            ..
        } = claimed;
        let cleared = self.append_marker(who, &claim, &session).await;
        let closed = cleared.as_ref().ok().and_then(Option::as_ref);
        for row in commands {
            let is_done = match &row.command {
                Command::Clear { .. } => true,
                Command::Cancel { run, .. } => run.is_none() || run.as_ref() == closed,
                _ => false,
            };
            if cleared.is_err() || !is_done {
                self.store.put_command(&session.id, row).detach();
            }
        }
        self.store.release(claim).await?;
        cleared.map(drop)
    }

    /// Ends a run that was left open, then appends the marker; all in one commit. Says which run that was.
    async fn append_marker(
        &self,
        who: &Principal,
        claim: &Claim,
        session: &Session,
    ) -> Result<Option<RunId>, Error> {
        let mut history = History::default();
        let mut pages = JournalPages::after(&*self.store, &session.id, 0).up_to(session.head);
        while let Some(page) = pages.next().await? {
            page.iter().for_each(|event| history.apply(event));
        }
        let now = self.now();
        let outside = EventEnvelope {
            session: &session.id,
            agent: &session.agent,
            run: None,
            ts: now,
        };
        let mut events: Vec<Event> = close_run::opening(session)
            .map(|body| outside.around(body))
            .into_iter()
            .collect();
        events.iter().for_each(|event| history.apply(event));
        let closed = history.run().map(|run| run.id.clone());
        let mail = history.run().and_then(|run| run.mail);
        let inside = EventEnvelope {
            run: history.run().map(|run| run.id.clone()),
            ..outside
        };
        let closing = close_run::interruption(&history, now).into_iter();
        events.extend(closing.map(|body| inside.around(body)));
        let marker = EventBody::SessionCleared {
            reason: ClearReason::Asked,
        };
        let marked = EventEnvelope {
            run: None,
            ..inside
        };
        events.push(Event {
            who: Some(Box::new(who.clone())),
            ..marked.around(marker)
        });
        for (number, event) in (session.head + 1..).zip(&mut events) {
            event.id = Some(number);
        }
        let batch = AppendBatch {
            events,
            done: mail
                .map(|position| (Lane::Mail, position))
                .into_iter()
                .collect(),
            run: Some(None),
            lease: now.after(LEASE),
            ..AppendBatch::default()
        };
        self.store.append(claim, batch).await?;
        Ok(closed)
    }
}

fn busy(session: &SessionId, owner: &Owner) -> Problem {
    let message = format!(
        "process {} on {} is at work on session {session}",
        owner.pid, owner.host
    );
    Problem::new(ErrorCode::SessionBusy, message)
        .cause("clearing it would stop its run")
        .fix("wait until it is done, or add --force")
}
