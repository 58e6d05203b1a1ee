//! Connectors against an emulator of chat platforms that other people wrote (npm crabline); needs ROOFTREE_EMULATORS.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, in its helpers too"
)]

mod discord;
mod emulator;
#[path = "../it/loopback.rs"]
#[allow(dead_code, reason = "the other tests use the rest")]
mod loopback;
mod telegram;
#[path = "../../../markdown/tests/it/texts.rs"]
mod texts;
