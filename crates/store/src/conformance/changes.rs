//! Messages that are withdrawn or replaced while they wait, uploads, and agents made over the API.

use rooftree_protocol::{EventBody, Lane, Message, Part, Principal, SessionId, Surface, Timestamp};

use super::{fixture::*, list};
use crate::{
    AgentWrite, AgentWriteOutcome, AppendBatch, Error, InboxChange, InboxChangeOutcome, InboxItem,
};

list![
    a_withdrawn_message_keeps_its_place_and_can_only_be_dropped,
    a_replaced_message_keeps_its_place_and_its_older_text_cannot_be_taken,
    what_was_taken_cannot_be_withdrawn_or_replaced,
    a_withdrawal_counts_once_and_ends_what_can_be_replaced,
    bytes_belong_to_those_who_uploaded_them_and_to_sessions_that_name_them,
    an_agent_is_written_only_over_the_revision_that_was_read,
];

fn who() -> Box<Principal> {
    Box::new(Principal::local_owner(Surface::Http))
}

fn withdraw() -> InboxChange {
    InboxChange::Withdraw { who: who() }
}

fn replace(text: &str) -> InboxChange {
    InboxChange::Replace {
        parts: vec![Part::text(text)],
        who: who(),
        audit: None,
    }
}

fn changed(outcome: InboxChangeOutcome) -> InboxItem {
    match outcome {
        InboxChangeOutcome::Changed(item) => *item,
        other => panic!("not changed: {other:?}"),
    }
}

/// Takes the first mail as an event.
fn taking(session: &SessionId, body: EventBody) -> AppendBatch {
    AppendBatch {
        taken: vec![(Lane::Mail, 1)],
        done: vec![(Lane::Mail, 1)],
        ..batch(vec![event(session, 1, body)])
    }
}

fn dropped(message: &Message) -> EventBody {
    EventBody::InboxDropped {
        message: message.id.clone(),
        lane: Lane::Mail,
        position: 1,
    }
}

fn read(message: &Message) -> EventBody {
    EventBody::MessageUser {
        message: message.clone(),
        lane: Lane::Mail,
        position: 1,
    }
}

async fn a_withdrawn_message_keeps_its_place_and_can_only_be_dropped(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    let (first, second) = (post(&id, Lane::Mail, 1), post(&id, Lane::Mail, 2));
    store.post(first.clone()).await.unwrap();
    store.post(second).await.unwrap();
    let claim = claim(&store, &id).await;
    let early = store
        .append(&claim, taking(&id, dropped(&first.message)))
        .await;
    assert!(
        matches!(early, Err(Error::Superseded(_))),
        "nobody withdrew it: {early:?}"
    );
    let item = store
        .change_waiting(&id, &first.message.id, withdraw())
        .await;
    assert_eq!(changed(item.unwrap()).withdrawn, Some(who()));
    let waiting = store.waiting(&id, Lane::Mail, 9).await.unwrap();
    let places: Vec<_> = waiting
        .iter()
        .map(|item| (item.position, item.withdrawn.is_some()))
        .collect();
    assert_eq!(places, [(1, true), (2, false)]);
    let late = store
        .append(&claim, taking(&id, read(&first.message)))
        .await;
    assert!(
        matches!(late, Err(Error::Superseded(_))),
        "it was read: {late:?}"
    );
    store
        .append(&claim, taking(&id, dropped(&first.message)))
        .await
        .unwrap();
    assert_eq!(store.waiting(&id, Lane::Mail, 9).await.unwrap().len(), 1);
    let found = store.verify().await.unwrap().violations;
    assert!(found.is_empty(), "{found:?}");
}

async fn a_replaced_message_keeps_its_place_and_its_older_text_cannot_be_taken(
    store: StoreUnderTest,
) {
    let id = open(&store, 1).await;
    let first = post(&id, Lane::Mail, 1);
    store.post(first.clone()).await.unwrap();
    store.post(post(&id, Lane::Mail, 2)).await.unwrap();
    let item = store
        .change_waiting(&id, &first.message.id, replace("other"))
        .await;
    let item = changed(item.unwrap());
    assert_eq!((item.position, item.message.revision), (1, 1));
    let waiting = store.waiting(&id, Lane::Mail, 9).await.unwrap();
    let current = &waiting.first().unwrap().message;
    assert_eq!(current.text(), "other");
    assert_eq!(current.id, first.message.id);
    let claim = claim(&store, &id).await;
    let older = store
        .append(&claim, taking(&id, read(&first.message)))
        .await;
    assert!(
        matches!(older, Err(Error::Superseded(_))),
        "the older text was taken"
    );
    store
        .append(&claim, taking(&id, read(current)))
        .await
        .unwrap();
}

