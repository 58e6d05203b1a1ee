//! What providers promise, seen from outside.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod choosing;
mod conversation;
mod exhausted;
mod external;
mod failures;
mod opening;
mod pages;
mod streaming;
mod templates;
