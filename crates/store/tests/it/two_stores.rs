//! Two stores on one file, in one process.

use std::sync::Arc;

use rooftree_protocol::Lane;
use rooftree_store::{ClaimOutcome, Error, Owner, SqliteStore, prelude::*};
use tempfile::TempDir;

use crate::scene::{self, MINUTE, NOW, assert_sound, conversation, open, post};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_on_one_file_share_one_order() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("rooftree.db");
    let stores = [
        Arc::new(SqliteStore::open(&path).unwrap()),
        Arc::new(SqliteStore::open(&path).unwrap()),
    ];
    let id = open(&stores[0], 1).await;
    let posters: Vec<_> = (0..8)
        .map(|poster| {
            let (store, id) = (Arc::clone(&stores[poster % 2]), id.clone());
            tokio::spawn(async move {
                for number in 0..25 {
                    store
                        .post(post(&id, &format!("{poster}-{number}"), "hello"))
                        .await
                        .unwrap();
                }
            })
        })
        .collect();
    for poster in posters {
        poster.await.unwrap();
    }
    let items = stores[1].waiting(&id, Lane::Mail, 1_000).await.unwrap();
    assert!(items.iter().map(|item| item.position).eq(1..=200));
    assert_sound(&stores[0]).await;
}

#[tokio::test]
async fn a_claim_of_one_store_holds_against_the_other() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("rooftree.db");
    let (one, two) = (
        SqliteStore::open(&path).unwrap(),
        SqliteStore::open(&path).unwrap(),
    );
    let id = open(&one, 1).await;
    let claim = scene::claim(&one, &id).await;
    let me = Owner::this_process();
    assert!(matches!(
        two.claim(&id, &me, NOW, MINUTE).await.unwrap(),
        ClaimOutcome::Held(_)
    ));
    conversation(&one, &claim, 1, 0).await;
    let ClaimOutcome::Granted(taken) = two.claim(&id, &me, MINUTE, MINUTE).await.unwrap() else {
        panic!("the lease was over")
    };
    assert_eq!(taken.session.head, 5);
    assert!(matches!(
        one.renew(&claim, MINUTE).await,
        Err(Error::Fenced)
    ));
    conversation(&two, &taken.claim, 2, 5).await;
    assert_sound(&one).await;
}

#[tokio::test]
async fn a_watcher_hears_of_the_other_stores_commits() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("rooftree.db");
    let (one, two) = (
        SqliteStore::open(&path).unwrap(),
        SqliteStore::open(&path).unwrap(),
    );
    for number in 1..=3 {
        let mut news = one.changes();
        open(&two, number).await;
        news.changed().await.unwrap();
    }
    drop(one);
}

#[tokio::test]
async fn asking_for_commands_that_are_not_there_waits_for_no_writer() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("rooftree.db");
    let store = SqliteStore::open(&path).unwrap();
    let id = open(&store, 1).await;
    let claim = scene::claim(&store, &id).await;
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(store.take_commands(&claim).await.unwrap().is_empty());
    other.execute_batch("ROLLBACK").unwrap();
    assert_sound(&store).await;
}
