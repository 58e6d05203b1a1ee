//! Integration tests of connectors against servers on loopback.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, in its helpers too"
)]

mod conformance;
#[cfg(feature = "discord")]
mod discord_gateway;
mod external;
mod loopback;
mod telegram_poll;
mod telegram_send;
mod telegram_updates;
mod webhook;
