//! `rooftree run`: what people type, what programs read, and how it ends.

mod attachments;
pub mod delegating;
mod ending;
mod exits;
pub mod fixture;
mod formats;
mod input;
mod outcomes;
mod recording;
pub mod sandbox;
mod sandbox_words;
mod schemas;
mod search;
mod sessions;
mod settings;
mod web;
