//! Real programs, started, bounded and ended for real.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on ends"
)]

mod ancestry;
mod crash;
mod ending;
mod leftovers;
mod listening;
mod sandbox;
mod shell;
