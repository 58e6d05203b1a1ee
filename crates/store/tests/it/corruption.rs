//! What `verify` finds when somebody meddles with the file: each invariant, broken on purpose.

use rooftree_store::{JournalSearch, SqliteStore, prelude::*, verify::INVARIANTS};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::scene::{self, assert_sound, conversation, open, session_id};

/// A sound database, meddled with; the invariants that `verify` finds broken.
async fn broken_by(sql: &str) -> Vec<String> {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("rooftree.db");
    let store = SqliteStore::open(&path).unwrap();
    let claim = scene::claim(&store, &open(&store, 1).await).await;
    conversation(&store, &claim, 1, 0).await;
    store.release(claim).await.unwrap();
    let claim = scene::claim(&store, &session_id(1)).await;
    conversation(&store, &claim, 2, 5).await;
    store.put_blob(b"bytes".to_vec()).await.unwrap();
    store.put_task(scene::delegated(1)).await.unwrap();
    store.search(JournalSearch::new("oak", 1)).await.unwrap();
    assert_sound(&store).await;
    drop(store);
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(sql).unwrap();
    drop(connection);
    let store = SqliteStore::open_read_only(&path).unwrap();
    let mut found: Vec<_> = store
        .verify()
        .await
        .unwrap()
        .violations
        .into_iter()
        .map(|found| found.invariant)
        .collect();
    found.sort();
    found.dedup();
    found
}

#[tokio::test]
async fn every_invariant_is_missed_when_it_is_broken() {
    let no_keys = "DROP INDEX inbox_key;";
    let table = [
        (
            "I0",
            "PRAGMA foreign_keys = OFF; UPDATE task SET session = 1; INSERT INTO command (session, at, command) VALUES (77, 0, '{}')",
        ),
        ("I1", "UPDATE journal SET fence = 9 WHERE seq = 3"),
        (
            "I1",
            "UPDATE journal SET fence = 1 WHERE seq > 5; UPDATE journal SET fence = 2 WHERE seq <= 5",
        ),
        ("I2", "UPDATE session SET mail_taken = 1, mail_done = 1"),
        (
            "I2",
            "UPDATE journal SET data = json_set(data, '$.position', 3) WHERE seq = 7",
        ),
        (
            "I2",
            "UPDATE journal SET data = json_set(data, '$.position', 1) WHERE seq = 7",
        ),
        ("I3", "DELETE FROM inbox WHERE position = 2"),
        (
            "I3",
            "UPDATE inbox SET message_id = 'msg_other' WHERE position = 1",
        ),
        ("I3", "UPDATE session SET mail_done = 3"),
        ("I3", "UPDATE mailbox SET mail_posted = 3"),
        ("I4", "UPDATE inbox SET key = 'same'"),
        (
            "I5",
            "UPDATE journal SET data = json_set(data, '$.text', 'never said') WHERE type = 'message.completed'",
        ),
        ("I5", "UPDATE session SET head_hash = x'00'"),
        (
            "I6",
            "DELETE FROM journal WHERE type = 'tool.completed' AND seq = 4",
        ),
        (
            "I6",
            "UPDATE journal SET data = json_set(data, '$.call', 'call_other') WHERE seq = 4",
        ),
        ("I7", "UPDATE task SET ended_at = 1"),
        ("I10", "DELETE FROM journal WHERE seq = 10"),
        ("I10", "UPDATE journal SET seq = 11 WHERE seq = 10"),
        ("I11", "UPDATE session SET run = 'run_ghost'"),
        (
            "I11",
            "DELETE FROM journal WHERE type = 'run.completed' AND seq = 5",
        ),
        (
            "I11",
            "UPDATE journal SET run = 'run_other' WHERE type = 'run.started' AND seq = 1",
        ),
        ("I12", "UPDATE blob SET bytes = x'00'"),
        ("I13", "DELETE FROM blob"),
        ("I14", "UPDATE usage SET output = output + 1"),
        ("I14", "DELETE FROM usage"),
        ("I15", "UPDATE session SET activity = '{}'"),
        ("I15", "UPDATE session SET outcome = 'failed'"),
        ("I15", "UPDATE session SET rested_at = rested_at + 1"),
        (
            "I15",
            "UPDATE session SET unseen_failure = 1 - unseen_failure",
        ),
        ("I15", "UPDATE session SET root_number = number"),
    ];
    for (invariant, sql) in table {
        let sql = if invariant == "I4" {
            format!("{no_keys}{sql}")
        } else {
            sql.to_owned()
        };
        let found = broken_by(&sql).await;
        assert!(
            found.iter().any(|found| found == invariant),
            "{invariant} by `{sql}`: {found:?}"
        );
    }
    for (name, _) in INVARIANTS {
        assert!(
            table.iter().any(|(invariant, _)| invariant == name),
            "{name} is never broken here"
        );
    }
}

#[tokio::test]
async fn mail_that_a_restart_would_not_look_at_is_missed() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("rooftree.db");
    let store = SqliteStore::open(&path).unwrap();
    let id = open(&store, 1).await;
    store.post(scene::post(&id, "one", "hello")).await.unwrap();
    assert_sound(&store).await;
    drop(store);
    Connection::open(&path)
        .unwrap()
        .execute_batch("UPDATE mailbox SET waits = 0")
        .unwrap();
    let report = SqliteStore::open_read_only(&path)
        .unwrap()
        .verify()
        .await
        .unwrap();
    let found: Vec<_> = report
        .violations
        .iter()
        .map(|found| found.invariant.as_str())
        .collect();
    assert_eq!(found, ["I3"], "{:?}", report.violations);
}

#[tokio::test]
async fn a_fork_whose_ancestor_was_changed_is_missed_too() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("rooftree.db");
    let store = SqliteStore::open(&path).unwrap();
    let id = open(&store, 1).await;
    conversation(&store, &scene::claim(&store, &id).await, 1, 0).await;
    let row = rooftree_store::NewSessionRow {
        id: session_id(2),
        agent: "lead".into(),
        name: None,
        model: None,
        cwd: "/".into(),
        parent: None,
        connector_key: None,
        chat: None,
        account: Default::default(),
        audit: None,
        at: scene::NOW,
    };
    let fork = store.fork(&id, 2, row).await.unwrap().id;
    conversation(&store, &scene::claim(&store, &fork).await, 1, 2).await;
    assert_sound(&store).await;
    drop(store);
    Connection::open(&path)
        .unwrap()
        .execute_batch("UPDATE journal SET hash = x'00' WHERE session = 1 AND seq = 2")
        .unwrap();
    let report = SqliteStore::open_read_only(&path)
        .unwrap()
        .verify()
        .await
        .unwrap();
    assert!(
        report
            .violations
            .iter()
            .any(|found| found.place.contains(fork.as_str())),
        "{:?}",
        report.violations
    );
}
