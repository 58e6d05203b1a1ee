//! Events: everything that can happen in a session, in one envelope (schema of the event stream).
//!
//! Durable events make up a session's journal and are numbered without gaps.
//! Ephemeral ones (deltas, progress, queue news) carry no number and are never
//! stored: a subscriber that misses them misses nothing that cannot be read later.

mod answer_finding;
mod answer_text;
mod call_records;
mod run_records;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    BlobId, CallId, Effect, ForkPoint, Lane, Message, MessageId, ParentCall, Part, PermissionId,
    PermissionKind, PermissionMode, PermissionScope, Principal, Question, QuestionId,
    QuestionReply, Repeat, RunId, SessionId, SpawnGroup, Timestamp, Todo, ToolKind,
    file_undo::{FilePreimage, FileUndo},
    inquiry::Answer,
};

pub use crate::run::{RunMode, RunStatus};
pub use crate::run_bounds::RunBounds;
pub use crate::skill::SkillNote;
pub use answer_finding::AnswerFinding;
pub use answer_text::AnswerText;
pub use call_records::{ReplyPart, ReplyPlace, ReplyRecord, StopReason, TaskNote, ToolRecord};
pub use run_records::{
    ClearReason, Compaction, CompactionKind, Denial, HookNote, NoticeLevel, PolicyNote, Report,
    RunEnd, Verdict, WaitReason, WorkspaceNote,
};

