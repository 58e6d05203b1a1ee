//! Stories: a scripted model, a real runtime, a real store, a virtual clock.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod cancel;
mod compaction;
mod limits;
mod order;
mod parallel;
mod permissions;
mod properties;
mod recovery;
mod retry;
mod sessions;
mod steer;
mod todos;
mod wires;
