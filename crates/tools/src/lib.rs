//! Act: one tool, one file, behind one trait.
//!
//! Tools know a directory and a cancel token, not sessions, models or the store.

pub mod output;
pub mod policy;
pub mod tool;
pub mod toolset;

pub use policy::{Judged, Policy, Rule, Verdict};
pub use tool::{Tool, ToolContext, ToolOutput};
pub use toolset::Toolset;
