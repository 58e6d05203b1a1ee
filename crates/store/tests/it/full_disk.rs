//! A disk that is full: a clear error, nothing half-done, and on it goes when there is room.
//!
//! The same without a mount, by limiting the pages of the file, is beside the writer.

use std::fs;

use rooftree_protocol::Lane;
use rooftree_store::{Error, SqliteStore, prelude::*};

use crate::scene::{self, SmallDisk, assert_sound, conversation, open, post};

#[tokio::test]
async fn work_goes_on_when_a_full_disk_has_room_again() {
    let Some(disk) = SmallDisk::mount("4m") else {
        return;
    };
    let path = disk.path().join("rooftree.db");
    let store = SqliteStore::open(&path).unwrap();
    let id = open(&store, 1).await;
    let claim = scene::claim(&store, &id).await;
    conversation(&store, &claim, 1, 0).await;
    // Somebody else's file takes nearly all there is.
    let ballast = disk.path().join("ballast");
    fs::write(&ballast, vec![0; 2_500_000]).unwrap();
    let mut accepted = 0;
    let refused = loop {
        match store
            .post(post(&id, &format!("key-{accepted}"), &"x".repeat(10_000)))
            .await
        {
            Ok(_) => accepted += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, Error::Full(_)), "{refused:?}");
    assert!(refused.problem().fix.is_some());
    assert!(accepted > 10, "{accepted}");
    let waiting = store.waiting(&id, Lane::Mail, 10_000).await.unwrap();
    assert_eq!(
        waiting.len(),
        accepted,
        "all that was accepted, and nothing else"
    );
    assert!(matches!(
        store.put_blob(vec![7; 500_000]).await,
        Err(Error::Full(_))
    ));
    fs::remove_file(&ballast).unwrap();
    let posted = store
        .post(post(&id, "at last", &"x".repeat(10_000)))
        .await
        .unwrap();
    assert_eq!(posted.position, accepted as u64 + 2);
    assert_sound(&store).await;
    drop(store);
    assert_sound(&SqliteStore::open(&path).unwrap()).await;
}
