//! An answer that is on its way.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::sync::oneshot;

use crate::Error;

/// Resolves when the store has done it. Dropping it does not take the work back.
#[must_use = "a write is queued already; await it where a promise is made, or call `later`"]
pub struct Pending<T>(oneshot::Receiver<Result<T, Error>>);

/// Where a store puts the answer.
pub type Answer<T> = oneshot::Sender<Result<T, Error>>;

impl<T> Pending<T> {
    /// An answer to come, and where to put it.
    pub fn new() -> (Answer<T>, Self) {
        let (tx, rx) = oneshot::channel();
        (tx, Self(rx))
    }

    /// An answer that is known already.
    pub fn ready(answer: Result<T, Error>) -> Self {
        let (tx, pending) = Self::new();
        // The other end is held right here.
        let _ = tx.send(answer);
        pending
    }

    /// Blocks the thread until the answer is there; only for threads of a store's own.
    pub(crate) fn wait(self) -> Result<T, Error> {
        self.0.blocking_recv().unwrap_or_else(|_| Err(closed()))
    }

    /// Says on purpose that nobody waits for this one.
    pub fn later(self) {}
}

impl<T> Future for Pending<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map(|answer| answer.unwrap_or_else(|_| Err(closed())))
    }
}

fn closed() -> Error {
    Error::Failed("the store was closed".into())
}
