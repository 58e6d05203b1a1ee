//! Backups of a database in use, and restoring them.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use rooftree_protocol::{Account, Principal, Surface};
use rooftree_store::{
    AuditEntry, Error, OutboxBody, OutboxKind, OutboxPost, OutboxState, OutboxWish, PartReceipt,
    SqliteStore, WorkerClaimOutcome,
    prelude::*,
    sqlite::{
        backup::backup,
        restore::{RestoreRequest, restore},
    },
};
use tempfile::TempDir;

use crate::scene::{self, NOW, conversation, open};

const MINUTE: Duration = Duration::from_secs(60);

/// A database with a session, and blobs of 20 MB.
async fn filled(path: &Path) -> SqliteStore {
    let store = SqliteStore::open(path).unwrap();
    let id = open(&store, 1).await;
    let claim = scene::claim(&store, &id).await;
    conversation(&store, &claim, 1, 0).await;
    for number in 0..20_u8 {
        store.put_blob(vec![number; 1_048_576]).await.unwrap();
    }
    store
}

fn request(directory: &TempDir, from: &Path, database: &Path) -> RestoreRequest {
    let who = Principal::local_owner(Surface::Cli);
    RestoreRequest {
        from: from.to_owned(),
        database: database.to_owned(),
        aside: directory.path().join("aside.db"),
        audit: AuditEntry::done(&who, NOW, "store.restore", "backup.db"),
    }
}

async fn sessions(path: &Path) -> usize {
    let store = SqliteStore::open_read_only(path).unwrap();
    assert_eq!(store.integrity_problems(), [""; 0]);
    store.sessions(Default::default()).await.unwrap().len()
}

