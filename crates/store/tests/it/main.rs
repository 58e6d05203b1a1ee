//! The store's tests over real files and real processes.

mod conformance;
mod corruption;
mod full_disk;
mod processes;
mod reopen;
mod scene;
mod two_stores;

#[cfg(feature = "failpoints")]
mod failpoints;
