//! Live: sessions that wake, take messages, run and rest.
//!
//! A client gets a [`Handle`] from an [`AgentRuntime`], sends [`Command`](rooftree_protocol::Command)s and reads
//! [`Event`](rooftree_protocol::Event)s; nothing else crosses that line. The loop that every agent runs is
//! `agent/run.rs`. This crate knows no terminal, no HTTP and no vendor.
#![warn(missing_docs)]

mod agent;
pub mod assembly;
mod board;
mod bus;
mod cached_answers;
pub mod call_socket;
mod caller;
mod chat_activity;
pub mod checks;
pub mod clock;
pub mod definitions;
pub mod delegation;
mod delegation_registry;
pub mod effective_rights;
mod error;
pub mod exposure;
mod hand_back;
pub mod handle;
pub mod hooks;
mod inbox;
pub mod inquiries;
mod interrupted_runs;
mod mcp_scope;
pub mod memory;
pub mod memory_tools;
mod message_mark;
pub mod people_tools;
mod post_turn;
mod rate_limiter;
pub mod redacting_store;
mod resolved_agent;
mod resting_sessions;
mod rights;
mod router;
mod runtime;
mod runtime_context;
mod runtime_options;
pub mod saved_rules;
pub mod schedule_tools;
pub mod scheduler;
mod schedules;
mod services;
mod signals;
pub mod skill_tools;
pub mod surroundings;
mod tasks;
mod unfinished_sessions;
mod visibility;

pub use agent::{
    history::History,
    message_text::user_parts as worded,
    prompt::{PromptSections, peers},
};
pub use assembly::{Assembly, ToolParts};
pub use board::{BOARD_REST, BoardFilter, BoardPage, BoardWatch};
pub use bus::{EventFilter, ReplyDraft, Subscription, TreeSubscription};
pub use chat_activity::ChatWork;
pub use clock::{Clock, SystemClock};
pub use definitions::{ContextWatcher, Definitions, ProjectContext};
pub use error::Error;
pub use handle::{
    AgentChange, AgentChangeOutcome, AttachedFile, AuditedFileChange, ChatAddress, ConnectorAccess,
    ConnectorChange, Handle, InvitedPerson, IssuedLink, IssuedPairing, IssuedToken, ListPage,
    NewAccessLink, NewAccessToken, NewPairing, OutboxQuery, OutboxRows, PAIRING_CODE_CHARS,
    PromptCopy, Queries, ReceivedChatMessage, RequestKey, RowNotice, RowWatch, ScheduleChange,
    ScheduleDefaults, TOKEN_PREFIX, WatchedRow, gather_spans, paired_sender,
};
pub use hooks::Hooks;
pub use message_mark::MessageMark;
pub use rooftree_secrets::SecretRedactor;
pub use rooftree_workspace::WorkspaceConfig;
pub use runtime::AgentRuntime;
pub use runtime_options::{
    AgentOptions, ApprovalSource, LimitOverrides, ModelOptions, ModelResolver, RightsOptions,
    RuntimeTools,
};
pub use services::{Service, StopService};
pub use tasks::settle_orphaned_programs;
pub use unfinished_sessions::UnfinishedSession;
