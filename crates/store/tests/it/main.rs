//! The store's tests over real files and real processes.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod backup;
mod conformance;
mod corruption;
mod fixture;
mod foreground;
mod full_disk;
mod loss;
mod processes;
mod reopen;
mod scene;
mod two_stores;

#[cfg(feature = "failpoints")]
mod failpoints;
