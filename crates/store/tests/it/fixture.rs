//! Data of an earlier version (commit fae9945): it is opened, migrated, verified and continued.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use flate2::read::GzDecoder;
use rooftree_store::{
    BoardQuery, Error, RunFilter, SessionFilter, SqliteStore, TaskStatus, prelude::*,
    sqlite::salvage::salvage,
};
use tempfile::TempDir;

use crate::scene::{self, assert_sound, post};

/// The database and its log, as they were left.
fn unpacked(directory: &TempDir) -> PathBuf {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fae9945");
    let path = directory.path().join("rooftree.db");
    for end in ["", "-wal"] {
        let packed = File::open(fixture.join(format!("rooftree.db{end}.gz"))).unwrap();
        let mut file = File::create(format!("{}{end}", path.display())).unwrap();
        io::copy(&mut GzDecoder::new(packed), &mut file).unwrap();
    }
    path
}

#[tokio::test]
async fn data_of_an_earlier_version_is_migrated_verified_and_continued() {
    let directory = TempDir::new().unwrap();
    let path = unpacked(&directory);
    let looked = SqliteStore::open_read_only(&path).err().unwrap();
    assert!(
        matches!(looked, Error::Older(6, SqliteStore::SCHEMA)),
        "{looked:?}"
    );
    let store = SqliteStore::open(&path).unwrap();
    assert_sound(&store).await;
    let live = store.sessions(SessionFilter::default()).await.unwrap();
    let top = live
        .iter()
        .filter(|session| session.parent.is_none())
        .count();
    assert!(top == 9 && live.len() > 9, "{top} {}", live.len());
    assert!(
        live.iter()
            .any(|session| session.name.as_deref() == Some("renamed one (2)"))
    );
    assert!(live.iter().any(|session| session.forked_from.is_some()));
    let deleted = SessionFilter {
        deleted: true,
        ..SessionFilter::default()
    };
    assert_eq!(
        store.sessions(deleted).await.unwrap().len(),
        3,
        "one of them by hand, two by an import that failed"
    );
    assert_eq!(
        store.unfinished().await.unwrap().len(),
        3,
        "each that was killed is picked up"
    );
    assert_eq!(
        store.inquiries(None).await.unwrap().len(),
        1,
        "the permission is still asked for"
    );
    assert_eq!(store.rules().await.unwrap().1.len(), 1);
    let tasks = store
        .tasks(rooftree_store::TaskFilter::default())
        .await
        .unwrap();
    assert_eq!(
        tasks
            .iter()
            .filter(|task| task.status == TaskStatus::Running)
            .count(),
        1
    );
    assert_eq!(store.search("holes", 10).await.unwrap().len(), 6);
    let board = store
        .board(BoardQuery {
            reader: Default::default(),
            person: None,
            agents: None,
            rest: 50,
            after: None,
        })
        .await
        .unwrap()
        .records;
    assert_eq!(board.len(), top, "every root session is on the board");
    let open = board
        .iter()
        .filter(|row| row.activity.run.is_some())
        .count();
    let asking: usize = board.iter().map(|row| row.inquiries.len()).sum();
    let ended = board
        .iter()
        .filter(|row| row.activity.last.is_some())
        .count();
    assert!(
        open > 0 && ended > 0 && asking == 1,
        "{open} {ended} {asking}"
    );
    assert!(
        board.iter().all(|row| row.read_upto == row.session.head),
        "what happened before there was a board counts as seen"
    );
    let mut blobs = 0;
    for session in &live {
        for event in store.events(&session.id, 0, 1_000).await.unwrap() {
            if let rooftree_protocol::EventBody::ToolCompleted(record) = event.body
                && let Some(full) = record.full
            {
                blobs += 1;
                assert!(
                    store
                        .blob(&full)
                        .await
                        .unwrap()
                        .is_some_and(|bytes| bytes.len() > 100_000)
                );
            }
        }
    }
    assert_eq!(blobs, 1);
    assert!(store.runs(RunFilter::default()).await.unwrap().len() > 8);
    let named = live
        .iter()
        .find(|session| session.name.as_deref() == Some("renamed one"))
        .unwrap();
    let claim = scene::claim(&store, &named.id).await;
    store.post(post(&named.id, "later", "go on")).await.unwrap();
    store.release(claim).await.unwrap();
    assert_sound(&store).await;
    drop(store);
    let store = SqliteStore::open_read_only(&path).unwrap();
    assert!(
        store.integrity_problems().is_empty(),
        "{:?}",
        store.integrity_problems()
    );
    assert_sound(&store).await;
    assert_eq!(store.unfinished().await.unwrap().len(), 4);
}

#[tokio::test]
async fn damaged_data_of_an_earlier_version_is_saved_in_the_present_form() {
    let directory = TempDir::new().unwrap();
    let path = unpacked(&directory);
    let log = format!("{}-wal", path.display());
    let whole = fs::read(&log).unwrap();
    for kept in [whole.len(), whole.len() / 2] {
        fs::write(&log, &whole[..kept]).unwrap();
        let to = directory.path().join(format!("saved-{kept}.db"));
        salvage(&path, &to).unwrap();
        let store = SqliteStore::open(&to).unwrap();
        assert_sound(&store).await;
        assert!(
            store
                .sessions(SessionFilter::default())
                .await
                .unwrap()
                .len()
                > 5
        );
    }
}
