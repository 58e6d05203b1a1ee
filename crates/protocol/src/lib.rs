//! Shared data types of all crates: plain data, no I/O, no async.
//!
//! A client sends [`Command`]s and reads [`Event`]s; everything in between is
//! described with the types of this crate. Names are those of `docs/glossary.md`.

pub mod access;
pub mod actions;
pub mod api_paths;
pub mod call;
mod chat_target;
pub mod command;
pub mod confinement;
pub mod connector_info;
pub mod context_line;
pub mod definition;
pub mod effect;
pub mod error;
pub mod event;
pub mod fan_out;
pub mod file_undo;
pub mod host_pattern;
pub mod ids;
pub mod inquiry;
pub mod limits;
pub mod mandate;
pub mod media;
pub mod message;
pub mod model_choice;
pub mod network;
pub mod outbox_info;
pub mod principal;
pub mod reserved_tags;
pub mod rule;
pub mod run;
pub mod run_bounds;
pub mod schedule;
pub mod scope;
pub mod session;
pub mod skill;
pub mod text_visitor;
pub mod time;
pub mod tool_call;
pub mod usage;

pub use access::{AccessScope, AccessScopes, AuthorizedCaller};
pub use call::ToolCall;
pub use chat_target::ChatTarget;
pub use command::{Address, Command, Delivery};
pub use confinement::{Confinement, Reading, SandboxMode};
pub use connector_info::{
    ConnectorInfo, HealthInfo, PairedSender, PendingPairing, UndeliveredCounts,
};
pub use definition::{
    AgentDefinition, AgentDialect, DefinitionLevel, DefinitionSource, Example, Isolation,
    McpServer, MemoryScope, UseAs, Verifier,
};
pub use error::{ErrorCode, Problem};
pub use event::{Event, EventBody, RunStatus};
pub use fan_out::{PermissionKind, SpawnCall, SpawnForecast, SpawnGroup, SpawnThresholds};
pub use host_pattern::HostPattern;
pub use ids::{
    BlobId, CallId, MessageId, OutboxId, PermissionId, ProcessId, QuestionId, RunId, SessionId,
};
pub use inquiry::{
    Answer, Choice, InquiryResponse, PermissionDecision, PermissionScope, Question, QuestionReply,
};
pub use limits::Limits;
pub use mandate::{Above, Mandate, Thoroughness};
pub use media::media_type;
pub use message::{Lane, Message, Origin, Part};
pub use model_choice::{Effort, ModelChoice};
pub use network::Network;
pub use outbox_info::{OutboxInfo, OutboxState};
pub use principal::{Account, LOCAL_OWNER, Principal, Surface};
pub use reserved_tags::ReservedTag;
pub use rule::{RuleKind, RuleScope};
pub use run_bounds::RunBounds;
pub use schedule::{
    IncidentInfo, OccurrenceInfo, PromptContext, RunBudget, ScheduleDraft, ScheduleInfo,
    SchedulePreview,
};
pub use scope::{PermissionMode, Scope};
pub use session::{ForkPoint, ParentCall, Session};
pub use skill::SkillNote;
pub use time::Timestamp;
pub use tool_call::{Effect, Outcome, Repeat, Todo, TodoStatus, ToolKind, ToolResult, ToolSpec};
pub use usage::Usage;
