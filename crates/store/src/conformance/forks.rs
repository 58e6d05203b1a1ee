//! Forks: a journal that begins as a reference to another's.

use rooftree_protocol::{ForkPoint, Lane};

use super::{fixture::*, list};
use crate::KeyReuse;

list![
    a_fork_shares_what_was_before_and_goes_its_own_way,
    a_fork_of_a_fork_reads_through_both,
    a_fork_has_an_inbox_of_its_own,
    a_fork_beyond_the_head_is_refused,
    a_forked_journal_passes_verification,
];

async fn a_fork_shares_what_was_before_and_goes_its_own_way(store: StoreUnderTest) {
    let root = open(&store, 1).await;
    let claim_of_root = claim(&store, &root).await;
    append_notices(&store, &claim_of_root, 1, 3).await;
    let fork = store.fork(&root, 2, new_session(2)).await.unwrap();
    assert_eq!(
        fork.forked_from,
        Some(ForkPoint {
            session: root.clone(),
            at: 2
        })
    );
    assert_eq!(fork.head, 2);
    let claim_of_fork = claim(&store, &fork.id).await;
    assert_out_of_order(
        store
            .append(&claim_of_fork, batch(vec![notice(&fork.id, 4, "gap")]))
            .await,
    );
    append_notices(&store, &claim_of_fork, 3, 4).await;
    append_notices(&store, &claim_of_root, 4, 4).await;
    let homes: Vec<_> = notices(&store, &fork.id)
        .await
        .into_iter()
        .map(|(id, home, _)| (id, home))
        .collect();
    let wanted = [
        (1, root.clone()),
        (2, root.clone()),
        (3, fork.id.clone()),
        (4, fork.id.clone()),
    ];
    assert_eq!(homes, wanted);
    let page = store.events(&fork.id, 1, 2).await.unwrap();
    assert!(
        page.iter().map(|event| event.id).eq([Some(2), Some(3)]),
        "a page reaches over the seam"
    );
    assert_eq!(notices(&store, &root).await.len(), 4);
}

async fn a_fork_of_a_fork_reads_through_both(store: StoreUnderTest) {
    let root = open(&store, 1).await;
    append_notices(&store, &claim(&store, &root).await, 1, 4).await;
    let middle = store.fork(&root, 3, new_session(2)).await.unwrap().id;
    append_notices(&store, &claim(&store, &middle).await, 4, 6).await;
    let late = store.fork(&middle, 5, new_session(3)).await.unwrap().id;
    append_notices(&store, &claim(&store, &late).await, 6, 6).await;
    // A fork may also branch off in the part its parent itself refers to.
    let early = store.fork(&middle, 2, new_session(4)).await.unwrap().id;
    append_notices(&store, &claim(&store, &early).await, 3, 3).await;
    let empty = store.fork(&middle, 0, new_session(5)).await.unwrap().id;
    append_notices(&store, &claim(&store, &empty).await, 1, 1).await;
    let homes = async |id| -> Vec<_> {
        notices(&store, id)
            .await
            .into_iter()
            .map(|(_, home, _)| home)
            .collect()
    };
    assert_eq!(
        homes(&late).await,
        [&root, &root, &root, &middle, &middle, &late].map(Clone::clone)
    );
    assert_eq!(
        homes(&early).await,
        [&root, &root, &early].map(Clone::clone)
    );
    assert_eq!(homes(&empty).await, std::slice::from_ref(&empty));
}

async fn a_fork_has_an_inbox_of_its_own(store: StoreUnderTest) {
    let root = open(&store, 1).await;
    store.post(post(&root, Lane::Mail, 1)).await.unwrap();
    let fork = store.fork(&root, 0, new_session(2)).await.unwrap().id;
    assert!(
        store
            .waiting(&fork, Lane::Mail, 9)
            .await
            .unwrap()
            .is_empty()
    );
    let posted = store.post(post(&fork, Lane::Mail, 1)).await.unwrap();
    assert_eq!((posted.position, posted.repeated), (1, KeyReuse::No));
}

async fn a_fork_beyond_the_head_is_refused(store: StoreUnderTest) {
    let root = open(&store, 1).await;
    append_notices(&store, &claim(&store, &root).await, 1, 1).await;
    assert_out_of_order(store.fork(&root, 2, new_session(2)).await);
    assert_eq!(store.session(&session_id(2)).await.unwrap(), None);
}

async fn a_forked_journal_passes_verification(store: StoreUnderTest) {
    let root = open(&store, 1).await;
    append_notices(&store, &claim(&store, &root).await, 1, 3).await;
    let fork = store.fork(&root, 2, new_session(2)).await.unwrap().id;
    append_notices(&store, &claim(&store, &fork).await, 3, 5).await;
    let twice = store.fork(&fork, 4, new_session(3)).await.unwrap().id;
    append_notices(&store, &claim(&store, &twice).await, 5, 5).await;
    let report = store.verify().await.unwrap();
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    assert!(!report.checked.is_empty());
}
