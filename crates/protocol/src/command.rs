//! Commands: every request a client may send. Events report the outcome.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    ChatTarget, Event, MessageId, ModelChoice, Origin, Part, PermissionId, PermissionMode,
    ProcessId, QuestionId, RuleKind, RuleScope, RunId, Session, SessionId, SkillNote, ToolCall,
};

pub use crate::inquiry::{Answer, PermissionDecision, PermissionScope, QuestionReply};

/// A wish of a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// Put a message into a session's inbox.
    Post {
        /// Whose inbox.
        to: Address,
        /// What it says.
        parts: Vec<Part>,
        /// Who says it.
        origin: Origin,
        /// Repeating a post with the same key changes nothing and returns the first answer.
        #[serde(default)]
        key: Option<String>,
        /// Into which lane, and whether it wakes anybody.
        #[serde(default)]
        delivery: Delivery,
        /// A line about the sender's surroundings: one `<context …/>` element, kept verbatim.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<String>,
    },
    /// Put the text of a command file into a session's inbox. Its run may use only the tools that the file names.
    Prompt {
        /// Whose inbox.
        to: Address,
        /// What it says.
        parts: Vec<Part>,
        /// The command, and the rules that its file gives. They narrow the run and the agents it delegates to.
        restriction: SkillNote,
    },
    /// Take a message back that waits in an inbox. Refused once its agent has taken it.
    Withdraw {
        /// Whose inbox.
        session: SessionId,
        /// Which message.
        message: MessageId,
    },
    /// Change what a message says that waits in an inbox; its place stays. Refused once its agent has taken it.
    Replace {
        /// Whose inbox.
        session: SessionId,
        /// Which message.
        message: MessageId,
        /// What it says from now on.
        parts: Vec<Part>,
    },
    /// Let a call that waits for the run it delegated return at once: the run goes on in background, and its answer is
    /// told when it ends.
    MoveToBackground {
        /// The session of the call that waits.
        session: SessionId,
        /// The delegated run.
        run: RunId,
    },
    /// Have a session's agent make one call, as if its model had asked for it: in scope, permitted and kept
    /// like any other. It waits for its turn, and the run ends with what comes of it.
    Call {
        /// Which one.
        session: SessionId,
        /// The call. Repeating it under the same id changes nothing and returns the first answer.
        call: ToolCall,
    },
    /// Let a session go on with what it left unfinished and with its mail.
    Resume {
        /// Which one.
        session: SessionId,
    },
    /// Stop the run a session is working on, or the one that its first waiting message is about to start. Other mail stays.
    Cancel {
        /// Which one.
        session: SessionId,
        /// Only if it is this run that it works on, now or later.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
    },
    /// Forget the context; keep identity, metadata and journal.
    Clear {
        /// Which one.
        session: SessionId,
        /// Refuse it if another process works on the session; without this its run is stopped.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unless_busy: bool,
    },
    /// Summarise the older part of the context, as is done by itself when the window fills. A run under way does it at
    /// its next turn.
    Compact {
        /// Which one.
        session: SessionId,
        /// What the summary should keep above all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        focus: Option<String>,
    },
    /// Open a session without posting to it.
    Open(NewSession),
    /// Change what a session is called; no name takes it away.
    Rename {
        /// Which one.
        session: SessionId,
        /// The new name.
        name: Option<String>,
    },
    /// Pin a session, or take the pin away.
    Pin {
        /// Which one.
        session: SessionId,
        /// Whether it is pinned from now on.
        pinned: bool,
    },
    /// Set attributes that clients keep about a session; null removes one.
    SetAttributes {
        /// Which one.
        session: SessionId,
        /// The attributes to set, by name. Others stay.
        attributes: Map<String, Value>,
    },
    /// Change the model a session uses; none for that of its definition.
    SetModel {
        /// Which one.
        session: SessionId,
        /// The model from its next run on.
        model: Option<ModelChoice>,
    },
    /// Change how much may happen in a session without asking; none for the mode it was started with. A person may widen
    /// the mode of a session of his own. Sessions below it are never widened.
    SetMode {
        /// Which one.
        session: SessionId,
        /// The mode from now on.
        mode: Option<PermissionMode>,
    },
    /// Say that the sender has seen a session up to an event. It is kept for the sender's person, and never moves back.
    MarkRead {
        /// Which one.
        session: SessionId,
        /// The last event that was seen; the newest there is if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        upto: Option<u64>,
    },
    /// Delete a session; it can be restored.
    Delete {
        /// Which one.
        session: SessionId,
    },
    /// Bring a deleted session back.
    Restore {
        /// Which one.
        session: SessionId,
    },
    /// Take back the file changes of a session's last run that has any.
    Undo {
        /// Which one.
        session: SessionId,
        /// Only if this is the run whose changes are taken back: the one that was previewed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
    },
    /// Branch a session off another one's journal.
    Fork {
        /// Whose journal.
        session: SessionId,
        /// The last event to take over; the newest if absent.
        #[serde(default)]
        at: Option<u64>,
        /// What to call the new session.
        #[serde(default)]
        name: Option<String>,
        /// Whose conversation it becomes; the same agent's if absent.
        #[serde(default)]
        agent: Option<String>,
        /// What to say to it first; nothing if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<Vec<Part>>,
    },
    /// Answer a question about a tool call. The first answer counts; a later one is refused.
    Permit {
        /// Which session asks.
        session: SessionId,
        /// Which question.
        permission: PermissionId,
        /// The answer.
        answer: Answer,
    },
    /// Answer a question an agent asks.
    Reply {
        /// Which question.
        question: QuestionId,
        /// The answer.
        reply: QuestionReply,
    },
    /// Stop a background process.
    StopProcess {
        /// Whose.
        session: SessionId,
        /// Which one.
        process: ProcessId,
    },
    /// Tell the session that a conversation was handed over from what was asked and answered since. It reads that at
    /// its next run. A model's summary is written by a run in the session that was handed over, and told when that
    /// run ends.
    HandBack {
        /// The session that was handed over.
        session: SessionId,
        /// What is told.
        #[serde(default)]
        summary: HandBackSummary,
    },
    /// Save a permission rule.
    AddRule {
        /// What it does.
        kind: RuleKind,
        /// The rule as it is written.
        rule: String,
        /// Where it holds.
        scope: RuleScope,
    },
    /// Remove a saved permission rule.
    RemoveRule {
        /// Its number.
        number: i64,
    },
    /// Make a session out of an exported one. What the export says about rights, models and directories is ignored.
    Import {
        /// What was exported.
        archive: Box<ExportedSession>,
        /// Where its tools work.
        cwd: PathBuf,
        /// What to call it; what it was called, or a name like it, if absent.
        #[serde(default)]
        name: Option<String>,
    },
}

