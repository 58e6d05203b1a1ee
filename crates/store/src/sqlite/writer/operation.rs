//! Write operations and the handle that queues them for the writer.

use rusqlite::Connection;

use super::write_queue::QueueSender;
use crate::{Error, Pending, pending::PendingSender};

/// Something to be done inside a transaction. It may be attempted again if the transaction
/// was lost for a reason that is not its own.
pub(crate) trait WriteOperation: Send {
    fn promise(&self) -> Durability;
    fn attempt(&mut self, connection: &Connection) -> Result<(), Error>;
    fn answer(self: Box<Self>, committed: Result<(), Error>);
}

/// What an acknowledged write survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// A power failure.
    Disk,
    /// The end of this process: all other processes see the write. A power failure may lose it, but also ends the
    /// process that it is about.
    Sight,
}

struct QueuedWrite<T, F> {
    work: F,
    promise: Durability,
    outcome: Option<Result<T, Error>>,
    answer: PendingSender<T>,
}

impl<T, F> WriteOperation for QueuedWrite<T, F>
where
    T: Send,
    F: FnMut(&Connection) -> Result<T, Error> + Send,
{
    fn promise(&self) -> Durability {
        self.promise
    }

    fn attempt(&mut self, connection: &Connection) -> Result<(), Error> {
        let outcome = (self.work)(connection);
        let told = outcome.as_ref().map(|_| ()).map_err(Clone::clone);
        self.outcome = Some(outcome);
        told
    }

    fn answer(self: Box<Self>, committed: Result<(), Error>) {
        let Self {
            outcome, answer, ..
        } = *self;
        let never = || Err(Error::Failed("the write was not attempted".into()));
        // A send error means that the caller dropped its `Pending`: it wants no answer.
        let _ = answer.send(committed.and_then(|()| outcome.unwrap_or_else(never)));
    }
}

/// A message to the writer.
pub(super) enum WriterMessage {
    Operation(Box<dyn WriteOperation>),
    /// There is a subscriber to other processes' commits from now on.
    Watched,
    /// Writes will follow soon: what the first of them would need besides may be done now.
    Prepare,
}

/// Handle of the writer's queue.
#[derive(Clone)]
pub(crate) struct WriterHandle(pub(super) QueueSender<WriterMessage>);

impl WriterHandle {
    /// Queues a write; the order of calls is the order of commits.
    pub(crate) fn write<T, F>(&self, work: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T, Error> + Send + 'static,
    {
        self.write_for(Durability::Disk, work)
    }

    /// Queues a write with the given durability.
    pub(crate) fn write_for<T, F>(&self, promise: Durability, work: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T, Error> + Send + 'static,
    {
        let (answer, pending) = Pending::new();
        // If the thread is gone, dropping the answer says that the store was closed.
        let operation = WriterMessage::Operation(Box::new(QueuedWrite {
            work,
            promise,
            outcome: None,
            answer,
        }));
        match promise {
            Durability::Disk => self.0.put(operation),
            Durability::Sight => self.0.put_urgent(operation),
        }
        pending
    }

    /// Queues a write that is batched with the next one, or written by itself as soon as its answer is awaited.
    pub(crate) fn write_batched<T, F>(&self, work: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T, Error> + Send + 'static,
    {
        let (answer, pending) = Pending::batched(self.0.waker());
        let promise = Durability::Disk;
        self.0
            .put_without_wake(WriterMessage::Operation(Box::new(QueuedWrite {
                work,
                promise,
                outcome: None,
                answer,
            })));
        pending
    }

    /// Tells the writer that there is a subscriber to other processes' commits from now on.
    pub(crate) fn watched(&self) {
        self.0.put(WriterMessage::Watched);
    }

    /// Tells the writer that writes will follow.
    pub(crate) fn prepare(&self) {
        self.0.put_urgent(WriterMessage::Prepare);
    }
}

/// An operation that does nothing, for tests.
#[cfg(test)]
pub(super) fn noted(answer: PendingSender<()>) -> Box<dyn WriteOperation> {
    Box::new(QueuedWrite {
        work: |_: &Connection| Ok(()),
        promise: Durability::Disk,
        outcome: Some(Ok(())),
        answer,
    })
}
