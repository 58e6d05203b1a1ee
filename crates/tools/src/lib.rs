//! Act: one tool, one file, behind one trait.
//!
//! Tools know a directory and a cancel token, not sessions, models or the store.
#![cfg_attr(
    not(all(feature = "mcp", feature = "web")),
    allow(dead_code, reason = "what only those need")
)]

mod apply_diff;
pub mod arguments;
mod bash;
mod bash_output;
mod blocking;
mod builtin;
pub mod call_socket_env;
mod declarations;
mod delete;
pub mod dialect_names;
mod edit;
mod file_change;
mod file_scope;
pub mod fingerprint;
mod glob;
mod glob_cache;
mod grep;
mod line_numbers;
mod list;
#[cfg_attr(not(feature = "mcp"), path = "without_mcp.rs")]
pub mod mcp;
mod notebook_edit;
mod notice;
pub mod policy;
pub mod proxy;
mod reach;
mod read;
pub mod resolved_path;
mod sandbox_config;
mod semantic_search;
mod send_file;
mod sensitive_paths;
pub mod session_tools;
mod task_stop;
mod text_file;
mod todo_write;
pub mod tool;
pub mod tool_info;
pub mod toolset;
pub mod truncate;
mod walk;
pub mod web;
#[cfg(feature = "web")]
mod web_fetch;
mod web_search;
// Tests know what stands there without the feature, so that it is not forgotten.
#[cfg(all(test, feature = "mcp"))]
#[allow(
    clippy::duplicate_mod,
    dead_code,
    unused_imports,
    reason = "only its tests are wanted here"
)]
mod without_mcp;
mod write;

pub use bash::background_processes::{BackgroundProcesses, ProcessEvent};
pub use builtin::{builtin, builtin_with};
pub use call_socket_env::CallSocketEnv;
pub use declarations::{declarations, declared, declared_for_definition};
pub use file_scope::{FileAccess, FileScope, LazyPrivatePlaces};
pub use policy::{
    Derivation, PermissionRule, Policy, PolicyLayer, PolicyRequest, PolicyVerdict,
    SkillRestriction, SpawnSize, SpawnVerdict,
};
pub use reach::{CallReach, DeniedPaths, FileBefore, content_before, restore as file_restore};
pub use rooftree_search::Embedder;
pub use sandbox_config::{SandboxConfig, SandboxScanCache, SessionSandbox};
pub use semantic_search::SemanticSearchTool;
pub use task_stop::INFO as TASK_STOP;
pub use text_file::hash as content_hash;
pub use tool::{
    FileToSend, PlannedFileChange, Tool, ToolContext, ToolOutput, returns_outside_text,
};
pub use tool_info::ToolInfo;
pub use toolset::Toolset;
pub use web::WebConfig;
pub use web_search::{KeyLookup, SearchBackend, SearchService, UsagePricer};

/// Whether this program can use servers of tools.
pub const HAS_MCP: bool = cfg!(feature = "mcp");
/// Whether this program can read pages of the web: without it there is no WebFetch.
pub const HAS_WEB: bool = cfg!(feature = "web");
