//! Integration tests of the providers through their public API.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod anthropic;
mod anthropic_bodies;
mod asking;
mod cassette;
mod catalog;
mod chat;
mod chat_hostile;
mod choosing;
mod compatible;
mod conversation;
mod documents;
mod embeddings;
mod endings;
mod exhausted;
mod external;
mod external_agent;
mod failures;
mod fuzz;
mod gemini;
mod gemini_bodies;
mod hostile;
mod lean;
mod openai;
mod openai_cut;
mod opening;
mod pages;
mod responses;
mod responses_hostile;
mod size;
mod streaming;
mod templates;
mod tool_names;
mod waiting;
