//! Shell lines: the grammar against a real bash, and what is known about programs.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on ends"
)]

mod bash;
mod dice;
mod effects;
mod fuzz;
mod grammar;
mod looking;
mod oracle;
mod outside;
