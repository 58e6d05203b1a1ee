//! The session a person talks to: a run that a dead process left open does not count as one at work.

use std::time::Duration;

use rooftree_protocol::{
    Event, EventBody, Lane, Message, MessageId, Origin, Part, RunId, SessionId, Timestamp,
    event::{RunMode, VERSION},
};
use rooftree_store::{
    AppendBatch, ClaimOutcome, InboxPost, NewSessionRow, Owner, SessionFilter, SqliteStore,
    prelude::*,
};

/// A session that a person spoke to, with a run that this owner has open.
async fn spoken_to(
    store: &SqliteStore,
    number: u128,
    at: Timestamp,
    owner: Option<&Owner>,
) -> SessionId {
    let id = SessionId::from_entropy(number);
    let new = NewSessionRow {
        id: id.clone(),
        agent: "lead".into(),
        name: None,
        model: None,
        cwd: "/".into(),
        parent: None,
        connector_key: None,
        chat: None,
        account: Default::default(),
        audit: None,
        at,
    };
    store.open(new).await.unwrap();
    let message = Message::new(
        MessageId::from_entropy(number),
        vec![Part::text("hi")],
        Origin::User,
        at,
    );
    let (lane, key) = (Lane::Mail, message.id.to_string());
    let post = InboxPost {
        session: id.clone(),
        lane,
        key,
        message: message.clone(),
        capacity: 9,
    };
    store.post(post).await.unwrap();
    let Some(owner) = owner else { return id };
    let until = at.after(Duration::from_secs(1_000_000_000));
    let ClaimOutcome::Granted(claimed) = store.claim(&id, owner, at, until).await.unwrap() else {
        panic!("nobody has it");
    };
    let run = RunId::from_entropy(number);
    let bodies = [
        EventBody::SessionOpened {
            agent: "lead".into(),
            name: None,
            forked_from: None,
        },
        EventBody::RunStarted {
            mode: RunMode::Main,
            message: message.id.clone(),
            model: "scripted".into(),
            title: "hi".into(),
            depth: 0,
            parent: None,
            policy: None,
            bounds: None,
            surroundings: None,
        },
        EventBody::MessageUser {
            message,
            lane,
            position: 1,
        },
    ];
    let events = bodies.into_iter().zip(1..).map(|(body, number)| Event {
        v: VERSION,
        id: Some(number),
        ts: at,
        session: id.clone(),
        run: Some(run.clone()).filter(|_| number > 1),
        parent_run: None,
        agent: "lead".into(),
        who: None,
        body,
    });
    let (events, taken) = (events.collect(), vec![(lane, 1)]);
    let batch = AppendBatch {
        events,
        taken,
        run: Some(Some(run.clone())),
        lease: until,
        ..AppendBatch::default()
    };
    store.append(&claimed.claim, batch).await.unwrap();
    id
}

async fn foreground(store: &SqliteStore, limit: usize) -> Vec<SessionId> {
    let filter = SessionFilter {
        foreground: true,
        limit,
        ..SessionFilter::default()
    };
    store
        .sessions(filter)
        .await
        .unwrap()
        .into_iter()
        .map(|session| session.id)
        .collect()
}

#[tokio::test]
async fn r2_d4_a_session_whose_process_has_died_is_not_taken_for_the_one_at_work() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path().join("rooftree.db")).unwrap();
    let us = Owner::this_process();
    let dead = Owner {
        pid: u32::MAX,
        ..us.clone()
    };
    let crashed = spoken_to(&store, 1, Timestamp(1_000), Some(&dead)).await;
    let spoken = spoken_to(&store, 2, Timestamp(2_000), None).await;
    assert_eq!(
        foreground(&store, 1).await.first(),
        Some(&spoken),
        "the one spoken to last"
    );
    assert_eq!(
        foreground(&store, 0).await,
        [spoken.clone(), crashed.clone()]
    );
    let working = spoken_to(&store, 3, Timestamp(500), Some(&us)).await;
    assert_eq!(
        foreground(&store, 1).await.first(),
        Some(&working),
        "the one at work goes before it"
    );
    assert_eq!(foreground(&store, 0).await, [working, spoken, crashed]);
}
