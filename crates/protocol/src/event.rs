//! All that can happen, in one vocabulary and one envelope.
//!
//! Durable events make up a session's journal and are numbered without gaps.
//! Ephemeral ones (deltas, progress, queue news) carry no number and are never
//! stored: whoever misses them misses nothing that cannot be read later.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    BlobId, CallId, Effect, ForkPoint, Lane, Message, MessageId, Outcome, ParentCall, Part, PermissionId,
    Problem, Repeat, RunId, SessionId, Timestamp, Todo, ToolCall, ToolKind, Usage, command::Answer,
    tool_call::FileNote,
};

pub use crate::run::{RunMode, RunStatus};

/// The version of the envelope and of everything in it.
pub const VERSION: u32 = 1;

/// One fact about a session, as clients see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Version of the envelope.
    pub v: u32,
    /// Place in the session's journal; none for ephemeral events.
    pub id: Option<u64>,
    /// When it happened.
    pub ts: Timestamp,
    /// In which session.
    pub session: SessionId,
    /// In which run, if in one.
    pub run: Option<RunId>,
    /// The run that delegated this one.
    pub parent_run: Option<RunId>,
    /// The definition at work.
    pub agent: String,
    /// What happened.
    #[serde(flatten)]
    pub body: EventBody,
}

/// What happened. Consumers ignore types and fields they do not know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "data")]
#[non_exhaustive]
pub enum EventBody {
    /// A session exists.
    #[serde(rename = "session.opened")]
    SessionOpened {
        /// Its definition.
        agent: String,
        /// What people call it.
        name: Option<String>,
        /// Whose journal it continues.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forked_from: Option<ForkPoint>,
    },
    /// Its metadata changed.
    #[serde(rename = "session.updated")]
    SessionUpdated {
        /// What people call it now.
        name: Option<String>,
        /// Whether it is deleted now.
        deleted: bool,
    },
    /// Its context starts anew after this event.
    #[serde(rename = "session.cleared")]
    SessionCleared {
        /// Why.
        reason: ClearReason,
    },
    /// A message was taken from the inbox and work on it began.
    #[serde(rename = "run.started")]
    RunStarted {
        /// What started it.
        mode: RunMode,
        /// The message it answers.
        message: MessageId,
        /// The model it begins with.
        model: String,
        /// The message in short.
        title: String,
        /// How many delegations above it.
        depth: u32,
        /// The call that delegated it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<ParentCall>,
    },
    /// The run waits for somebody or something.
    #[serde(rename = "run.waiting")]
    RunWaiting {
        /// For what.
        #[serde(rename = "for")]
        reason: WaitReason,
        /// Until when at most.
        until: Option<Timestamp>,
        /// In words.
        detail: String,
    },
    /// The wait is over.
    #[serde(rename = "run.resumed")]
    RunResumed {
        /// What it had waited for.
        #[serde(rename = "for")]
        reason: WaitReason,
    },
    /// The work of the run was checked.
    #[serde(rename = "run.verified")]
    RunVerified(Verdict),
    /// The run ended. The only terminal event there is.
    #[serde(rename = "run.completed")]
    RunCompleted(RunEnd),
    /// A message entered the conversation.
    #[serde(rename = "message.user")]
    MessageUser {
        /// The message.
        message: Message,
        /// The lane it came in.
        lane: Lane,
        /// Its place in that lane.
        position: u64,
    },
    /// A piece of the model's text, as it comes. Ephemeral.
    #[serde(rename = "message.delta")]
    MessageDelta {
        /// The piece.
        text: String,
    },
    /// A whole reply of the model, with all its calls.
    #[serde(rename = "message.completed")]
    MessageCompleted(ReplyRecord),
    /// A piece of the model's thinking, as it comes. Ephemeral.
    #[serde(rename = "thinking.delta")]
    ThinkingDelta {
        /// The piece.
        text: String,
    },
    /// A call is about to run: its intent.
    #[serde(rename = "tool.started")]
    ToolStarted {
        /// Which call.
        call: CallId,
        /// Canonical tool name.
        tool: String,
        /// Its family.
        kind: ToolKind,
        /// In a few words, for people.
        title: String,
        /// Its arguments after normalising.
        input: Value,
        /// What it does to the world.
        effect: Effect,
        /// What may be done if its result is lost.
        repeat: Repeat,
    },
    /// Something a running tool says. Ephemeral.
    #[serde(rename = "tool.output")]
    ToolOutput {
        /// Which call.
        call: CallId,
        /// What it says.
        text: String,
    },
    /// A call ended; each call has exactly one of these.
    #[serde(rename = "tool.completed")]
    ToolCompleted(ToolRecord),
    /// Somebody must say yes or no to a call.
    #[serde(rename = "permission.requested")]
    PermissionRequested {
        /// The question's name.
        id: PermissionId,
        /// Which call.
        call: CallId,
        /// Canonical tool name.
        tool: String,
        /// What it would do, for people: a command, a diff.
        title: String,
        /// More about it: the diff of an edit.
        detail: String,
        /// What it does to the world.
        effect: Effect,
        /// The rule that a yes for the session would add.
        rule: String,
        /// When it is answered with no by itself.
        until: Timestamp,
    },
    /// The question is settled.
    #[serde(rename = "permission.resolved")]
    PermissionResolved {
        /// Which question.
        id: PermissionId,
        /// The answer.
        answer: Answer,
        /// Who gave it: `user`, `expired`, `cancelled`.
        by: String,
    },
    /// The todo list changed.
    #[serde(rename = "todo.updated")]
    TodoUpdated {
        /// The whole list.
        items: Vec<Todo>,
    },
    /// A message waits in the inbox. Ephemeral: the inbox itself is stored.
    #[serde(rename = "inbox.queued")]
    InboxQueued {
        /// Which message.
        message: MessageId,
        /// Which lane.
        lane: Lane,
        /// Its place in that lane.
        position: u64,
    },
    /// A message was taken from the inbox whose content the conversation has already.
    #[serde(rename = "inbox.delivered")]
    InboxDelivered {
        /// Which message.
        message: MessageId,
        /// The task it is about: a call has told its result.
        task: RunId,
        /// Which lane.
        lane: Lane,
        /// Its place in that lane.
        position: u64,
    },
    /// How full the model's window is. Ephemeral.
    #[serde(rename = "context.usage")]
    ContextUsage {
        /// Tokens in use.
        used: u64,
        /// Tokens there are.
        limit: u64,
    },
    /// The context was made smaller. What was left out stays in the journal.
    #[serde(rename = "context.compacted")]
    ContextCompacted(Compaction),
    /// Something people should know.
    #[serde(rename = "notice")]
    Notice {
        /// How bad it is.
        level: NoticeLevel,
        /// Which notice.
        code: String,
        /// In words.
        message: String,
        /// What to do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
}

impl EventBody {
    /// The dotted name, as it is written on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Self::SessionOpened { .. } => "session.opened",
            Self::SessionUpdated { .. } => "session.updated",
            Self::SessionCleared { .. } => "session.cleared",
            Self::RunStarted { .. } => "run.started",
            Self::RunWaiting { .. } => "run.waiting",
            Self::RunResumed { .. } => "run.resumed",
            Self::RunVerified(_) => "run.verified",
            Self::RunCompleted(_) => "run.completed",
            Self::MessageUser { .. } => "message.user",
            Self::MessageDelta { .. } => "message.delta",
            Self::MessageCompleted(_) => "message.completed",
            Self::ThinkingDelta { .. } => "thinking.delta",
            Self::ToolStarted { .. } => "tool.started",
            Self::ToolOutput { .. } => "tool.output",
            Self::ToolCompleted(_) => "tool.completed",
            Self::PermissionRequested { .. } => "permission.requested",
            Self::PermissionResolved { .. } => "permission.resolved",
            Self::TodoUpdated { .. } => "todo.updated",
            Self::InboxQueued { .. } => "inbox.queued",
            Self::InboxDelivered { .. } => "inbox.delivered",
            Self::ContextUsage { .. } => "context.usage",
            Self::ContextCompacted(_) => "context.compacted",
            Self::Notice { .. } => "notice",
        }
    }

    /// Whether it belongs into the journal.
    pub fn is_durable(&self) -> bool {
        !matches!(
            self,
            Self::MessageDelta { .. }
                | Self::ThinkingDelta { .. }
                | Self::ToolOutput { .. }
                | Self::InboxQueued { .. }
                | Self::ContextUsage { .. }
        )
    }
}

