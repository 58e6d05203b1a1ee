//! `rooftree run`: what people type, what programs read, and how it ends.

mod attachments;
pub mod delegating;
pub mod desk;
mod ending;
mod exits;
mod formats;
mod input;
mod outcomes;
mod recording;
pub mod sandbox;
mod sandbox_words;
mod search;
mod sessions;
mod settings;
mod web;