async fn what_was_taken_cannot_be_withdrawn_or_replaced(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    let first = post(&id, Lane::Mail, 1);
    store.post(first.clone()).await.unwrap();
    let claim = claim(&store, &id).await;
    store
        .append(&claim, taking(&id, read(&first.message)))
        .await
        .unwrap();
    for change in [withdraw(), replace("late")] {
        let outcome = store.change_waiting(&id, &first.message.id, change).await;
        assert_eq!(outcome.unwrap(), InboxChangeOutcome::Taken);
    }
    let other = message(9, "never posted").id;
    let unknown = store.change_waiting(&id, &other, withdraw()).await.unwrap();
    assert_eq!(unknown, InboxChangeOutcome::Unknown);
}

async fn a_withdrawal_counts_once_and_ends_what_can_be_replaced(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    let first = post(&id, Lane::Boundary, 1);
    store.post(first.clone()).await.unwrap();
    changed(
        store
            .change_waiting(&id, &first.message.id, withdraw())
            .await
            .unwrap(),
    );
    for change in [withdraw(), replace("late")] {
        let outcome = store.change_waiting(&id, &first.message.id, change).await;
        assert_eq!(outcome.unwrap(), InboxChangeOutcome::Withdrawn);
    }
}

async fn bytes_belong_to_those_who_uploaded_them_and_to_sessions_that_name_them(
    store: StoreUnderTest,
) {
    let (named, other) = (open(&store, 1).await, open(&store, 2).await);
    let owner = Principal::local_owner(Surface::Http).account();
    let blob = store
        .put_upload(vec![1, 2, 3], owner.clone(), NOW)
        .await
        .unwrap();
    let guest = rooftree_protocol::Account {
        person: "guest".into(),
        ..owner.clone()
    };
    assert!(store.is_upload_of(&blob, &owner).await.unwrap());
    assert!(!store.is_upload_of(&blob, &guest).await.unwrap());
    assert!(!store.names_blob(&named, &blob).await.unwrap());
    let mut first = post(&named, Lane::Mail, 1);
    first.message.parts = vec![Part::Image {
        blob: blob.clone(),
        media_type: "image/png".into(),
        bytes: 3,
    }];
    store.post(first.clone()).await.unwrap();
    assert!(
        store.names_blob(&named, &blob).await.unwrap(),
        "a message waits that names it"
    );
    assert!(!store.names_blob(&other, &blob).await.unwrap());
    let claim = claim(&store, &named).await;
    store
        .append(&claim, taking(&named, read(&first.message)))
        .await
        .unwrap();
    let forked = store.fork(&named, 1, new_session(3)).await.unwrap().id;
    assert!(
        store.names_blob(&forked, &blob).await.unwrap(),
        "a fork inherits the event"
    );
    let earlier = store.fork(&named, 0, new_session(4)).await.unwrap().id;
    assert!(!store.names_blob(&earlier, &blob).await.unwrap());
}

async fn an_agent_is_written_only_over_the_revision_that_was_read(store: StoreUnderTest) {
    let write = |text: Option<&str>, expected, at| AgentWrite {
        tenant: "default".into(),
        name: "scout".into(),
        text: text.map(str::to_owned),
        expected,
        by: *who(),
        at: Timestamp(at),
        audit: None,
    };
    let made = store
        .write_agent(write(Some("one"), None, 1))
        .await
        .unwrap();
    assert!(matches!(made, AgentWriteOutcome::Written(Some(row)) if row.revision == 1));
    let again = store
        .write_agent(write(Some("two"), None, 2))
        .await
        .unwrap();
    assert!(matches!(again, AgentWriteOutcome::Differs(Some(row)) if row.text == "one"));
    store
        .write_agent(write(Some("two"), Some(1), 3))
        .await
        .unwrap();
    let rows = store.agents("default").await.unwrap();
    let row = rows.first().unwrap();
    let seen = (
        row.revision,
        row.text.as_str(),
        row.created_at,
        row.updated_at,
    );
    assert_eq!(seen, (2, "two", Timestamp(1), Timestamp(3)));
    assert_eq!(store.agents("other").await.unwrap(), []);
    let stale = store.write_agent(write(None, Some(1), 4)).await.unwrap();
    assert!(matches!(stale, AgentWriteOutcome::Differs(_)));
    let gone = store.write_agent(write(None, Some(2), 4)).await.unwrap();
    assert_eq!(gone, AgentWriteOutcome::Written(None));
    assert_eq!(store.agents("default").await.unwrap(), []);
}
