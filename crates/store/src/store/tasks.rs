//! Background tasks, what their processes wrote, and blobs. Part of [`Store`](crate::Store).

use rooftree_protocol::{Account, BlobId, SessionId, Timestamp};

use crate::{OutputPiece, Pending, TaskFilter, TaskRow};

/// Background tasks, what their processes wrote, and blobs.
pub trait TaskStore: Send + Sync {
    /// Inserts or replaces a task by its id. One that has ended is not begun again.
    fn put_task(&self, task: TaskRow) -> Pending<()>;

    /// Keeps a piece of what a task's process wrote. Of one process the last half a MiB is kept, of one
    /// session the last 64 processes.
    fn put_output(&self, task: &str, piece: OutputPiece) -> Pending<()>;

    /// Keeps bytes under the name of their content.
    fn put_blob(&self, bytes: Vec<u8>) -> Pending<BlobId>;

    /// The same, and keeps who uploaded them.
    fn put_upload(&self, bytes: Vec<u8>, by: Account, at: Timestamp) -> Pending<BlobId>;

    /// Whether this person uploaded these bytes.
    fn is_upload_of(&self, blob: &BlobId, by: &Account) -> Pending<bool>;

    /// Whether an event of the session, inherited ones included, or a message in its inbox names these bytes.
    fn names_blob(&self, session: &SessionId, blob: &BlobId) -> Pending<bool>;

    /// One task by its id, or by a unique suffix of it.
    fn task(&self, id: &str) -> Pending<Option<TaskRow>>;

    /// Tasks, newest first.
    fn tasks(&self, filter: TaskFilter) -> Pending<Vec<TaskRow>>;

    /// What a task's process wrote and is still kept: the pieces that end after so many bytes, in order.
    fn output(&self, task: &str, after: u64) -> Pending<Vec<OutputPiece>>;

    /// The last piece of what a task's process wrote.
    fn last_output(&self, task: &str) -> Pending<Option<OutputPiece>>;

    /// Stored bytes, those of writes that are queued included: an id that was told can be read at once.
    fn blob(&self, id: &BlobId) -> Pending<Option<Vec<u8>>>;
}
