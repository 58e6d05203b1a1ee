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
mod delete;
mod edit;
mod glob;
mod grep;
mod lexical;
mod list;
pub mod mcp;
mod notebook_edit;
pub mod output;
mod place;
pub mod policy;
mod read;
mod semantic_search;
mod task_stop;
mod text_file;
mod todo_write;
pub mod tool;
pub mod toolset;
mod walk;
mod write;

pub use bash::processes::{ProcessEvent, Processes};
pub use builtin::{builtin, builtin_with};
pub use policy::{Judged, Policy, Rule, Verdict};
pub use semantic_search::{Embedder, SemanticSearch};
pub use tool::{Tool, ToolContext, ToolOutput};
pub use toolset::Toolset;