/// What the verifiers of an agent found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// How often the work of this run has been checked, this time included.
    pub attempt: u32,
    /// Whether all of them found it good.
    pub passed: bool,
    /// Whether the work is given back.
    pub again: bool,
    /// What each of them said.
    pub reports: Vec<Report>,
    /// What judging cost.
    pub usage: Usage,
}

/// What one verifier said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// Which one.
    pub name: String,
    /// Whether it found the work good.
    pub passed: bool,
    /// In its words.
    pub said: String,
}

/// How a context was made smaller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compaction {
    /// In which way.
    #[serde(flatten)]
    pub how: Shrinking,
    /// How many messages at the end stay as they are.
    pub kept: u64,
    /// Estimated tokens before.
    pub before: u64,
    /// Estimated tokens after.
    pub after: u64,
    /// What it cost to summarise.
    pub usage: Usage,
}

/// The ways a context is made smaller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Shrinking {
    /// Older messages are replaced by a summary.
    Summary {
        /// The summary.
        summary: String,
    },
    /// Older tool results are cut to so many characters.
    Trimmed {
        /// How many.
        chars: usize,
    },
}

/// Why a context starts anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClearReason {
    /// Somebody asked for it.
    Asked,
    /// The context had grown beyond what could be made smaller; the last request is kept.
    Emergency,
}