fn left_over(directory: &TempDir) -> Vec<PathBuf> {
    let all = fs::read_dir(directory.path()).unwrap();
    let all = all.map(|entry| entry.unwrap().path());
    let is_left = |path: &PathBuf| path.to_string_lossy().contains("partial");
    all.filter(is_left).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_one_moment_and_writers_do_not_make_it_begin_anew() {
    let directory = TempDir::new().unwrap();
    let (live, copy) = (
        directory.path().join("rooftree.db"),
        directory.path().join("copy.db"),
    );
    let store = filled(&live).await;
    let (mut steps, mut last) = (0, 0);
    let runtime = tokio::runtime::Handle::current();
    let report = tokio::task::block_in_place(|| {
        backup(&live, &copy, &mut |progress| {
            steps += 1;
            assert!(progress.done >= last, "it began anew");
            last = progress.done;
            // Another session is opened between two steps.
            runtime.block_on(open(&store, 100 + steps));
        })
    });
    let report = report.unwrap();
    assert!(steps >= 2, "{steps}");
    assert!(report.verified.violations.is_empty());
    assert_eq!(sessions(&copy).await, 1, "as it was at the beginning");
    assert!(left_over(&directory).is_empty());
    // Nothing is replaced.
    assert!(matches!(
        backup(&live, &copy, &mut |_| ()),
        Err(Error::Failed(_))
    ));
}

#[tokio::test]
async fn a_restored_database_has_the_blobs_its_claims_are_free_and_the_audit_tells_it() {
    let directory = TempDir::new().unwrap();
    let (live, copy) = (
        directory.path().join("rooftree.db"),
        directory.path().join("copy.db"),
    );
    let store = filled(&live).await;
    backup(&live, &copy, &mut |_| ()).unwrap();
    open(&store, 2).await;
    let request = request(&directory, &copy, &live);
    let refused = restore(&request, &mut |_| ());
    assert!(matches!(refused, Err(Error::InUse(_))), "{refused:?}");
    drop(store);
    restore(&request, &mut |_| ()).unwrap();
    assert_eq!(sessions(&live).await, 1);
    assert_eq!(sessions(&request.aside).await, 2, "the old one is kept");
    let store = SqliteStore::open(&live).unwrap();
    let blob = rooftree_store::blob_id(&vec![7; 1_048_576]);
    assert_eq!(store.blob(&blob).await.unwrap().unwrap().len(), 1_048_576);
    let audit = store.audit("default", 0, 10).await.unwrap();
    assert_eq!(audit.last().unwrap().entry.action, "store.restore");
    // The backup was made while the session was claimed; the claim can be taken at once.
    scene::claim(&store, &scene::session_id(1)).await;
    let connection = rusqlite::Connection::open(&live).unwrap();
    let mode: String = connection
        .query_row("PRAGMA journal_mode", [], |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "wal");
    assert!(left_over(&directory).is_empty());
}

#[tokio::test]
async fn a_damaged_backup_is_refused_wherever_it_is_damaged_and_nothing_changes() {
    let directory = TempDir::new().unwrap();
    let (live, copy) = (
        directory.path().join("rooftree.db"),
        directory.path().join("copy.db"),
    );
    drop(filled(&live).await);
    backup(&live, &copy, &mut |_| ()).unwrap();
    let (whole, before) = (fs::read(&copy).unwrap(), fs::read(&live).unwrap());
    let request = request(&directory, &copy, &live);
    let mut flipped = whole.clone();
    *flipped.get_mut(whole.len() / 2).unwrap() ^= 1;
    let (half, _) = whole.split_at(whole.len() / 2);
    for (what, bytes) in [
        ("a flipped bit", flipped),
        ("cut off", half.to_vec()),
        ("no database", b"words words words words".to_vec()),
        ("empty", Vec::new()),
    ] {
        fs::write(&copy, bytes).unwrap();
        assert!(restore(&request, &mut |_| ()).is_err(), "{what}");
        assert!(fs::read(&live).unwrap() == before, "{what}");
        assert!(!request.aside.exists() && left_over(&directory).is_empty());
    }
}

#[tokio::test]
async fn a_damaged_database_is_replaced_and_kept_with_its_log() {
    let directory = TempDir::new().unwrap();
    let (live, copy) = (
        directory.path().join("rooftree.db"),
        directory.path().join("copy.db"),
    );
    drop(filled(&live).await);
    backup(&live, &copy, &mut |_| ()).unwrap();
    fs::write(&live, "words").unwrap();
    fs::write(directory.path().join("rooftree.db-wal"), "more words").unwrap();
    let request = request(&directory, &copy, &live);
    restore(&request, &mut |_| ()).unwrap();
    assert_eq!(sessions(&live).await, 1);
    assert_eq!(fs::read_to_string(&request.aside).unwrap(), "words");
}

#[tokio::test]
async fn what_was_to_be_sent_when_a_backup_was_made_waits_for_a_person_after_it_is_restored() {
    let directory = TempDir::new().unwrap();
    let (live, copy) = (
        directory.path().join("rooftree.db"),
        directory.path().join("copy.db"),
    );
    let store = SqliteStore::open(&live).unwrap();
    let post = |name: &str, kind| OutboxPost {
        id: format!("out_{name}"),
        key: name.into(),
        account: Account::default(),
        session: None,
        run: None,
        kind,
        target: format!("home:{name}").parse().unwrap(),
        body: OutboxBody::Text { text: name.into() },
        at: NOW,
    };
    for name in ["new", "begun", "sent"] {
        let post = store.post_outbox(post(name, OutboxKind::Notice), None);
        post.await.unwrap();
    }
    let line = store.post_outbox(post("line", OutboxKind::Progress), None);
    line.await.unwrap();
    let owner = rooftree_store::Owner::this_process();
    let claimed = store.claim_worker("delivery:home", &owner, NOW, NOW.after(MINUTE));
    let WorkerClaimOutcome::Granted(claim) = claimed.await.unwrap() else {
        panic!("another one has it");
    };
    for name in ["out_begun", "out_sent"] {
        let parts = vec!["part".to_owned()];
        store.plan_outbox(&claim, name, parts).await.unwrap();
        let begun = store.begin_part(&claim, name, 0, "part".into());
        assert!(begun.await.unwrap());
    }
    let receipt = PartReceipt {
        id: "out_sent".into(),
        part: 0,
        platform_id: "1".into(),
        at: NOW,
    };
    store.part_sent(&claim, receipt).await.unwrap();
    backup(&live, &copy, &mut |_| ()).unwrap();
    drop(store);
    restore(&request(&directory, &copy, &live), &mut |_| ()).unwrap();
    let store = SqliteStore::open(&live).unwrap();
    let mut states = Vec::new();
    for name in ["new", "begun", "sent", "line"] {
        let row = store.outbox_by_key(name).await.unwrap().unwrap();
        states.push((row.state, row.is_restored()));
    }
    assert_eq!(
        states,
        [
            (OutboxState::Unknown, true),
            (OutboxState::Unknown, true),
            (OutboxState::Sent, false),
            (OutboxState::Superseded, false)
        ]
    );
    let heads = store.outbox_heads("home", NOW, 9).await.unwrap();
    assert!(heads.due.is_empty(), "nothing is sent by itself");
    let retried = store.change_outbox("out_begun", OutboxWish::Retry, NOW, None);
    let retried = retried.await.unwrap().unwrap();
    let part = retried.parts.first().unwrap();
    assert_eq!(part.state, OutboxState::Unknown, "so it gets a label");
}
