//! What is lost is noticed: a log that was cut, damaged or deleted, a file that was emptied, cut off, copied alone or
//! put back; and what can be read of each is saved.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rooftree_protocol::{Lane, SessionId};
use rooftree_store::{Error, SqliteStore, prelude::*, sqlite::salvage::salvage};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::scene::{self, assert_sound, conversation, open, post, session_id};

fn beside(path: &Path, end: &str) -> PathBuf {
    PathBuf::from(format!("{}{end}", path.display()))
}

/// A database as `kill -9` leaves it: five sessions of which the last are in the log only.
async fn killed(directory: &TempDir) -> PathBuf {
    let path = directory.path().join("live/rooftree.db");
    let store = SqliteStore::open(&path).unwrap();
    for number in 1..=5 {
        let id = open(&store, number).await;
        let claim = scene::claim(&store, &id).await;
        conversation(&store, &claim, 1, 0).await;
        store.release(claim).await.unwrap();
        store
            .put_blob(format!("bytes {number}").into_bytes())
            .await
            .unwrap();
        store.post(post(&id, "waits", "hello")).await.unwrap();
        if number == 1 {
            // It is put there beside the writes: what comes after it is in the log only.
            until_a_log_is_needed(&path, &directory.path().join("first.db")).await;
        }
    }
    let left = directory.path().join("rooftree.db");
    copy(&path, &left, &["", "-wal", "-mark"]);
    left
}

/// Waits until the file says that it needs a log.
async fn until_a_log_is_needed(live: &Path, alone: &Path) {
    for looks in 0.. {
        copy(live, alone, &[""]);
        if !missing(alone).await.is_empty() {
            return;
        }
        assert!(looks < 100_000, "it never says so");
    }
}

fn copy(from: &Path, to: &Path, ends: &[&str]) {
    for end in ends {
        fs::copy(beside(from, end), beside(to, end)).unwrap();
    }
}

/// What `verify` says is missing.
async fn missing(path: &Path) -> Vec<String> {
    let store = SqliteStore::open_read_only(path).unwrap();
    let report = store.verify().await.unwrap();
    let found = report
        .violations
        .into_iter()
        .filter(|found| found.invariant == "I13");
    found.map(|found| found.what).collect()
}

fn refused(path: &Path) -> String {
    match SqliteStore::open(path) {
        Err(Error::Damaged(what)) => what,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was opened"),
    }
}

/// Saves what can be read, checks that the result is sound, and says how many sessions and events it has.
async fn saved(path: &Path) -> (usize, usize, Vec<String>) {
    let files = ["", "-wal", "-mark"].map(|end| fs::read(beside(path, end)).ok());
    let to = path.with_file_name("saved.db");
    let salvaged = salvage(path, &to).unwrap();
    let after = ["", "-wal", "-mark"].map(|end| fs::read(beside(path, end)).ok());
    assert!(files == after, "the files are as before");
    let store = SqliteStore::open(&to).unwrap();
    assert_sound(&store).await;
    let sessions = store
        .sessions(rooftree_store::SessionFilter::default())
        .await
        .unwrap();
    let mut events = 0;
    for session in &sessions {
        events += store.events(&session.id, 0, 1_000).await.unwrap().len();
    }
    drop(store);
    fs::remove_file(&to).unwrap();
    (sessions.len(), events, salvaged.lost)
}

