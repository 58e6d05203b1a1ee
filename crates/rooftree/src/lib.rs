//! Agents under one roof, as a library.
#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod agent;
mod agent_files;
mod attachment;
mod builder_methods;
mod callbacks;
mod components;
mod config_parts;
mod endpoint;
mod error;
mod events;
mod extract;
mod feed;
mod function_tool;
mod hook;
mod limits;
mod models;
mod outcome;
mod permission;
mod principal;
mod query;
mod run;
mod run_tree;
mod running;
mod runtime;
mod runtime_config;
mod schema;
mod session;
mod storage;
pub mod testing;

pub use agent::Agent;
pub use attachment::FileAttachment;
pub use callbacks::{SubagentStart, SubagentStop, ToolUsed};
pub use endpoint::Endpoint;
pub use error::{Error, Result};
pub use events::Events;
pub use feed::{Feed, SessionFeed};
pub use hook::Hook;
pub use limits::AgentLimits;
pub use outcome::RunOutcome;
pub use permission::{Decision, PermissionRequest};
pub use query::{Query, query};
pub use rooftree_macros::tool;
pub use run::Run;
pub use runtime::{Runtime, RuntimeBuilder};
pub use session::{AgentSession, Delegation, SessionSelector};
pub use storage::Storage;

pub use rooftree_client as client;
pub use rooftree_process::sandbox;
pub use rooftree_protocol as protocol;
pub use rooftree_protocol::{
    AgentDefinition, Effect, ErrorCode, Event, EventBody, HostPattern, McpServer, MemoryScope,
    Network, PermissionId, PermissionKind, PermissionMode, RunId, RunStatus, SandboxMode,
    SessionId, SpawnCall, SpawnForecast, SpawnGroup, ToolSpec, Usage, Verifier,
};
pub use rooftree_providers as providers;
pub use rooftree_providers::Provider;
pub use rooftree_runtime::{
    Clock, SystemClock,
    checks::CheckedWork,
    hooks::{HookAnswer, HookPayload, HookPoint, HookVerdict, ToolUse},
};
pub use rooftree_store::{SqliteStore, prelude::*};
pub use rooftree_tools::{Tool, ToolContext, ToolOutput};
pub use schemars::JsonSchema;

/// Used by code that `#[tool]` generates, and by no other code.
#[doc(hidden)]
pub mod __private {
    pub use schemars;
    pub use serde;

    pub use crate::function_tool::{AsJson, AsText, FunctionTool, ToolReturnValue, failed};
}

/// Not every function can be a tool, and the compiler says why.
///
/// ```compile_fail
/// /// Adds.
/// #[rooftree::tool]
/// fn add(a: u64) -> Result<u64, String> { Ok(a) } // a tool is an `async fn`
/// ```
///
/// ```compile_fail
/// #[rooftree::tool]
/// async fn add(a: u64) -> Result<u64, String> { Ok(a) } // a tool needs a doc comment
/// ```
///
/// ```compile_fail
/// /// Adds.
/// #[rooftree::tool(readonly)]
/// async fn add(a: u64) -> Result<u64, String> { Ok(a) } // `readonly` is no option of a tool
/// ```
///
/// ```compile_fail
/// /// Adds.
/// #[rooftree::tool]
/// async fn add(a: &str) -> Result<String, String> { Ok(a.into()) } // a tool owns what it is given
/// ```
#[cfg(doctest)]
struct RefusedTools;
