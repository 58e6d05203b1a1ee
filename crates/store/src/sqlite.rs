//! The default store: one SQLite file.
//!
//! Writes go through a single writer connection (`sqlite/writer.rs`), reads through a pool of threads
//! (`sqlite/reader_pool.rs`). Each file below holds the SQL of one kind of row.

mod access;
mod activity;
mod agents;
mod append;
mod audit;
pub mod backup;
mod blobs;
mod board;
mod change_poller;
mod claim_check;
mod claims;
mod column;
mod commands;
mod connect;
mod connector_store;
mod connectors;
mod database_guard;
mod delivery_traits;
mod durability_mark;
mod encoded_event;
mod errors;
mod foreground;
mod inbox;
mod inbox_changes;
mod inbox_counters;
mod inquiries;
mod journal;
mod open;
mod outbox;
mod outbox_delivery;
mod partial_file;
mod read_marks;
mod reader_pool;
pub mod restore;
mod rules;
mod runs;
pub mod salvage;
mod schedules;
mod schema;
mod search;
mod sessions;
mod shared_text;
mod store_traits;
mod task_output;
mod tasks;
mod unfinished;
mod usage;
mod verify;
mod wal_file;
mod worker_claims;
mod writer;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rusqlite::Connection;

use self::{
    append::EncodedBatch,
    change_poller::ChangeNotifier,
    claim_check::ClaimProof,
    inbox::EncodedPost,
    inbox_counters::RecipientFilter,
    reader_pool::ReaderPool,
    writer::{Durability, Writer, WriterHandle},
};
use crate::{Claim, Error, InboxPost, Pending, PostReceipt};

/// A store in one SQLite file. Dropping it finishes the writes that are queued; the last one to be dropped, over all
/// processes, moves the log into the file, which is whole by itself then.
pub struct SqliteStore {
    // Before the writer: a reader may be waiting for it.
    readers: Arc<ReaderPool>,
    writer: Option<Writer>,
    changes: Arc<ChangeNotifier>,
    path: PathBuf,
    /// What is missing or damaged, found when it was opened to be read.
    found: Vec<String>,
    // Dropped last: the final checkpoint needs all connections closed.
    _leaving: Option<open::CheckpointOnDrop>,
}

impl SqliteStore {
    /// The version of the tables. A database that could be opened has it.
    pub const SCHEMA: i64 = schema::VERSION;

    /// The file it is in.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is missing from the database, or damaged in its log, in words.
    pub fn integrity_problems(&self) -> &[String] {
        &self.found
    }

    /// Says that writes and reads will follow soon. What the first ones would wait for is done in the background: the log
    /// is begun, the database file says that it needs one, and a connection for reads is opened.
    pub fn prepare(&self) {
        if let Some(queue) = self.queue() {
            queue.prepare();
        }
        self.read(|_| Ok(())).detach();
    }

    fn queue(&self) -> Option<&WriterHandle> {
        self.writer.as_ref().and_then(Writer::queue)
    }

    fn write<T, F>(&self, work: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T, Error> + Send + 'static,
    {
        self.write_for(Durability::Disk, work)
    }

    fn write_for<T, F>(&self, promise: Durability, work: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T, Error> + Send + 'static,
    {
        self.queue()
            .map_or_else(read_only, |queue| queue.write_for(promise, work))
    }

    fn post_to(&self, reach: RecipientFilter, post: InboxPost) -> Pending<PostReceipt> {
        match EncodedPost::encode(post) {
            Ok(letter) => self.write(move |connection| inbox::post(connection, &letter, reach)),
            Err(error) => Pending::ready(Err(error)),
        }
    }

    fn append_encoded(&self, claim: &Claim, sealed: Result<EncodedBatch, Error>) -> Pending<()> {
        let proof = ClaimProof::from(claim);
        match sealed {
            Ok(sealed) => {
                let work =
                    move |connection: &Connection| append::append(connection, &proof, &sealed);
                // An agent seldom waits for one alone: a reply and the calls it asks for are one commit.
                self.queue()
                    .map_or_else(read_only, |queue| queue.write_batched(work))
            }
            Err(error) => Pending::ready(Err(error)),
        }
    }

    fn read<T, F>(&self, work: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    {
        self.readers.read(work)
    }
}

fn read_only<T>() -> Pending<T> {
    Pending::ready(Err(Error::Failed(
        "the database was opened read-only".into(),
    )))
}