/// What a run can wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// A yes or no.
    Permission,
    /// An answer to the agent's question.
    Question,
    /// A delegated run.
    Child,
    /// The provider, which said "later".
    RateLimit,
    /// The provider, which failed and will be asked again.
    Retry,
}

/// Everything about a run's end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunEnd {
    /// How it ended.
    pub status: RunStatus,
    /// The last thing the agent said.
    pub text: String,
    /// Model replies.
    pub turns: u32,
    /// Tool calls made.
    pub calls: u32,
    /// What it cost.
    pub usage: Usage,
    /// How long it took, waiting included.
    pub duration_ms: u64,
    /// Files it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileNote>,
    /// Files it looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explored: Vec<PathBuf>,
    /// Tools it used, in the order of first use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// What it did, in a few words each; the last ones if there were many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// What the runs it delegated to cost, not in `usage`.
    #[serde(default)]
    pub delegated: Usage,
    /// What it changed in a working copy of its own, which is still to be brought in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Box<WorkspaceNote>>,
    /// Whether what it says it did was checked, and found to be so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
    /// Calls that were refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<Denial>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Problem>,
}

/// What a run changed in a working copy of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceNote {
    /// Where the copy is.
    pub root: PathBuf,
    /// The branch its work is on, if there is git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit it started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// What changed, to read; or why that cannot be said.
    pub diffstat: String,
    /// The files that changed.
    pub files: Vec<PathBuf>,
}

/// A call that was refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Denial {
    /// Which call.
    pub call: CallId,
    /// Canonical tool name.
    pub tool: String,
    /// What it would have done.
    pub title: String,
    /// Why not, and what would have allowed it.
    pub reason: String,
}

/// A model's whole reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplyRecord {
    /// Its text alone, for those who want only that.
    pub text: String,
    /// Everything it consists of, in order, so that it can be replayed to the model verbatim.
    pub parts: Vec<ReplyPart>,
    /// Which model wrote it.
    pub model: String,
    /// Why it ended.
    pub stop: StopReason,
    /// What it cost.
    pub usage: Usage,
    /// The provider's name for the request, for diagnosis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

impl ReplyRecord {
    /// The calls it asks for, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| if let ReplyPart::Call(call) = part { Some(call) } else { None })
    }
}

/// A piece of a model's reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ReplyPart {
    /// Text for whoever asked.
    Text {
        /// The text.
        text: String,
    },
    /// Thinking, with what the provider needs to see again.
    Thinking {
        /// The text; may be empty when the provider hides it.
        text: String,
        /// The provider's signature, byte for byte.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A tool call.
    Call(ToolCall),
    /// Something only its provider understands; kept and replayed to it.
    Opaque {
        /// Whose.
        provider: String,
        /// What.
        item: Value,
    },
}

/// Why a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model had said all.
    End,
    /// It wants tools.
    Calls,
    /// It hit its output limit.
    MaxOutput,
    /// It refused.
    Refused,
    /// Somebody stopped it; the text is what had arrived.
    Cancelled,
}

/// How a call ended, as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolRecord {
    /// Which call.
    pub call: CallId,
    /// Canonical tool name.
    pub tool: String,
    /// In a few words, for people.
    pub title: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What the model reads.
    pub content: Vec<Part>,
    /// How long it took.
    pub duration_ms: u64,
    /// Where the uncut output is, if it was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full: Option<BlobId>,
    /// Files it looked at or changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileNote>,
    /// What it changed, as a unified diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The task it started or asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskNote>,
}

/// What a call says about a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskNote {
    /// Which task: the run that works on it.
    pub task: RunId,
    /// The session it runs in.
    pub session: SessionId,
    /// Its definition.
    pub agent: String,
    /// How it ended, if it has: then this call has told its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
    /// What it cost, with everything it delegated, if it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// US dollars set aside for it while it is at work, if money is bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Whether the answer is one that was given before to the same question.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
}

/// How bad a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    /// Good to know.
    Info,
    /// Should be looked at.
    Warning,
    /// Something failed.
    Error,
}
