//! The [`Store`] trait: the contract of every store, tested by `conformance`.

mod access;
mod board;
mod connectors;
mod inbox;
mod outbox;
mod questions;
mod rows;
mod schedules;
mod sessions;
mod tasks;
mod workers;

use tokio::sync::watch;

pub use self::access::AccessStore;
pub use self::board::BoardStore;
pub use self::connectors::ConnectorStore;
pub use self::inbox::InboxStore;
pub use self::outbox::OutboxStore;
pub use self::questions::QuestionStore;
pub use self::rows::RowStore;
pub use self::schedules::ScheduleStore;
pub use self::sessions::SessionStore;
pub use self::tasks::TaskStore;
pub use self::workers::WorkerStore;
use crate::{Pending, verify::VerifyReport};

/// Durable storage of sessions, inboxes, journals, claims and tasks.
///
/// Contract. Writes are queued the moment the method is called, in call order, and each is
/// atomic: all of it or nothing. The returned [`Pending`] resolves when the write is on disk;
/// dropping it does not take the write back. So a caller that needs no promise goes on at
/// once, and awaiting any later write of the same store means all earlier ones are through.
/// Whatever is lost in a crash is a suffix of that order. Reads see all that was committed
/// when they run. A claim is about a living process, which a power failure ends too: `claim`,
/// `renew` and `release` resolve as soon as every other process sees them. A write whose claim was lost resolves to
/// [`Error::Fenced`](crate::Error) and changes nothing.
pub trait Store:
    SessionStore
    + InboxStore
    + QuestionStore
    + TaskStore
    + RowStore
    + AccessStore
    + BoardStore
    + ConnectorStore
    + OutboxStore
    + WorkerStore
    + ScheduleStore
    + Send
    + Sync
{
    /// Checks every invariant on what is stored. Read-only.
    fn verify(&self) -> Pending<VerifyReport>;

    /// Resolves once every commit visible now is fsynced. Await it before publishing what you read.
    fn settled(&self) -> Pending<()>;

    /// Fires after another process committed something. A hint: may fire for nothing and may
    /// fold several commits into one. What this process commits it knows without being told.
    fn changes(&self) -> watch::Receiver<u64>;
}
