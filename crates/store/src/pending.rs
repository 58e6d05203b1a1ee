//! [`Pending`]: the future of a queued store operation.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use tokio::sync::oneshot;

use crate::Error;

/// Resolves when the store has done it. Dropping it does not take the work back.
#[must_use = "a write is queued already; await it where a promise is made, or call `detach`"]
pub struct Pending<T> {
    answer: oneshot::Receiver<Result<T, Error>>,
    /// Waker of the worker that does the work; woken on the first poll or wait, or on drop. None if it needs no
    /// wake-up.
    idle: Option<Waker>,
}

/// Where a store puts the answer.
pub type PendingSender<T> = oneshot::Sender<Result<T, Error>>;

impl<T> Pending<T> {
    /// An answer to come, and where to put it.
    pub fn new() -> (PendingSender<T>, Self) {
        let (tx, answer) = oneshot::channel();
        (tx, Self { answer, idle: None })
    }

    /// The same for work that may wait a little to be batched: its worker is woken when this is first awaited, or
    /// dropped.
    pub fn batched(idle: Waker) -> (PendingSender<T>, Self) {
        let (tx, mut pending) = Self::new();
        pending.idle = Some(idle);
        (tx, pending)
    }

    /// An answer that is known already.
    pub fn ready(answer: Result<T, Error>) -> Self {
        let (tx, pending) = Self::new();
        // The other end is held right here.
        let _ = tx.send(answer);
        pending
    }

    /// Blocks the thread until the answer is there; only for threads of a store's own.
    pub(crate) fn wait(mut self) -> Result<T, Error> {
        self.begin();
        let (_, nothing) = oneshot::channel();
        std::mem::replace(&mut self.answer, nothing)
            .blocking_recv()
            .unwrap_or_else(|_| Err(closed()))
    }

    /// Makes explicit that the caller does not wait for this one.
    pub fn detach(self) {}

    fn begin(&mut self) {
        if let Some(idle) = self.idle.take() {
            idle.wake();
        }
    }
}

impl<T> Drop for Pending<T> {
    fn drop(&mut self) {
        self.begin();
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.begin();
        Pin::new(&mut self.answer)
            .poll(cx)
            .map(|answer| answer.unwrap_or_else(|_| Err(closed())))
    }
}

fn closed() -> Error {
    Error::Failed("the store was closed".into())
}
