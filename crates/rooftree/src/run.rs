//! A run that was started: its events, its outcome, and a way to stop it.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures::{Stream, StreamExt, stream};
use rooftree_protocol::{Command, Event, RunId, SessionId};

use crate::{
    error::Result,
    events::{EventStreamItem, Events, SessionTreeWatcher},
    outcome::RunOutcome,
    principal::owner,
    run_tree::WatchUntil,
    running::{AcceptedMessage, SharedRuntime},
};

/// Work on one message. Dropping it stops nothing: the agent goes on, and its session remembers.
///
/// A stream of [`Event`]s that ends with the run; those of sub-agents are among them.
pub struct Run {
    id: RunId,
    session: SessionId,
    runtime: SharedRuntime,
    events: Events,
}

impl Run {
    /// Watches a run from a place in its session's journal on.
    pub(crate) fn new(runtime: SharedRuntime, posted: AcceptedMessage, after: u64) -> Self {
        let AcceptedMessage { session, run } = posted;
        let watch = SessionTreeWatcher::new(
            runtime.handle().clone(),
            session.clone(),
            after,
            WatchUntil::Ended(run.clone()),
        );
        let steps = stream::unfold(Some(watch), |watch| async {
            let mut watch = watch?;
            Some(match watch.next().await {
                Ok(Some(event)) => (Ok(EventStreamItem::Event(event)), Some(watch)),
                Ok(None) => (
                    watch
                        .outcome()
                        .map(|outcome| EventStreamItem::Ended(Box::new(outcome))),
                    None,
                ),
                Err(error) => (Err(error), None),
            })
        });
        Self {
            id: run,
            session,
            runtime,
            events: Events::new(steps),
        }
    }

    /// Its name, which is also its task's id.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The session it runs in.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// The next event; none after the last one.
    pub async fn next(&mut self) -> Option<Result<Event>> {
        self.events.next().await
    }

    /// Only what the agent says, in the pieces it comes in.
    pub fn text(self) -> impl Stream<Item = Result<String>> + Send + Unpin {
        self.events.text()
    }

    /// Prints what the agent says as it comes, and says how it ended.
    pub async fn print(self) -> Result<RunOutcome> {
        self.events.print().await
    }

    /// All events, once the last one has come.
    pub async fn all(self) -> Result<Vec<Event>> {
        self.events.all().await
    }

    /// Waits for the end and says how it ended. Not being completed is no error here.
    pub async fn outcome(self) -> Result<RunOutcome> {
        self.events.outcome().await
    }

    /// The same, as an error if the run was not completed.
    pub async fn result(self) -> Result<RunOutcome> {
        self.events.result().await
    }

    /// Stops it, now or as soon as it begins. Its last event says that it was.
    pub async fn cancel(&self) -> Result<()> {
        let (session, run) = (self.session.clone(), Some(self.id.clone()));
        self.runtime
            .handle()
            .send(&owner(), Command::Cancel { session, run })
            .await?;
        Ok(())
    }
}

impl Stream for Run {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.poll_next_unpin(context)
    }
}
