//! What a client promises, in the same process and over a connection that breaks.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, in its helpers too"
)]

mod board;
mod cut_proxy;
mod cuts;
mod foreign_parser;
mod metadata;
mod served_story;
mod stories;
