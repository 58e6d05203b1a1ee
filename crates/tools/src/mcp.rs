//! MCP client: tools that live in other programs, servers that speak the Model Context Protocol.
//!
//! [`McpServerPool`] belongs to a runtime: the configured servers, and one connection for each distinct
//! configuration, shared by all agents. An agent gets their tools like any other; only their names show that they are
//! remote. Everything a server sends is untrusted data: it is limited and sanitized.

mod argument_check;
mod bounded_reader;
mod client;
mod config_file;
mod connect_params;
mod connection;
mod drop_late_replies;
mod elicitation;
mod error;
mod expand;
mod fuzzing;
mod handshake;
mod http;
mod https_client;
mod identity;
mod in_flight;
mod login;
mod names;
mod notice_texts;
mod package_fetch;
mod pending_notices;
mod pins;
mod private_json;
mod prompts;
mod remote_tool;
mod resources;
mod result_content;
mod sanitize;
mod secrets;
mod server_entry;
mod server_pool;
mod server_process;
mod server_sandbox;
mod setup;
mod stdio_transport;
mod tokens;
mod tool_list;
mod unknown_parts;

pub use config_file::{McpConfigFile, read_config};
pub use connection::McpServerInfo;
pub use error::Error;
pub use expand::expand;
pub use fuzzing::{fuzz, fuzz_http};
pub use login::McpLogin;
pub use names::{PREFIX, beginning, may_name};
pub use pins::{ToolChange, ToolPinStore};
pub use prompts::{McpPrompt, McpPromptRequest};
pub use resources::RESOURCE_TOOLS;
pub use secrets::server_secrets;
pub use server_entry::{McpServerLease, McpServerStatus};
pub use server_pool::{McpAgentTools, McpInspection, McpServerPool, RememberedTools};
pub use setup::McpSetup;
pub use tokens::stored_tokens;

pub use crate::notice::Notice;
