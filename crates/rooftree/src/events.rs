//! Stream of the events of a run and of the runs it delegated to.

use std::{
    io::Write,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures::{
    Stream, StreamExt, TryStreamExt,
    stream::{self, BoxStream, Fuse},
};
use rooftree_protocol::{ErrorCode, Event, EventBody, SessionId, event::StopReason};
use rooftree_runtime::{EventFilter, Handle, Subscription, TreeSubscription};
use rooftree_view::{ReplyPiece, StreamedReply};

use crate::{
    error::{Error, Result},
    outcome::RunOutcome,
    principal::owner,
    run_tree::{RunTree, WatchUntil},
};

/// How long to wait for a session that is about to be opened, at first and at last.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LAST_PAUSE: Duration = Duration::from_millis(500);

type EventResult = std::result::Result<Arc<Event>, rooftree_runtime::Error>;

/// Watches a session and those below it until the work is over.
///
/// A sub-agent's events come before the event that tells its result, and else as they happen.
pub(crate) struct SessionTreeWatcher {
    root: SessionId,
    tree: RunTree,
    events: TreeSubscription,
}

impl SessionTreeWatcher {
    pub(crate) fn new(handle: Handle, root: SessionId, after: u64, until: WatchUntil) -> Self {
        let tree = RunTree::new(root.clone(), until);
        let session = root.clone();
        let events = handle.subscribe_tree(&owner(), EventFilter { session, after });
        Self { root, tree, events }
    }

    /// The next event; none once all is over.
    pub(crate) async fn next(&mut self) -> Result<Option<Arc<Event>>> {
        while !self.tree.is_over() {
            let event = self.events.next().await?;
            if self.tree.take(&event) {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// How it ended.
    pub(crate) fn outcome(&mut self) -> Result<RunOutcome> {
        let ends = self.tree.ends().into_iter();
        let ends = ends.map(|(run, end)| RunOutcome::new(self.root.clone(), run, end));
        ends.reduce(RunOutcome::merged_with)
            .ok_or_else(|| Error::new(ErrorCode::Internal, "the run never ended"))
    }
}

/// What a session's journal holds after a number.
pub(crate) async fn stored_events(
    handle: &Handle,
    session: &SessionId,
    after: u64,
) -> Result<Vec<Event>> {
    Ok(handle.queries(&owner()).all_events(session, after).await?)
}

/// Everything a subscription tells, until it fails. A session that is not there yet is waited for:
/// the call that opens it is known a moment before.
pub(crate) fn subscription_events(
    subscription: Subscription,
) -> impl Stream<Item = EventResult> + Send {
    stream::unfold(Some(subscription), |subscription| async {
        let mut subscription = subscription?;
        let mut pause = FIRST_PAUSE;
        let heard = loop {
            match subscription.next().await {
                Err(rooftree_runtime::Error::Store(rooftree_store::Error::NoSession(_))) => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LAST_PAUSE);
                }
                heard => break heard,
            }
        };
        let is_broken = heard.is_err();
        Some((heard, (!is_broken).then_some(subscription)))
    })
}

/// A step of a stream of events: one of them, or how it ended.
pub(crate) enum EventStreamItem {
    Event(Arc<Event>),
    Ended(Box<RunOutcome>),
}

/// The events of a run and of those it delegated to. Ends after the run's own `run.completed`.
///
/// A stream of [`Event`]s; those of sub-agents have a [`parent_run`](Event::parent_run).
pub struct Events {
    steps: Fuse<BoxStream<'static, Result<EventStreamItem>>>,
    outcome: Option<RunOutcome>,
}

impl Events {
    pub(crate) fn new(steps: impl Stream<Item = Result<EventStreamItem>> + Send + 'static) -> Self {
        Self {
            steps: steps.boxed().fuse(),
            outcome: None,
        }
    }

    /// The next event; none after the last one.
    pub async fn next(&mut self) -> Option<Result<Event>> {
        StreamExt::next(self).await
    }

    /// Only the text of the main agent, in the pieces it is streamed in. A reader that is too slow misses
    /// pieces; what it missed comes with the whole reply.
    pub fn text(self) -> impl Stream<Item = Result<String>> + Send + Unpin {
        let mut speech = MainAgentText::default();
        let pieces = self.filter_map(move |event| {
            let piece = match event {
                Ok(event) => speech.piece(&event).map(Ok),
                Err(error) => Some(Err(error)),
            };
            std::future::ready(piece)
        });
        Box::pin(pieces)
    }

    /// Prints what the main agent says as it comes, a line for each reply, and says how it ended.
    pub async fn print(mut self) -> Result<RunOutcome> {
        let mut speech = MainAgentText::default();
        while let Some(event) = self.next().await {
            let event = event?;
            let is_whole =
                matches!(event.body, EventBody::MessageCompleted(_)) && event.parent_run.is_none();
            let mut piece = speech.piece(&event).unwrap_or_default();
            if is_whole && speech.has_words {
                piece.push('\n');
            }
            print_text(&piece)?;
        }
        self.outcome().await
    }

    /// All of them, once the last one has come.
    pub async fn all(self) -> Result<Vec<Event>> {
        self.try_collect().await
    }

    /// Reads on to the end and says how it ended. Not being completed is no error here.
    pub async fn outcome(mut self) -> Result<RunOutcome> {
        while let Some(event) = self.next().await {
            event?;
        }
        self.outcome
            .ok_or_else(|| Error::new(ErrorCode::Internal, "the events ended before the run"))
    }

    /// The same, as an error if the run was not completed.
    pub async fn result(self) -> Result<RunOutcome> {
        self.outcome().await?.completed()
    }
}

/// The text of the main agent, in the pieces it is streamed in.
#[derive(Default)]
struct MainAgentText {
    reply: StreamedReply,
    /// Whether the last whole reply had words, and is not continued.
    has_words: bool,
}

impl MainAgentText {
    /// What an event adds to it. If pieces were missed in the middle of a reply, all of it, on a new line.
    fn piece(&mut self, event: &Event) -> Option<String> {
        let piece = match (&event.body, &event.parent_run) {
            (EventBody::MessageDelta { text, .. }, None) => self.reply.delta(text),
            (EventBody::MessageCompleted(reply), None) => {
                // A piece that the output limit cut goes on with the next one, on the same line.
                self.has_words = !reply.text.is_empty() && reply.stop != StopReason::MaxOutput;
                self.reply.whole(&reply.text)
            }
            _ => return None,
        };
        match piece {
            ReplyPiece::Rest(rest) => (!rest.is_empty()).then_some(rest),
            ReplyPiece::Anew(whole) => Some(format!("\n{whole}")),
        }
    }
}

fn print_text(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| {
        Error::new(
            ErrorCode::Internal,
            format!("cannot print the answer: {error}"),
        )
    })
}

impl Stream for Events {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            return match futures::ready!(self.steps.poll_next_unpin(context)) {
                Some(Ok(EventStreamItem::Event(event))) => {
                    Poll::Ready(Some(Ok(Arc::unwrap_or_clone(event))))
                }
                Some(Ok(EventStreamItem::Ended(outcome))) => {
                    self.outcome = Some(*outcome);
                    continue;
                }
                Some(Err(error)) => Poll::Ready(Some(Err(error))),
                None => Poll::Ready(None),
            };
        }
    }
}
