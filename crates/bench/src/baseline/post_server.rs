//! Minimal HTTP server that stores what is posted: axum, and one durable row per request before it answers.

use std::{
    path::Path,
    sync::mpsc::{self, Receiver, SyncSender},
    thread,
};

use anyhow::{Context, Result};
use axum::{Router, extract::State, http::StatusCode, routing::post};
use tokio::{net::TcpListener, sync::oneshot};

use super::DurableTable;
use crate::machine;

/// Maximum rows per commit, as in our own writer.
const TOGETHER: usize = 128;

/// A row that is to be stored, and who waits for it.
type PostedRow = (String, oneshot::Sender<()>);

/// Serves until the process is killed. Prints its address first.
pub fn serve(directory: &Path) -> Result<()> {
    let ledger = DurableTable::open(&directory.join("bare.db"))?;
    let (rows, queued) = mpsc::sync_channel(4_096);
    thread::spawn(move || write(&ledger, &queued));
    machine::multi_thread_runtime()?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("http://{}", listener.local_addr()?);
        let router = Router::new().route("/", post(store)).with_state(rows);
        axum::serve(listener, router).await.context("serve")
    })
}

async fn store(State(rows): State<SyncSender<PostedRow>>, body: String) -> (StatusCode, String) {
    let (stored, done) = oneshot::channel();
    let is_stored = rows.send((body, stored)).is_ok() && done.await.is_ok();
    match is_stored {
        true => (StatusCode::ACCEPTED, "{\"ok\":true}".to_owned()),
        false => (StatusCode::INTERNAL_SERVER_ERROR, String::new()),
    }
}

/// Commits what is there together.
fn write(ledger: &DurableTable, queued: &Receiver<PostedRow>) {
    while let Ok(first) = queued.recv() {
        let mut rows = vec![first];
        rows.extend(queued.try_iter().take(TOGETHER - 1));
        if ledger
            .commit(rows.iter().map(|(data, _)| data.as_str()))
            .is_err()
        {
            return;
        }
        for (_, stored) in rows {
            // A client that went away needs no answer.
            let _ = stored.send(());
        }
    }
}