/// What a session is told about a conversation that comes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HandBackSummary {
    /// What was asked and answered, shortened.
    #[default]
    Extract,
    /// What the agent that went on with it writes.
    Model,
}

/// An exported session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExportedSession {
    /// Its metadata.
    pub session: Session,
    /// Its events, in order.
    pub events: Vec<Event>,
    /// The bytes that its events name.
    #[serde(default)]
    pub blobs: Vec<Vec<u8>>,
}

/// Which session is meant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "session", rename_all = "snake_case")]
pub enum Address {
    /// Exactly this one.
    Id {
        /// Its id.
        id: SessionId,
    },
    /// The agent's most recently updated live session; an error if it has none.
    Latest {
        /// Which agent.
        agent: String,
    },
    /// A new session.
    Create(NewSession),
    /// The latest, else a new one.
    LatestOrCreate(NewSession),
    /// The session bound to this key, made when first used.
    Connector {
        /// `connector/channel/user`, `cron:<id>`, `heartbeat`.
        key: String,
        /// How to make it.
        new: NewSession,
        /// The chat it is a conversation in. Only connectors may say so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chat: Option<ChatTarget>,
    },
}

/// What a client says about a session to be opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NewSession {
    /// Which definition.
    pub agent: String,
    /// Where its tools work.
    pub cwd: PathBuf,
    /// What people call it.
    #[serde(default)]
    pub name: Option<String>,
    /// The model it should use.
    #[serde(default)]
    pub model: Option<ModelChoice>,
}

/// How a posted message is delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// Waits for its turn and starts its own run.
    #[default]
    Queue,
    /// Enters the running conversation at the next turn boundary.
    Steer,
    /// Is recorded and read at the next run, but starts none.
    Silent,
}

/// What a command led to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum CommandReply {
    /// The message is stored and will be handled.
    Accepted {
        /// In which session.
        session: SessionId,
        /// Its name; the first one's if the key was used before.
        message: crate::MessageId,
        /// Its place in the lane.
        position: u64,
        /// Whether the key was used before.
        repeated: bool,
    },
    /// A session was made or changed.
    Session(Box<crate::Session>),
    /// A permission rule was saved.
    Rule {
        /// Its number.
        number: i64,
    },
    /// File changes were taken back.
    Undone(Box<crate::file_undo::FileUndo>),
    /// The run that was told to stop.
    Stopping {
        /// Which one, if any was running.
        run: Option<RunId>,
    },
    /// Done, nothing to add.
    Done,
    /// Another process owns the session and has been asked.
    Forwarded,
}
