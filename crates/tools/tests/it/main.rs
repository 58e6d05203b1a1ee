//! The tools on a real disk with real programs, called as the runtime calls them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on ends"
)]

mod background;
mod changing;
mod commands;
mod desk;
mod mcp;
mod mistakes;
mod notebooks;
mod reading;
mod searching;
mod semantic_search;
mod surface;
mod todos;
