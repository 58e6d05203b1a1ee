//! Plays random stories, records what a client of the stream gets, and compares that with the journals.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use futures::{StreamExt, stream};
use rooftree_protocol::{Event, Session, SessionId};
use rooftree_stream::{EventStream, StreamSetup};
use rooftree_testkit::{TestRuntime, owner, stories::random::RandomStory};
use rooftree_view::{
    RunTreeView, SessionSnapshot, SessionStart, StreamCursor, StreamFrame, StreamLimits,
    StreamRequest,
};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::apply;

/// Stories that are played at the same time: most of the time they wait for their stores.
const AT_ONCE: usize = 6;

/// What a client of a session and of all below it got.
pub struct Journal {
    pub root: SessionId,
    pub steps: Vec<Step>,
}

/// One thing that a client applies.
#[derive(Clone)]
pub enum Step {
    Event(Box<Event>),
    Snapshot(Box<SessionSnapshot>),
    Meta(Box<Session>),
}

/// Plays the stories of these numbers.
pub async fn played(seeds: std::ops::Range<u64>) -> Vec<Journal> {
    let stories = stream::iter(seeds).map(|seed| tokio::spawn(play(seed)));
    let stories = stories.buffered(AT_ONCE).map(|journal| journal.unwrap());
    stories.collect().await
}

async fn play(seed: u64) -> Journal {
    let mut story = RandomStory::begin(seed).await;
    let (steps, told) = mpsc::unbounded_channel();
    let listening = tokio::spawn(listen(open(&story), steps));
    story.play().await;
    let journal = Journal {
        root: story.session.clone(),
        steps: complete(&story, told).await,
    };
    listening.abort();
    assert_replayed(&story.house, &journal).await;
    assert_divided(&journal);
    journal
}

fn open(story: &RandomStory) -> EventStream {
    let setup = StreamSetup {
        handle: story.house.handle.clone(),
        clock: story.house.clock.clone(),
        who: owner(),
        name: "test".into(),
        boot: "test".into(),
        limits: StreamLimits {
            sessions: 1,
            streams: 1,
        },
        changes: mpsc::channel(1).1,
        stopping: CancellationToken::new(),
    };
    let cursor = StreamCursor {
        after: Some(0),
        tree: true,
        ..StreamCursor::default()
    };
    let sessions = BTreeMap::from([(story.session.clone(), SessionStart::Detailed(cursor))]);
    EventStream::new(
        setup,
        StreamRequest {
            sessions,
            ..StreamRequest::default()
        },
    )
}

async fn listen(mut stream: EventStream, steps: mpsc::UnboundedSender<Step>) {
    while let Some(frame) = stream.next().await {
        let step = match frame {
            StreamFrame::Event(event) => Step::Event(Box::new(event.as_ref().clone())),
            StreamFrame::Snapshot(snapshot) => Step::Snapshot(snapshot),
            StreamFrame::Added(added) => Step::Meta(Box::new(added.meta)),
            StreamFrame::Meta(meta) => Step::Meta(meta),
            _ => continue,
        };
        if steps.send(step).is_err() {
            return;
        }
    }
}

/// What was told, until the whole journal of each session was.
async fn complete(story: &RandomStory, mut told: mpsc::UnboundedReceiver<Step>) -> Vec<Step> {
    let mut heads: BTreeMap<SessionId, u64> = BTreeMap::new();
    for session in sessions(&story.house, &story.session).await {
        let events = own_events(&story.house, &session).await;
        heads.insert(
            session,
            events.last().and_then(|event| event.id).unwrap_or_default(),
        );
    }
    let mut steps = Vec::new();
    while !heads.is_empty() {
        let next = tokio::time::timeout(Duration::from_secs(20), told.recv()).await;
        let step = next
            .unwrap_or_else(|_| panic!("the stream did not tell {heads:?}"))
            .unwrap();
        if let Step::Event(event) = &step
            && heads.get(&event.session) == event.id.as_ref()
        {
            heads.remove(&event.session);
        }
        steps.push(step);
    }
    steps
}

/// A session and all below it.
async fn sessions(house: &TestRuntime, root: &SessionId) -> Vec<SessionId> {
    let mut found = Vec::new();
    let mut rest = VecDeque::from([root.clone()]);
    while let Some(session) = rest.pop_front() {
        rest.extend(
            house
                .children(&session)
                .await
                .into_iter()
                .map(|child| child.id),
        );
        found.push(session);
    }
    found
}

/// The events of a session's own journal; a fork has those of another before them.
async fn own_events(house: &TestRuntime, session: &SessionId) -> Vec<Event> {
    let events = house.events(session).await.into_iter();
    events.filter(|event| event.session == *session).collect()
}

/// What was told live is what the journals hold, and the durable events alone give the same state in the end.
async fn assert_replayed(house: &TestRuntime, journal: &Journal) {
    let mut live = RunTreeView::of(journal.root.clone());
    let mut replayed = live.clone();
    let mut durable: BTreeMap<&SessionId, Vec<&Event>> = BTreeMap::new();
    for step in &journal.steps {
        apply(&mut live, step);
        if let Step::Event(event) = step
            && event.id.is_some()
        {
            durable.entry(&event.session).or_default().push(event);
            replayed.apply(event);
        }
    }
    for (session, told) in durable {
        let stored = own_events(house, session).await;
        // A task that was left behind may have gone on meanwhile.
        let stored: Vec<&Event> = stored.iter().take(told.len()).collect();
        assert_eq!(told, stored);
    }
    assert_eq!(lasting(&live), lasting(&replayed));
}

/// The state without what only metadata and events that are not stored tell.
fn lasting(tree: &RunTreeView) -> Value {
    let mut state: Value = serde_json::from_str(&tree.to_canonical_json()).unwrap();
    // In the order of their ids: an event that is not stored may be the first that tells of a run.
    for (list, id) in [("sessions", "session"), ("runs", "run")] {
        let list = state[list].as_array_mut().unwrap();
        list.sort_by_key(|one| one[id].to_string());
        for one in list {
            let one = one.as_object_mut().unwrap();
            for ephemeral in [
                "activity",
                "updated_at",
                "context",
                "queued",
                "name",
                "is_deleted",
            ] {
                one.remove(ephemeral);
            }
        }
    }
    state.as_object_mut().unwrap().remove("totals");
    state
}

/// A prefix that is folded, written down and read back: the rest leads to the same state.
fn assert_divided(journal: &Journal) {
    let fold = |mut tree: RunTreeView, steps: &[Step]| {
        steps.iter().for_each(|step| apply(&mut tree, step));
        tree
    };
    let whole = fold(RunTreeView::of(journal.root.clone()), &journal.steps);
    let mut tree = RunTreeView::of(journal.root.clone());
    let every = journal.steps.len() / 5 + 1;
    for (at, step) in journal.steps.iter().enumerate() {
        if at % every == 0 {
            let read = RunTreeView::from_canonical_json(&tree.to_canonical_json()).unwrap();
            assert_eq!(read, tree, "before step {at}");
            assert_eq!(fold(read, &journal.steps[at..]), whole, "divided at {at}");
        }
        apply(&mut tree, step);
    }
}
