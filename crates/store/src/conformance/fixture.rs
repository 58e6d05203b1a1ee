//! Short ways to say what a check needs: sessions, messages, claims, batches.

use std::{path::PathBuf, sync::Arc};

use rooftree_protocol::{
    Event, EventBody, Lane, Message, MessageId, Origin, Part, RunId, SessionId, Timestamp, Usage,
    event::{NoticeLevel, ReplyPart, ReplyRecord, RunMode, StopReason, VERSION},
};

use crate::{
    AppendBatch, Claim, ClaimOutcome, ClaimedSession, Error, InboxPost, NewSessionRow, Owner, Store,
};

/// A store on which a check stands.
pub(super) type StoreUnderTest = Arc<dyn Store>;

/// The moment at which everything happens.
pub(super) const NOW: Timestamp = Timestamp(1_800_000_000_000);

/// An id that differs from others at both ends.
pub(super) fn session_id(number: u128) -> SessionId {
    SessionId::from_entropy(number.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835))
}

pub(super) fn run_id(number: u128) -> RunId {
    RunId::from_entropy(number)
}

/// A session to be opened.
pub(super) fn new_session(number: u128) -> NewSessionRow {
    NewSessionRow {
        id: session_id(number),
        agent: "lead".into(),
        name: None,
        model: None,
        cwd: PathBuf::from("/somewhere"),
        parent: None,
        connector_key: None,
        chat: None,
        account: Default::default(),
        audit: None,
        at: NOW,
    }
}

/// Opens a session.
pub(super) async fn open(store: &StoreUnderTest, number: u128) -> SessionId {
    store.open(new_session(number)).await.unwrap().id
}

/// A message; number and text make it.
pub(super) fn message(number: u128, text: &str) -> Message {
    Message {
        id: MessageId::from_entropy(number),
        parts: vec![Part::text(text)],
        origin: Origin::User,
        silent: false,
        outside: false,
        context: None,
        mandate: None,
        call: None,
        restriction: None,
        revision: 0,
        who: None,
        at: NOW,
    }
}

/// A post of message `number` into a lane, with a key of its own.
pub(super) fn post(session: &SessionId, lane: Lane, number: u128) -> InboxPost {
    InboxPost {
        session: session.clone(),
        lane,
        key: format!("key-{number}"),
        message: message(number, &format!("message {number}")),
        capacity: 1_000,
    }
}

/// An owner on another host, so that only the lease counts.
pub(super) fn stranger() -> Owner {
    Owner {
        host: "far-away".into(),
        boot: "boot".into(),
        pid: 1,
        started: 1,
    }
}

/// Claims a session until `until`, for this process.
pub(super) async fn claim_until(
    store: &StoreUnderTest,
    session: &SessionId,
    now: Timestamp,
    until: Timestamp,
) -> ClaimedSession {
    match store
        .claim(session, &Owner::this_process(), now, until)
        .await
        .unwrap()
    {
        ClaimOutcome::Granted(claimed) => claimed,
        ClaimOutcome::Held(owner) => panic!("held by {owner:?}"),
    }
}

/// Claims a session for a minute.
pub(super) async fn claim(store: &StoreUnderTest, session: &SessionId) -> Claim {
    claim_until(store, session, NOW, minute()).await.claim
}

/// A minute from now.
pub(super) fn minute() -> Timestamp {
    Timestamp(NOW.0 + 60_000)
}

/// An event of a session.
pub(super) fn event(session: &SessionId, id: u64, body: EventBody) -> Event {
    Event {
        v: VERSION,
        id: Some(id),
        ts: NOW,
        session: session.clone(),
        run: None,
        parent_run: None,
        agent: "lead".into(),
        who: None,
        body,
    }
}

/// A notice with a text.
pub(super) fn notice(session: &SessionId, id: u64, text: &str) -> Event {
    let body = EventBody::Notice {
        level: NoticeLevel::Info,
        code: "check".into(),
        message: text.into(),
        hint: None,
    };
    event(session, id, body)
}

/// A message that was taken.
pub(super) fn told(session: &SessionId, id: u64, post: &InboxPost, position: u64) -> Event {
    event(
        session,
        id,
        EventBody::MessageUser {
            message: post.message.clone(),
            lane: post.lane,
            position,
        },
    )
}

/// The start of a run.
pub(super) fn started(session: &SessionId, id: u64, run: &RunId) -> Event {
    let body = EventBody::RunStarted {
        mode: RunMode::Main,
        message: MessageId::from_entropy(1),
        model: "scripted".into(),
        title: "check".into(),
        depth: 0,
        parent: None,
        policy: None,
        bounds: None,
        surroundings: None,
    };
    Event {
        run: Some(run.clone()),
        ..event(session, id, body)
    }
}

/// What each reply of a model used.
pub(super) fn used() -> Usage {
    Usage {
        input: 10,
        output: 3,
        cache_read: 4,
        cache_write: 1,
        reasoning: 2,
        searches: 0,
        cost_usd: 0.25,
        cost_complete: true,
    }
}

/// A reply of a model.
pub(super) fn replied(session: &SessionId, id: u64, model: &str, text: &str) -> Event {
    let reply = ReplyRecord {
        message: None,
        text: text.to_owned(),
        parts: vec![ReplyPart::Text {
            text: text.to_owned(),
        }],
        model: model.to_owned(),
        stop: StopReason::End,
        usage: used(),
        request: None,
    };
    event(session, id, EventBody::MessageCompleted(reply))
}

/// A batch of nothing but events.
pub(super) fn batch(events: Vec<Event>) -> AppendBatch {
    AppendBatch {
        events,
        lease: minute(),
        ..AppendBatch::default()
    }
}

/// Appends notices numbered from `first` to `last`.
pub(super) async fn append_notices(store: &StoreUnderTest, claim: &Claim, first: u64, last: u64) {
    let events = (first..=last)
        .map(|id| notice(&claim.session, id, &format!("notice {id}")))
        .collect();
    store.append(claim, batch(events)).await.unwrap();
}

/// The texts and homes of all notices of a journal, in order.
pub(super) async fn notices(
    store: &StoreUnderTest,
    session: &SessionId,
) -> Vec<(u64, SessionId, String)> {
    let events = store.events(session, 0, usize::MAX).await.unwrap();
    let texts = events.into_iter().filter_map(|event| match event.body {
        EventBody::Notice { message, .. } => Some((event.id.unwrap_or(0), event.session, message)),
        _ => None,
    });
    texts.collect()
}

/// Says that something was refused because it did not fit.
pub(super) fn assert_out_of_order<T: std::fmt::Debug>(answer: Result<T, Error>) {
    assert!(matches!(answer, Err(Error::OutOfOrder(_))), "{answer:?}");
}
