//! What providers promise, seen from outside.

mod choosing;
mod conversation;
mod exhausted;
mod failures;
mod opening;
mod pages;
mod streaming;
mod templates;
