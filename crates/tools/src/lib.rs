//! Act: one tool, one file, behind one trait.
//!
//! Tools know a directory and a cancel token, not sessions, models or the store.
#![cfg_attr(not(all(feature = "mcp", feature = "web")), allow(dead_code, reason = "what only those need"))]

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
mod line_numbers;
mod list;
#[cfg_attr(not(feature = "mcp"), path = "without_mcp.rs")]
pub mod mcp;
mod notebook_edit;
mod notice;
mod obeyed;
pub mod output;
pub mod place;
pub mod policy;
pub mod proxy;
mod reach;
mod read;
mod scope;
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
#[cfg(feature = "web")]
mod web_fetch;
mod web_search;
// Tests know what stands there without the feature, so that it is not forgotten.
#[cfg(all(test, feature = "mcp"))]
#[allow(clippy::duplicate_mod, dead_code, unused_imports, reason = "only its tests are wanted here")]
mod without_mcp;
mod write;

pub use bash::processes::{ProcessEvent, Processes};
pub use builtin::{builtin, builtin_with};
pub use confining::{Confined, Confining, Survey};
pub use policy::{Derivation, Followed, Judged, Layer, Policy, Rule, Verdict};
pub use reach::{DeniedPaths, Reach};
pub use scope::{Access, FileScope, Known};
pub use semantic_search::{Embedder, SemanticSearch};
pub use tool::{Tool, ToolContext, ToolOutput, returns_outside_text};
pub use toolset::Toolset;
pub use way_back::WayBack;
pub use web::Web;
pub use web_search::{Backend, Charge, Key, Service};

/// Whether this program can use servers of tools.
pub const HAS_MCP: bool = cfg!(feature = "mcp");
/// Whether this program can read pages of the web: without it there is no WebFetch.
pub const HAS_WEB: bool = cfg!(feature = "web");