#[tokio::test]
async fn s_b12_after_the_last_one_has_left_the_file_alone_has_everything() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("rooftree.db");
    let (first, second) = (
        SqliteStore::open(&path).unwrap(),
        SqliteStore::open(&path).unwrap(),
    );
    let id = open(&first, 1).await;
    drop(first);
    second.post(post(&id, "one", "hello")).await.unwrap();
    let reader = SqliteStore::open_read_only(&path).unwrap();
    assert!(reader.session(&id).await.unwrap().is_some());
    drop(second);
    // The reader was the last one: what the writer could not move is moved by it.
    drop(reader);
    assert!(
        !beside(&path, "-wal").exists(),
        "the log is part of the file"
    );
    let alone = directory.path().join("alone.db");
    copy(&path, &alone, &[""]);
    let store = SqliteStore::open_read_only(&alone).unwrap();
    assert_sound(&store).await;
    assert_eq!(store.waiting(&id, Lane::Mail, 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn s_b12_what_kill_left_is_moved_into_the_file_by_whoever_only_reads() {
    let directory = TempDir::new().unwrap();
    let path = killed(&directory).await;
    assert!(fs::metadata(beside(&path, "-wal")).unwrap().len() > 0);
    assert_eq!(missing(&path).await, Vec::<String>::new());
    assert!(!beside(&path, "-wal").exists());
    let store = SqliteStore::open(&path).unwrap();
    assert_sound(&store).await;
    assert!(store.session(&session_id(5)).await.unwrap().is_some());
}

#[tokio::test]
async fn s_b12_a_log_that_was_cut_flipped_or_deleted_is_noticed_and_what_is_left_is_saved() {
    let directory = TempDir::new().unwrap();
    let path = killed(&directory).await;
    let log = beside(&path, "-wal");
    let whole = fs::read(&log).unwrap();
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at..at + 64].iter_mut().for_each(|byte| *byte ^= 0xff);
        bytes
    };
    let damages = [
        ("cut in half", whole[..whole.len() / 2].to_vec()),
        ("cut by one frame", whole[..whole.len() - 4_120].to_vec()),
        ("empty", Vec::new()),
        ("flipped in the middle", flipped(whole.len() / 2)),
        ("flipped near the begin", flipped(4_000)),
        ("flipped in its header", flipped(0)),
    ];
    for (damage, bytes) in damages {
        fs::write(&log, &bytes).unwrap();
        let what = refused(&path);
        assert!(
            what.contains("less is there than was stored"),
            "{damage}: {what}"
        );
        let found = missing(&path).await;
        assert!(!found.is_empty(), "{damage}");
        assert!(
            fs::read(&log).unwrap() == bytes,
            "{damage}: looking changes nothing"
        );
        let (sessions, events, lost) = saved(&path).await;
        assert!(
            !lost.is_empty() && events <= 25 && sessions <= 5,
            "{damage}: {sessions} {events} {lost:?}"
        );
    }
    fs::write(&log, &whole).unwrap();
    assert_eq!(
        saved(&path).await,
        (5, 25, Vec::new()),
        "nothing is lost of what is whole"
    );
    drop(SqliteStore::open(&path).unwrap());
    assert_eq!(missing(&path).await, Vec::<String>::new());
}

#[tokio::test]
async fn s_b12_frames_behind_a_damaged_one_are_named_even_without_a_mark_and_mostly_saved() {
    let directory = TempDir::new().unwrap();
    let path = killed(&directory).await;
    fs::remove_file(beside(&path, "-mark")).unwrap();
    let mut log = fs::read(beside(&path, "-wal")).unwrap();
    // A page of the third frame: later frames have newer versions of it, or it is lost.
    log[32 + 2 * 4_120 + 1_000..][..64]
        .iter_mut()
        .for_each(|byte| *byte ^= 0xff);
    fs::write(beside(&path, "-wal"), &log).unwrap();
    let found = missing(&path).await;
    assert!(
        found
            .iter()
            .any(|what| what.contains("the log (-wal) is damaged at frame 3")),
        "{found:?}"
    );
    let (sessions, events, lost) = saved(&path).await;
    assert!(
        sessions >= 4 && events >= 20,
        "{sessions} {events} {lost:?}"
    );
}

#[tokio::test]
async fn s_b12_an_empty_file_beside_its_log_is_not_taken_for_a_new_database() {
    let directory = TempDir::new().unwrap();
    let path = killed(&directory).await;
    let log = fs::read(beside(&path, "-wal")).unwrap();
    for is_there in [true, false] {
        fs::write(&path, "").unwrap();
        if !is_there {
            fs::remove_file(&path).unwrap();
        }
        assert!(refused(&path).contains("is empty or gone, and its log is not"));
        assert!(SqliteStore::open_read_only(&path).is_err());
        assert!(
            fs::read(beside(&path, "-wal")).unwrap() == log,
            "the log is as it was"
        );
    }
    fs::write(&path, "").unwrap();
    fs::remove_file(beside(&path, "-wal")).unwrap();
    assert!(
        refused(&path).contains("is empty: missing are"),
        "the mark knows what was in it"
    );
    fs::remove_file(&path).unwrap();
    drop(SqliteStore::open(&path).unwrap());
    assert_eq!(
        missing(&path).await,
        Vec::<String>::new(),
        "without file and log a new one begins"
    );
}

