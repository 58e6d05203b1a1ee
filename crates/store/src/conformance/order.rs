//! Order of writes, and change notifications.

use rooftree_protocol::Lane;

use super::{fixture::*, list};

list![
    writes_happen_in_the_order_of_calls_without_being_awaited,
    awaiting_a_later_write_means_all_earlier_ones_are_through,
    a_dropped_answer_does_not_take_the_write_back,
    a_refused_write_does_not_harm_its_neighbours,
];

async fn writes_happen_in_the_order_of_calls_without_being_awaited(store: StoreUnderTest) {
    let id = session_id(1);
    let opened = store.open(new_session(1));
    let posts: Vec<_> = (1..=300)
        .map(|number| store.post(post(&id, Lane::Mail, number)))
        .collect();
    opened.await.unwrap();
    for (answer, place) in posts.into_iter().zip(1..) {
        assert_eq!(answer.await.unwrap().position, place);
    }
}

async fn awaiting_a_later_write_means_all_earlier_ones_are_through(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    for number in 1..=200 {
        store.post(post(&id, Lane::Mail, number)).detach();
    }
    store.put_blob(b"last".to_vec()).await.unwrap();
    assert_eq!(
        store.waiting(&id, Lane::Mail, 1_000).await.unwrap().len(),
        200
    );
}

async fn a_dropped_answer_does_not_take_the_write_back(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    drop(store.post(post(&id, Lane::Mail, 1)));
    let second = store.post(post(&id, Lane::Mail, 2)).await.unwrap();
    assert_eq!(second.position, 2);
}

async fn a_refused_write_does_not_harm_its_neighbours(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    let nobody = session_id(404);
    let answers: Vec<_> = (1..=100)
        .map(|number| {
            store.post(post(
                if number % 3 == 0 { &nobody } else { &id },
                Lane::Mail,
                number,
            ))
        })
        .collect();
    let mut places = Vec::new();
    for (answer, number) in answers.into_iter().zip(1_u64..) {
        match answer.await {
            Ok(posted) => places.push(posted.position),
            Err(error) => assert!(number.is_multiple_of(3), "{number}: {error}"),
        }
    }
    assert!(places.into_iter().eq(1..=67));
}
