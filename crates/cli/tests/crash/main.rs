//! The crash test: the real program is killed with `kill -9` again and again, and nothing may be lost or done twice.
//!
//! `docs/durability.md` says what is killed where and what is checked. Run it with
//! `cargo test -p rooftree-cli --features failpoints --test crash`.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, in its helpers too"
)]

mod assistant;
mod audit;
mod board;
mod bot_api;
mod commits;
mod controls;
mod delegation;
mod fixture;
mod full_disk;
mod kills;
mod notebook;
mod outbox;
mod permission;
mod poster;
mod restoring;
mod secrets;
mod spawn_request;
mod tally;
mod twenty_processes;
mod undo;
mod verifying;
mod window;
mod worker;
