//! Act: one tool, one file, behind one trait.
//!
//! Tools know a directory and a cancel token, not sessions, models or the store.

mod apply_diff;
pub mod arguments;
mod bash;
mod bash_output;
mod blocking;
mod builtin;
mod change;
mod compiled;
mod confining;
mod delete;
mod edit;
pub mod fingerprint;
mod glob;
mod grep;
mod lexical;
mod list;
pub mod mcp;
mod notebook_edit;
mod obeyed;
pub mod output;
pub mod place;
pub mod policy;
pub mod proxy;
mod reach;
mod read;
mod semantic_search;
pub mod shell;
mod task_stop;
mod text_file;
mod todo_write;
pub mod tool;
pub mod toolset;
mod walk;
pub mod way_back;
pub mod web;
mod web_fetch;
mod web_search;
mod write;

pub use bash::processes::{ProcessEvent, Processes};
pub use builtin::{builtin, builtin_with};
pub use confining::{Confined, Confining, Survey};
pub use policy::{Derivation, Followed, Judged, Layer, Policy, Rule, Verdict};
pub use reach::{DeniedPaths, Reach};
pub use semantic_search::{Embedder, SemanticSearch};
pub use tool::{Tool, ToolContext, ToolOutput};
pub use toolset::Toolset;
pub use way_back::WayBack;
pub use web::Web;
pub use web_search::{Backend, Charge, Key, Service};
