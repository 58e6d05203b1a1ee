//! What is still there after the store was closed, and what is refused when it is opened.

use std::{fs, os::unix::fs::PermissionsExt};

use rooftree_protocol::Lane;
use rooftree_store::{Error, JournalSearch, SqliteStore, prelude::*};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::scene::{self, SmallDisk, assert_sound, conversation, open, post};

#[tokio::test]
async fn a_reopened_store_has_everything_even_what_nobody_awaited() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("rooftree.db");
    let store = SqliteStore::open(&path).unwrap();
    let id = open(&store, 1).await;
    let claim = scene::claim(&store, &id).await;
    conversation(&store, &claim, 1, 0).await;
    for number in 0..500 {
        store
            .post(post(&id, &format!("late-{number}"), "late"))
            .detach();
    }
    store.put_blob(b"bytes".to_vec()).detach();
    drop(store);
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.events(&id, 0, 100).await.unwrap().len(), 5);
    assert_eq!(
        store.waiting(&id, Lane::Mail, 1_000).await.unwrap().len(),
        500
    );
    assert_sound(&store).await;
}

#[tokio::test]
async fn a_restart_looks_at_a_session_from_a_post_on_until_its_mail_is_done() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("rooftree.db");
    let store = SqliteStore::open(&path).unwrap();
    let looked_at = || {
        let connection = Connection::open(&path).unwrap();
        let count = "SELECT count(*) FROM mailbox INDEXED BY mailbox_waits WHERE waits = 1";
        connection
            .query_row(count, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    let id = open(&store, 1).await;
    assert_eq!(looked_at(), 0);
    let claim = scene::claim(&store, &id).await;
    conversation(&store, &claim, 1, 0).await;
    assert_eq!(looked_at(), 1, "its owner is still there");
    assert!(!store.release(claim).await.unwrap());
    assert_eq!(looked_at(), 0);
    store.post(post(&id, "next", "hello")).await.unwrap();
    assert_eq!(looked_at(), 1);
    let claim = scene::claim(&store, &id).await;
    assert!(store.release(claim).await.unwrap());
    assert_eq!(store.unfinished().await.unwrap(), [id], "nobody took it");
    assert_sound(&store).await;
}

#[tokio::test]
async fn a_new_database_and_its_directories_are_for_their_owner_only() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a/b/rooftree.db");
    let store = SqliteStore::open(&path).unwrap();
    open(&store, 1).await;
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&path.with_extension("db-wal")), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
}

#[test]
fn a_new_database_is_durable_and_write_ahead() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("rooftree.db");
    drop(SqliteStore::open(&path).unwrap());
    let connection = Connection::open(&path).unwrap();
    let mode: String = connection
        .query_row("PRAGMA journal_mode", [], |row| row.get(0))
        .unwrap();
    let version: i64 = connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    assert_eq!((mode.as_str(), version), ("wal", SqliteStore::SCHEMA));
}

#[test]
fn a_database_of_a_newer_program_is_refused_and_left_alone() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("rooftree.db");
    drop(SqliteStore::open(&path).unwrap());
    Connection::open(&path)
        .unwrap()
        .execute_batch("PRAGMA user_version = 99")
        .unwrap();
    for refused in [
        SqliteStore::open(&path).err(),
        SqliteStore::open_read_only(&path).err(),
    ] {
        assert!(
            refused
                .unwrap()
                .to_string()
                .contains("use a newer rooftree")
        );
    }
}

#[test]
fn what_is_no_database_is_refused_with_words() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("notes.txt");
    fs::write(
        &path,
        "no database at all, only some text that is long enough to be looked at".repeat(100),
    )
    .unwrap();
    for refused in [
        SqliteStore::open(&path).err(),
        SqliteStore::open_read_only(&path).err(),
    ] {
        assert!(refused.unwrap().to_string().contains("damaged"));
    }
    assert!(SqliteStore::open_read_only(directory.path().join("missing.db")).is_err());
    assert!(SqliteStore::open(path.join("below/a/file.db")).is_err());
}

#[tokio::test]
async fn a_read_only_store_reads_verifies_and_refuses_writes() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("rooftree.db");
    let store = SqliteStore::open(&path).unwrap();
    let id = open(&store, 1).await;
    let claim = scene::claim(&store, &id).await;
    conversation(&store, &claim, 1, 0).await;
    drop(store);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    let before = fs::read(&path).unwrap();
    let store = SqliteStore::open_read_only(&path).unwrap();
    assert_sound(&store).await;
    let refused = store.post(post(&id, "key", "no")).await;
    assert!(
        matches!(&refused, Err(Error::Failed(why)) if why.contains("read-only")),
        "{refused:?}"
    );
    assert!(
        store
            .search(JournalSearch::new("oak", 10))
            .await
            .unwrap()
            .is_empty(),
        "it was never indexed, and that is no error"
    );
    drop(store);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_database_on_a_read_only_disk_can_be_verified() {
    let Some(disk) = SmallDisk::mount("8m") else {
        return;
    };
    let path = disk.path().join("rooftree.db");
    let store = SqliteStore::open(&path).unwrap();
    let claim = scene::claim(&store, &open(&store, 1).await).await;
    conversation(&store, &claim, 1, 0).await;
    drop(store);
    disk.make_read_only();
    assert!(SqliteStore::open(&path).is_err());
    let store = SqliteStore::open_read_only(&path).unwrap();
    assert_sound(&store).await;
}

#[tokio::test]
async fn p_4d_an_answer_is_on_disk_little_more_than_once() {
    const ANSWERS: u64 = 60;
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("rooftree.db");
    let store = SqliteStore::open(&path).unwrap();
    let id = open(&store, 1).await;
    let claim = scene::claim(&store, &id).await;
    let mut said = 0;
    for number in 0..ANSWERS {
        let text = format!("Line {number} of an answer, \"quoted\".\n").repeat(300);
        said += u64::try_from(text.len()).unwrap();
        scene::answer(&store, &claim, number * 3, &text).await;
    }
    assert_sound(&store).await;
    store.release(claim).await.unwrap();
    drop(store);
    let size = fs::metadata(&path).unwrap().len();
    let empty = 300 * 1024;
    assert!(
        size - empty.min(size) <= said * 3 / 2,
        "{size} bytes for {said} said"
    );
}
