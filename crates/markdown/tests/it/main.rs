//! Integration tests of the Markdown renderer: lines, streaming, HTML, entities.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, in its helpers too"
)]

mod entities;
mod html;
mod lines;
mod streaming;
mod texts;
