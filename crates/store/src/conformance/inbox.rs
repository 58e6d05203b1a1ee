//! Inboxes: places without gaps, keys, bounds.

use std::{collections::HashSet, sync::Arc};

use rooftree_protocol::{Lane, Timestamp};

use super::{fixture::*, list};
use crate::{AppendBatch, Error, InboxPost, KeyReuse, SessionPatch};

list![
    posts_wait_in_the_order_they_came_in_each_lane_for_itself,
    a_used_key_stores_nothing_and_returns_the_first_place,
    a_used_key_says_whether_it_was_for_the_same_message,
    a_used_key_in_a_full_lane_returns_the_first_place,
    a_deleted_session_takes_only_what_is_meant_for_every_session,
    the_same_key_in_another_session_is_another_message,
    a_hundred_posts_from_ten_tasks_get_places_without_a_gap,
    a_full_lane_refuses_loudly_and_has_room_again_when_something_is_taken,
];

async fn posts_wait_in_the_order_they_came_in_each_lane_for_itself(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    for number in 1..=4 {
        let lane = if number % 2 == 0 {
            Lane::Boundary
        } else {
            Lane::Mail
        };
        let posted = store.post(post(&id, lane, number)).await.unwrap();
        assert_eq!(posted.position, number.div_ceil(2) as u64);
        assert_eq!(posted.repeated, KeyReuse::No);
    }
    let items = store.waiting(&id, Lane::Mail, 10).await.unwrap();
    let seen: Vec<_> = items
        .iter()
        .map(|item| (item.position, item.key.as_str(), item.message.text()))
        .collect();
    assert_eq!(
        seen,
        [
            (1, "key-1", "message 1".to_owned()),
            (2, "key-3", "message 3".to_owned())
        ]
    );
    assert_eq!(
        store.waiting(&id, Lane::Boundary, 1).await.unwrap().len(),
        1
    );
}

async fn a_used_key_stores_nothing_and_returns_the_first_place(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    let first = store.post(post(&id, Lane::Mail, 1)).await.unwrap();
    store.post(post(&id, Lane::Mail, 2)).await.unwrap();
    // Another message, even another lane and no room at all: the key decides.
    let again = InboxPost {
        key: "key-1".into(),
        capacity: 0,
        ..post(&id, Lane::Boundary, 3)
    };
    let repeated = store.post(again).await.unwrap();
    assert_eq!(
        (repeated.position, &repeated.message, repeated.repeated),
        (first.position, &first.message, KeyReuse::Other)
    );
    assert_eq!(store.waiting(&id, Lane::Mail, 10).await.unwrap().len(), 2);
    assert!(
        store
            .waiting(&id, Lane::Boundary, 10)
            .await
            .unwrap()
            .is_empty()
    );
}

async fn a_used_key_says_whether_it_was_for_the_same_message(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    let one = post(&id, Lane::Mail, 1);
    store.post(one.clone()).await.unwrap();
    let mut again = post(&id, Lane::Mail, 2).message;
    again.parts.clone_from(&one.message.parts);
    // Sent again it has another id and another time; what it says is what counts.
    let again = InboxPost {
        message: again,
        ..one.clone()
    };
    assert_eq!(store.post(again).await.unwrap().repeated, KeyReuse::Same);
    let other = InboxPost {
        message: post(&id, Lane::Mail, 3).message,
        ..one
    };
    assert_eq!(store.post(other).await.unwrap().repeated, KeyReuse::Other);
}

async fn a_used_key_in_a_full_lane_returns_the_first_place(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    let one = |number| InboxPost {
        capacity: 1,
        ..post(&id, Lane::Mail, number)
    };
    let first = store.post(one(1)).await.unwrap();
    let repeated = store.post(one(1)).await.unwrap();
    assert_eq!(
        (repeated.position, repeated.repeated),
        (first.position, KeyReuse::Same)
    );
    // A place that was given back is the next one's, so there is no gap.
    let room = |number| InboxPost {
        capacity: 9,
        ..post(&id, Lane::Mail, number)
    };
    assert_eq!(store.post(room(1)).await.unwrap().repeated, KeyReuse::Same);
    assert_eq!(store.post(room(2)).await.unwrap().position, 2);
}

async fn a_deleted_session_takes_only_what_is_meant_for_every_session(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    let deleted = |at| SessionPatch {
        deleted_at: Some(at),
        ..SessionPatch::default()
    };
    store
        .update(&id, deleted(Some(Timestamp(1))))
        .await
        .unwrap();
    let refused = store.post_to_living(post(&id, Lane::Mail, 1)).await;
    assert!(matches!(refused, Err(Error::NoSession(named)) if named == id));
    assert_eq!(
        store.post(post(&id, Lane::Mail, 2)).await.unwrap().position,
        1
    );
    store.update(&id, deleted(None)).await.unwrap();
    assert_eq!(
        store
            .post_to_living(post(&id, Lane::Mail, 3))
            .await
            .unwrap()
            .position,
        2
    );
}

async fn the_same_key_in_another_session_is_another_message(store: StoreUnderTest) {
    let (one, two) = (open(&store, 1).await, open(&store, 2).await);
    store.post(post(&one, Lane::Mail, 1)).await.unwrap();
    assert_eq!(
        store
            .post(post(&two, Lane::Mail, 1))
            .await
            .unwrap()
            .repeated,
        KeyReuse::No
    );
}

async fn a_hundred_posts_from_ten_tasks_get_places_without_a_gap(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    let tasks: Vec<_> = (0..10_u128)
        .map(|task| {
            let (store, id) = (Arc::clone(&store), id.clone());
            tokio::spawn(async move {
                let mut places = Vec::new();
                for number in 0..10 {
                    places.push(
                        store
                            .post(post(&id, Lane::Mail, task * 10 + number))
                            .await
                            .unwrap()
                            .position,
                    );
                }
                assert!(
                    places.is_sorted(),
                    "one poster's messages keep their order: {places:?}"
                );
                places
            })
        })
        .collect();
    let mut places = HashSet::new();
    for task in tasks {
        places.extend(task.await.unwrap());
    }
    assert_eq!(places, (1..=100).collect());
    let items = store.waiting(&id, Lane::Mail, 1_000).await.unwrap();
    assert!(items.iter().map(|item| item.position).eq(1..=100));
}

async fn a_full_lane_refuses_loudly_and_has_room_again_when_something_is_taken(
    store: StoreUnderTest,
) {
    let id = open(&store, 1).await;
    let small = |number| InboxPost {
        capacity: 2,
        ..post(&id, Lane::Mail, number)
    };
    store.post(small(1)).await.unwrap();
    store.post(small(2)).await.unwrap();
    assert!(matches!(
        store.post(small(3)).await,
        Err(Error::InboxFull(2))
    ));
    let claim = claim(&store, &id).await;
    let taken = AppendBatch {
        taken: vec![(Lane::Mail, 1)],
        ..batch(vec![told(&id, 1, &small(1), 1)])
    };
    store.append(&claim, taken).await.unwrap();
    assert_eq!(store.post(small(3)).await.unwrap().position, 3);
}