/// Schema version of the envelope and of everything in it.
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
    /// Who sent the command that led to it; absent if none did, and in events of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<Box<Principal>>,
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
        /// What may happen in it without asking, when it begins.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<Box<PolicyNote>>,
        /// The mode, tools, sandbox and limits it begins with: the most it may ever have, whichever process
        /// continues it. Absent in runs of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bounds: Option<Box<RunBounds>>,
        /// What the model is told about the day and the project before its message; absent if it knows that already.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        surroundings: Option<String>,
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
        /// The session that was told of it, besides those above: it is told of the answer too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        told: Option<SessionId>,
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
        /// Which reply it is part of, and where in it; absent in events of earlier versions.
        #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
        place: Option<ReplyPlace>,
    },
    /// A whole reply of the model, with all its calls.
    #[serde(rename = "message.completed")]
    MessageCompleted(ReplyRecord),
    /// A piece of the model's thinking, as it comes. Ephemeral.
    #[serde(rename = "thinking.delta")]
    ThinkingDelta {
        /// The piece.
        text: String,
        /// Which reply it is part of, and where in it; absent in events of earlier versions.
        #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
        place: Option<ReplyPlace>,
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
        /// What let it happen: a rule, a mode, a person.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        permitted: String,
        /// The running call it is made from inside of; none for a call of a reply.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inside: Option<CallId>,
        /// The files it is about to change, as they are before. Absent in events of earlier versions.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        before: Vec<FilePreimage>,
    },
    /// Something a running tool says. Ephemeral.
    #[serde(rename = "tool.output")]
    ToolOutput {
        /// Which call.
        call: CallId,
        /// What it says.
        text: String,
    },
    /// A call still runs; said every now and then, more rarely the longer it takes. Ephemeral.
    #[serde(rename = "tool.progress")]
    ToolProgress {
        /// Which call.
        call: CallId,
        /// Milliseconds since it began.
        elapsed_ms: u64,
    },
    /// A call ended; each call has exactly one of these.
    #[serde(rename = "tool.completed")]
    ToolCompleted(ToolRecord),
    /// A person must allow or deny a call, or all calls of a reply that start agents.
    #[serde(rename = "permission.requested")]
    PermissionRequested {
        /// The question's name.
        id: PermissionId,
        /// Which call; the first one, for kind `spawn`.
        call: CallId,
        /// Canonical tool name.
        tool: String,
        /// What it would do, for people: a command, a diff.
        title: String,
        /// More about it: the diff of an edit, the list of agents.
        detail: String,
        /// What it does to the world.
        effect: Effect,
        /// The rule that a yes for longer than once would add.
        rule: String,
        /// When it is answered with no by itself.
        until: Timestamp,
        /// Why somebody has to be asked.
        #[serde(default)]
        reason: String,
        /// Names exactly what is asked about: tool, arguments, place, agent and session.
        #[serde(default)]
        digest: String,
        /// For how long a yes can hold.
        #[serde(default)]
        scopes: Vec<PermissionScope>,
        /// Whether it is about one call, or about all calls of a reply that start agents. Absent for one call.
        #[serde(default, skip_serializing_if = "PermissionKind::is_call")]
        kind: PermissionKind,
        /// The agents that would be started, for kind `spawn`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        spawn: Vec<SpawnGroup>,
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
    /// An agent asks something during a call.
    #[serde(rename = "question.requested")]
    QuestionRequested {
        /// The question's name.
        id: QuestionId,
        /// Which call.
        call: CallId,
        /// What it wants to know.
        questions: Vec<Question>,
        /// When it is taken for declined.
        until: Timestamp,
    },
    /// The question is settled.
    #[serde(rename = "question.answered")]
    QuestionAnswered {
        /// Which question.
        id: QuestionId,
        /// The answer.
        reply: QuestionReply,
        /// Who gave it: `user`, `expired`, `cancelled`.
        by: String,
    },
    /// The run that begins here was due by a schedule.
    #[serde(rename = "schedule.fired")]
    ScheduleFired {
        /// Which one.
        schedule: String,
        /// The time at which it was due.
        due: Timestamp,
    },
    /// How much may happen without asking changed for this session.
    #[serde(rename = "permission.mode")]
    ModeChanged {
        /// The mode from now on; none for the one it was started with.
        mode: Option<PermissionMode>,
        /// Who changed it: `agent`, `user`.
        by: String,
    },
    /// What may happen in this run without asking is something else from here on.
    #[serde(rename = "permission.policy")]
    PolicyChanged(PolicyNote),
    /// A hook said something that has an effect on the conversation.
    #[serde(rename = "hook.said")]
    HookSaid(HookNote),
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
    /// A message that its sender had withdrawn was taken from the inbox; it is not read.
    #[serde(rename = "inbox.dropped")]
    InboxDropped {
        /// Which message.
        message: MessageId,
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
        /// Tokens that a model on the user's own machine is reading now, before its first word.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reading: Option<u64>,
    },
    /// The context was made smaller. What was left out stays in the journal.
    #[serde(rename = "context.compacted")]
    ContextCompacted(Compaction),
    /// The file changes of a run were taken back.
    #[serde(rename = "files.undone")]
    FilesUndone(FileUndo),
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
    /// The dotted name, as it is serialized.
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
            Self::ToolProgress { .. } => "tool.progress",
            Self::ToolCompleted(_) => "tool.completed",
            Self::PermissionRequested { .. } => "permission.requested",
            Self::PermissionResolved { .. } => "permission.resolved",
            Self::QuestionRequested { .. } => "question.requested",
            Self::QuestionAnswered { .. } => "question.answered",
            Self::ScheduleFired { .. } => "schedule.fired",
            Self::ModeChanged { .. } => "permission.mode",
            Self::PolicyChanged(_) => "permission.policy",
            Self::HookSaid(_) => "hook.said",
            Self::TodoUpdated { .. } => "todo.updated",
            Self::InboxQueued { .. } => "inbox.queued",
            Self::InboxDelivered { .. } => "inbox.delivered",
            Self::InboxDropped { .. } => "inbox.dropped",
            Self::ContextUsage { .. } => "context.usage",
            Self::ContextCompacted(_) => "context.compacted",
            Self::FilesUndone(_) => "files.undone",
            Self::Notice { .. } => "notice",
        }
    }

    /// The stored bytes that it refers to: attachments, pictures, uncut output.
    pub fn blobs(&self) -> impl Iterator<Item = &BlobId> {
        let (parts, full): (&[Part], _) = match self {
            Self::MessageUser { message, .. } => (&message.parts, None),
            Self::ToolCompleted(record) => (&record.content, record.full.as_ref()),
            _ => (&[], None),
        };
        let in_parts = parts.iter().filter_map(|part| match part {
            Part::Image { blob, .. } | Part::File { blob, .. } => Some(blob),
            Part::Text { .. } => None,
        });
        full.into_iter().chain(in_parts)
    }

    /// Whether it is stored in the journal.
    pub fn is_durable(&self) -> bool {
        !matches!(
            self,
            Self::MessageDelta { .. }
                | Self::ThinkingDelta { .. }
                | Self::ToolOutput { .. }
                | Self::ToolProgress { .. }
                | Self::InboxQueued { .. }
                | Self::ContextUsage { .. }
        )
    }
}
