//! Stream of the events of a run and of the runs it delegated to.

use std::{
    collections::{HashSet, VecDeque},
    io::Write,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures::{
    Stream, StreamExt, TryStreamExt,
    stream::{self, BoxStream, Fuse, SelectAll},
};
use rooftree_protocol::{ErrorCode, Event, EventBody, SessionId, event::StopReason};
use rooftree_runtime::{EventFilter, Handle, Subscription};
use rooftree_store::JournalPages;

use crate::{
    error::{Error, Result},
    outcome::RunOutcome,
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
    handle: Handle,
    root: SessionId,
    tree: RunTree,
    streams: SelectAll<BoxStream<'static, EventResult>>,
    watched: HashSet<SessionId>,
    ready: VecDeque<Arc<Event>>,
}

impl SessionTreeWatcher {
    pub(crate) fn new(handle: Handle, root: SessionId, after: u64, until: WatchUntil) -> Self {
        let tree = RunTree::new(root.clone(), until);
        let (streams, watched, ready) = (SelectAll::new(), HashSet::new(), VecDeque::new());
        let mut watch = Self {
            handle,
            root: root.clone(),
            tree,
            streams,
            watched,
            ready,
        };
        watch.subscribe_session(root, after);
        watch
    }

    /// The next event; none once all is over.
    pub(crate) async fn next(&mut self) -> Result<Option<Arc<Event>>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if self.tree.is_over() {
                return Ok(None);
            }
            match self.streams.next().await {
                Some(heard) => self.handle_event(heard?).await?,
                None => return Ok(None),
            }
        }
    }

    /// How it ended.
    pub(crate) fn outcome(&mut self) -> Result<RunOutcome> {
        let ends = self.tree.ends().into_iter();
        let ends = ends.map(|(run, end)| RunOutcome::new(self.root.clone(), run, end));
        ends.reduce(RunOutcome::merged_with)
            .ok_or_else(|| Error::new(ErrorCode::Internal, "the run never ended"))
    }

    async fn handle_event(&mut self, event: Arc<Event>) -> Result<()> {
        let seen = self.tree.classify(&event);
        if !seen.is_ours {
            return Ok(());
        }
        if let Some(session) = seen.after {
            self.catch_up(&session).await?;
        }
        if let Some(session) = seen.opens {
            self.subscribe_session(session, 0);
        }
        self.show(event);
        Ok(())
    }

    fn show(&mut self, event: Arc<Event>) {
        self.tree.take(&event);
        self.ready.push_back(event);
    }

    /// Shows what a session's journal holds and was not shown.
    async fn catch_up(&mut self, session: &SessionId) -> Result<()> {
        for event in stored_events(&self.handle, session, self.tree.shown(session)).await? {
            if self.tree.classify(&event).is_ours {
                self.show(Arc::new(event));
            }
        }
        Ok(())
    }

    fn subscribe_session(&mut self, session: SessionId, after: u64) {
        if self.watched.insert(session.clone()) {
            let subscription = self.handle.subscribe(EventFilter { session, after });
            self.streams.push(subscription_events(subscription).boxed());
        }
    }
}

/// What a session's journal holds after a number.
pub(crate) async fn stored_events(
    handle: &Handle,
    session: &SessionId,
    after: u64,
) -> Result<Vec<Event>> {
    let pages = JournalPages::after(handle.store().as_ref(), session, after);
    Ok(pages.all().await?)
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
        let mut speech = StreamedReply::default();
        let pieces = self.filter_map(move |event| {
            let piece = match event {
                Ok(event) => speech.piece(event).map(Ok),
                Err(error) => Some(Err(error)),
            };
            std::future::ready(piece)
        });
        Box::pin(pieces)
    }

    /// Prints what the main agent says as it comes, a line for each reply, and says how it ended.
    pub async fn print(mut self) -> Result<RunOutcome> {
        let mut speech = StreamedReply::default();
        while let Some(event) = self.next().await {
            let event = event?;
            let is_whole =
                matches!(event.body, EventBody::MessageCompleted(_)) && event.parent_run.is_none();
            let mut piece = speech.piece(event).unwrap_or_default();
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

/// What the main agent has said so far of one reply.
#[derive(Default)]
struct StreamedReply {
    said: String,
    /// Whether the last whole reply had words, and is not continued.
    has_words: bool,
}

impl StreamedReply {
    /// What an event adds to it.
    fn piece(&mut self, event: Event) -> Option<String> {
        match event {
            Event {
                body: EventBody::MessageDelta { text },
                parent_run: None,
                ..
            } => {
                self.said.push_str(&text);
                Some(text)
            }
            Event {
                body: EventBody::MessageCompleted(reply),
                parent_run: None,
                ..
            } => {
                // A piece that the output limit cut goes on with the next one, on the same line.
                self.has_words = !reply.text.is_empty() && reply.stop != StopReason::MaxOutput;
                unstreamed_text(&reply.text, &std::mem::take(&mut self.said))
            }
            _ => None,
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

/// What of a reply has not been said yet. If pieces were missed in the middle, all of it, on a new line.
fn unstreamed_text(whole: &str, said: &str) -> Option<String> {
    let rest = match whole.strip_prefix(said) {
        Some(rest) => rest.to_owned(),
        None => format!("\n{whole}"),
    };
    (!rest.is_empty()).then_some(rest)
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

#[cfg(test)]
mod tests {
    use super::unstreamed_text;

    #[test]
    fn what_was_missed_of_a_reply_comes_with_its_end() {
        assert_eq!(unstreamed_text("one two", "one two"), None);
        assert_eq!(unstreamed_text("one two", "one ").as_deref(), Some("two"));
        assert_eq!(unstreamed_text("one two", "").as_deref(), Some("one two"));
        assert_eq!(
            unstreamed_text("one two", "two").as_deref(),
            Some("\none two")
        );
        assert_eq!(unstreamed_text("", ""), None);
    }
}