#[tokio::test]
async fn s_b12_a_file_that_was_cut_off_is_named_and_what_is_left_is_saved() {
    let directory = TempDir::new().unwrap();
    let path = killed(&directory).await;
    drop(SqliteStore::open(&path).unwrap());
    let whole = fs::read(&path).unwrap();
    for pages in 1..=3 {
        fs::write(&path, &whole[..whole.len() - pages * 4_096]).unwrap();
        for error in [
            SqliteStore::open(&path).err(),
            SqliteStore::open_read_only(&path).err(),
        ] {
            let problem = error.unwrap().problem();
            assert!(
                problem.message.contains("is cut off: it has"),
                "{}",
                problem.message
            );
            assert!(problem.fix.unwrap().contains("rooftree doctor salvage"));
        }
        let (sessions, _, _) = saved(&path).await;
        assert!(sessions > 0, "{pages} pages less");
    }
}

#[tokio::test]
async fn s_b12_a_copy_of_the_file_alone_is_noticed_while_it_is_in_use_and_whole_copies_are_not() {
    let directory = TempDir::new().unwrap();
    let live = directory.path().join("live/rooftree.db");
    killed(&directory).await;
    let store = SqliteStore::open(&live).unwrap();
    let id = open(&store, 6).await;
    // The note that a log is needed is put there beside the first writes; each of these waits for the writer.
    let alone = directory.path().join("alone.db");
    for number in 0.. {
        store
            .post(post(&id, &format!("more-{number}"), "hello"))
            .await
            .unwrap();
        copy(&live, &alone, &[""]);
        if !missing(&alone).await.is_empty() {
            break;
        }
        assert!(number < 1_000, "it is never noticed");
    }
    assert!(refused(&alone).contains("copied while it was in use, without its log"));
    let (sessions, _, _) = saved(&alone).await;
    assert!(sessions >= 5, "{sessions}");
    let all = directory.path().join("all.db");
    copy(&live, &all, &["", "-wal"]);
    assert_eq!(missing(&all).await, Vec::<String>::new());
    let backup = directory.path().join("backup.db");
    let source = Connection::open(&live).unwrap();
    source
        .execute("VACUUM INTO ?1", [backup.to_str().unwrap()])
        .unwrap();
    let page_wise = directory.path().join("page-wise.db");
    source.backup("main", &page_wise, None).unwrap();
    drop(source);
    for copied in [&backup, &page_wise] {
        assert_eq!(
            missing(copied).await,
            Vec::<String>::new(),
            "SQLite's own copy is whole"
        );
        assert!(
            SqliteStore::open(copied)
                .unwrap()
                .session(&id)
                .await
                .unwrap()
                .is_some()
        );
    }
}

#[tokio::test]
async fn p_5_a_copy_is_noticed_before_the_first_write_if_that_was_announced() {
    let directory = TempDir::new().unwrap();
    let live = directory.path().join("live/rooftree.db");
    killed(&directory).await;
    let alone = directory.path().join("alone.db");
    let store = SqliteStore::open(&live).unwrap();
    store.prepare();
    until_a_log_is_needed(&live, &alone).await;
    assert!(refused(&alone).contains("copied while it was in use, without its log"));
    drop(store);
    copy(&live, &alone, &[""]);
    assert_eq!(
        missing(&alone).await,
        Vec::<String>::new(),
        "whoever wrote nothing leaves a whole file"
    );
}

#[tokio::test]
async fn s_b12_an_older_copy_put_in_place_is_noticed_until_the_mark_is_removed() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("rooftree.db");
    let store = SqliteStore::open(&path).unwrap();
    let id: SessionId = open(&store, 1).await;
    drop(store);
    let older = fs::read(&path).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    store.post(post(&id, "later", "hello")).await.unwrap();
    drop(store);
    fs::write(&path, older).unwrap();
    assert!(refused(&path).contains("0 of 1 messages"));
    fs::remove_file(beside(&path, "-mark")).unwrap();
    assert_sound(&SqliteStore::open(&path).unwrap()).await;
}

