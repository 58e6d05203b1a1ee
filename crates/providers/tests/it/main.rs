//! What providers promise, seen from outside.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod anthropic;
mod anthropic_bodies;
mod asking;
mod choosing;
mod conversation;
mod exhausted;
mod failures;
mod gemini;
mod gemini_bodies;
mod hostile;
mod opening;
mod pages;
mod streaming;
mod templates;
mod waiting;
