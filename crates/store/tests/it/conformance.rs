//! The conformance suite over SQLite.

use std::sync::Arc;

use rooftree_store::{SqliteStore, conformance};
use tempfile::TempDir;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_keeps_every_promise() {
    let directory = TempDir::new().unwrap();
    let count = std::cell::Cell::new(0);
    conformance::run(|| {
        count.set(count.get() + 1);
        Arc::new(SqliteStore::open(directory.path().join(format!("{}.db", count.get()))).unwrap())
    })
    .await;
}
