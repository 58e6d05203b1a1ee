//! Model providers: every vendor, program and remote agent that answers as a model, behind one trait.
//!
//! A vendor's JSON lives in its own folder here and nowhere else. Providers know
//! nothing about sessions, tools that run, or the store.

pub mod agent_program;
pub mod anthropic;
pub mod cassette;
pub mod catalog;
pub mod embeddings;
pub mod error;
pub mod external_agent;
pub mod gemini;
pub mod http;
pub mod lean;
mod local_start;
mod media;
pub mod openai;
pub mod openai_compatible;
pub mod provider;
pub mod reply;
pub mod request;
mod request_size;
pub mod scripted;
pub mod sse;
mod tool_names;
mod vendor_limits;
pub mod vendor_opener;
pub mod vendors;

pub use catalog::{Model, ModelCatalog};
pub use error::Error;
pub use media::may_be_sent;
pub use provider::{Provider, ReplyStream};
pub use reply::{ModelReply, ReplyChunk};
pub use request::{CallRules, MediaBytes, ModelMessage, ModelRequest, ToolChoice, Workplace};
