//! Clears the context of a session: a marker is appended. Identity, metadata and journal stay.

use std::time::Duration;

use rooftree_protocol::{
    Command, Event, EventBody, Lane, Principal, SessionId, command::CommandReply,
    event::ClearReason,
};
use rooftree_store::{AppendBatch, ClaimOutcome, ClaimedSession, JournalPages};

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
    ) -> Result<CommandReply, Error> {
        let session = self.session(who, session).await?.id;
        if self.agents.is_none() {
            let now = self.now();
            let claim = self
                .store
                .claim(&session, &self.owner, now, now.after(LEASE));
            if let ClaimOutcome::Granted(claimed) = claim.await? {
                self.append_marker(who, claimed).await?;
                return Ok(CommandReply::Done);
            }
        } else if self.other_owner(&session).await?.is_none() {
            let sender = Some(Box::new(who.clone()));
            self.wake(&session, AgentSignal::Clear(sender));
            return Ok(CommandReply::Done);
        }
        let command = Command::Clear {
            session: session.clone(),
        };
        self.leave(who, &session, command).await?;
        Ok(CommandReply::Forwarded)
    }

    /// Ends a run that was left open, then appends the marker; all in one commit.
    async fn append_marker(&self, who: &Principal, claimed: ClaimedSession) -> Result<(), Error> {
        let ClaimedSession { claim, session, .. } = claimed;
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
        let mut events: Vec<Event> = close_run::opening(&session)
            .map(|body| outside.around(body))
            .into_iter()
            .collect();
        events.iter().for_each(|event| history.apply(event));
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
        self.store.append(&claim, batch).await?;
        self.store.release(claim).await?;
        Ok(())
    }
}
