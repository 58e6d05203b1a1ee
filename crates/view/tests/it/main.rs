//! The fold of a run tree: golden stories, rules, and properties over random journals.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod golden;
mod properties;
mod rules;
mod sample_events;
