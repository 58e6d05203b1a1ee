//! Think: everything that answers as a model does, behind one trait.
//!
//! A vendor's JSON lives in its own folder here and nowhere else. Providers know
//! nothing about sessions, tools that run, or the store.

pub mod anthropic;
mod bounds;
pub mod cassette;
pub mod catalog;
pub mod compatible;
pub mod embeddings;
pub mod error;
pub mod external;
pub mod external_agent;
pub mod gemini;
pub mod http;
pub mod lean;
mod media;
pub mod openai;
pub mod provider;
pub mod reply;
pub mod request;
pub mod scripted;
mod size;
pub mod sse;
mod tool_names;
pub mod vendors;

pub use catalog::{Catalog, Model};
pub use error::Error;
pub use media::may_be_shown;
pub use provider::{Provider, ReplyStream};
pub use reply::{Chunk, Reply};
pub use request::{Media, ModelMessage, Request, Rules, ToolChoice, Workplace};