#[tokio::test]
async fn salvage_keeps_the_audit_log() {
    let scene = tempfile::tempdir().unwrap();
    let (from, to) = (scene.path().join("a.db"), scene.path().join("b.db"));
    let who = rooftree_protocol::Principal::local_owner(rooftree_protocol::Surface::Cli);
    let at = rooftree_protocol::Timestamp(1);
    let intent = rooftree_store::AuditEntry::done(&who, at, "trust.add", "/a")
        .in_phase(rooftree_store::AuditPhase::Intent);
    let store = SqliteStore::open(&from).unwrap();
    let number = store.add_audit(intent.clone()).await.unwrap();
    let end = intent.in_phase(rooftree_store::AuditPhase::Completed(number));
    store.add_audit(end).await.unwrap();
    let before = store.audit("default", 0, 9).await.unwrap();
    drop(store);
    let salvaged = salvage(&from, &to).unwrap();
    assert!(
        salvaged.saved.contains(&("audit entries".to_owned(), 2)),
        "{salvaged:?}"
    );
    let saved = SqliteStore::open(&to).unwrap();
    assert_eq!(saved.audit("default", 0, 9).await.unwrap(), before);
}

#[tokio::test]
async fn salvage_keeps_persons_and_revoked_tokens_revoked() {
    let scene = tempfile::tempdir().unwrap();
    let (from, to) = (scene.path().join("a.db"), scene.path().join("b.db"));
    let at = rooftree_protocol::Timestamp(1);
    let account = |person: &str| rooftree_protocol::Account {
        person: person.into(),
        ..Default::default()
    };
    let token = |id: &str, person: &str| rooftree_store::AccessTokenRow {
        id: id.into(),
        account: account(person),
        name: "a device".into(),
        digest: rooftree_store::TokenHash::of(id),
        scopes: rooftree_protocol::AccessScopes::default(),
        agents: None,
        created_at: at,
        expires_at: None,
        revoked_at: None,
        used_at: None,
    };
    let store = SqliteStore::open(&from).unwrap();
    let ann = rooftree_store::PersonRow {
        account: account("ann"),
        name: "Ann".into(),
        role: rooftree_store::PersonRole::Member,
        invited_at: at,
        disabled_at: None,
    };
    store.put_person(ann, None, None).await.unwrap();
    for (id, person) in [("tok_1", "owner"), ("tok_2", "ann"), ("tok_3", "owner")] {
        store
            .put_access_token(token(id, person), None)
            .await
            .unwrap();
    }
    assert!(
        store
            .disable_person(&account("ann"), at, None)
            .await
            .unwrap()
    );
    let revoked = store
        .revoke_access_token("default", "tok_1", at, None)
        .await;
    assert!(revoked.unwrap());
    let before = store.access_tokens("default").await.unwrap();
    let persons = store.persons("default").await.unwrap();
    drop(store);
    salvage(&from, &to).unwrap();
    let saved = SqliteStore::open(&to).unwrap();
    assert_eq!(saved.access_tokens("default").await.unwrap(), before);
    assert_eq!(saved.persons("default").await.unwrap(), persons);
}

#[tokio::test]
async fn salvage_ends_a_journal_where_it_is_not_proven_any_more() {
    let directory = TempDir::new().unwrap();
    let path = killed(&directory).await;
    drop(SqliteStore::open(&path).unwrap());
    let meddled = Connection::open(&path).unwrap();
    meddled
        .execute_batch(
            "UPDATE journal SET data = json_set(data, '$.text', 'never said') WHERE session = 2 AND seq = 3;
             UPDATE blob SET bytes = x'00' WHERE rowid = 1; DELETE FROM inbox WHERE session = 3 AND position = 1",
        )
        .unwrap();
    drop(meddled);
    let (sessions, events, lost) = saved(&path).await;
    assert_eq!((sessions, events), (5, 22), "{lost:?}");
    assert!(
        lost.iter()
            .any(|lost| lost.contains("3 events after event 2 cannot be read")),
        "{lost:?}"
    );
    assert!(
        lost.iter().any(|lost| lost.ends_with("is damaged")),
        "{lost:?}"
    );
}
