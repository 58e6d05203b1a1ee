//! Folds events into the conversation the model reads, and into the state of the run. Pure.
//!
//! Live and replayed events go through the same `apply`, so a session that was killed and one
//! that was not fold to the same history.
//! Invariant: in `messages()` every call has exactly one result, right after its reply.

mod apply_event;
mod compaction;
mod message_edits;
mod queries;
mod task_mandates;

use std::{collections::BTreeSet, sync::Arc};

use rooftree_protocol::{
    BlobId, CallId, Event, EventBody, Lane, Mandate, MessageId, Part, PermissionMode, Repeat,
    RunId, Todo, ToolCall, ToolKind, ToolResult,
    event::{ClearReason, StopReason, TaskNote, WaitReason},
};
use rooftree_providers::ModelMessage;

pub(crate) use self::message_edits::INTERRUPTED;
use self::message_edits::{go_on, images_in, results_of, trimmed};
use super::run_view::RunView;
use crate::MessageMark;

/// State folded from a session's events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// What messages of the runtime are marked with.
    mark: MessageMark,
    conversation: ConversationState,
    calls: ReplyCalls,
    run: Option<RunView>,
    todos: Arc<[Todo]>,
    taken: LanePositions,
    tasks: KnownTasks,
    shrunk: u32,
    /// Whether the last reply was checked.
    checked: bool,
    /// The number of the last reply.
    reply_at: u64,
    /// The first thing from outside that the model has read: a web page, what a server said.
    outside: Option<String>,
    /// How much may happen without asking, if that was changed.
    mode: Option<ChangedMode>,
}

/// What the model reads.
#[derive(Clone, Debug, Default, PartialEq)]
struct ConversationState {
    /// Shared with the request that is under way, so that a turn costs the same however long
    /// the conversation is. Requests are gone before something is added; if one is not, it
    /// keeps what it had.
    messages: Arc<Vec<Arc<ModelMessage>>>,
    /// Estimated tokens of the messages.
    estimate: u64,
    images: Vec<BlobId>,
    /// The last request to the agent; kept whatever is compacted.
    request: Option<Arc<ModelMessage>>,
    /// What people said since the last reply.
    prompts: Vec<(MessageId, Arc<ModelMessage>)>,
    /// What it was told last about the day and the project.
    surroundings: Option<String>,
}

/// The last reply, and the calls it asked for.
#[derive(Clone, Debug, Default, PartialEq)]
struct ReplyCalls {
    /// Calls of the last reply, until all have results.
    open: Vec<OpenToolCall>,
    /// Calls made from inside those that are under way: the model reads nothing of them.
    nested: Vec<OpenToolCall>,
    /// What hooks said about calls, until all of these have results.
    hook_texts: Vec<Part>,
    last_stop: Option<StopReason>,
}

/// Tasks of the session, by what the conversation knows of them.
#[derive(Clone, Debug, Default, PartialEq)]
struct KnownTasks {
    /// Tasks that were started and of whose end nothing was told.
    open: Vec<TaskNote>,
    /// The mandates of the runs that started those tasks: the result of one starts a run with the same rights.
    mandates: Vec<TaskMandate>,
    /// The mandate of the last run that had one, for the result of a task that is not known.
    last_mandate: Option<Box<Mandate>>,
    /// Tasks of whose end a call has told, while the inbox may still hold it.
    told: Vec<RunId>,
    /// Tasks of whose end the conversation knows.
    ended: BTreeSet<RunId>,
}

/// The mandate of the run that started a task.
#[derive(Clone, Debug, PartialEq)]
struct TaskMandate {
    task: RunId,
    /// The run whose budget it is: the one that started the task, or the one that woke it.
    run: RunId,
    /// None for a run that a person or program started.
    mandate: Option<Box<Mandate>>,
}

/// The last message taken from each lane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct LanePositions {
    mail: u64,
    boundary: u64,
}

impl LanePositions {
    fn note(&mut self, lane: Lane, position: u64) {
        match lane {
            Lane::Mail => self.mail = position,
            Lane::Boundary => self.boundary = position,
        }
    }
}

/// A permission mode that overrides the one the session was started with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedMode {
    /// The mode.
    pub mode: PermissionMode,
    /// Whether a person wanted it; an agent can only narrow.
    pub is_wish: bool,
}

/// A call and how far it is.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenToolCall {
    /// The call.
    pub call: ToolCall,
    /// What may be done again, if it was started.
    pub intent: Option<Repeat>,
    /// What kind of tool it is for, if it was started.
    pub kind: Option<ToolKind>,
    /// What became of it.
    pub result: Option<ToolResult>,
    /// The call it is made from inside of.
    pub inside: Option<CallId>,
}

impl History {
    /// A history whose messages of the runtime carry this mark.
    pub fn marked(mark: MessageMark) -> Self {
        Self {
            mark,
            ..Self::default()
        }
    }

    /// Takes one event in.
    pub fn apply(&mut self, event: &Event) {
        match &event.body {
            EventBody::SessionOpened {
                forked_from: Some(_),
                ..
            } => {
                self.close_open("forked here");
                self.calls.nested.clear();
                self.run = None;
                self.taken = LanePositions::default();
                // They will be told to the session that started them.
                (self.tasks.open, self.tasks.told) = (Vec::new(), Vec::new());
                self.tasks.mandates.clear();
            }
            EventBody::SessionCleared {
                reason: ClearReason::Asked,
            } => self.clear(),
            EventBody::SessionCleared {
                reason: ClearReason::Emergency,
            } => self.start_over(),
            EventBody::ContextCompacted(compaction) => self.shrink(compaction),
            EventBody::RunStarted {
                mode,
                message,
                title,
                policy,
                bounds,
                surroundings,
                ..
            } => {
                self.close_open(INTERRUPTED);
                if let Some(text) = surroundings {
                    self.tell_surroundings(text);
                }
                self.run = event.run.clone().map(|id| {
                    let mut run = RunView::new(id, message.clone(), *mode, event.ts);
                    (run.title, run.rights.policy, run.rights.initial_policy) =
                        (title.clone(), policy.clone(), policy.clone());
                    run.rights.bounds.clone_from(bounds);
                    run
                });
            }
            EventBody::InboxDelivered {
                task,
                lane,
                position,
                ..
            } => {
                self.taken.note(*lane, *position);
                self.tasks.told.retain(|told| told != task);
            }
            EventBody::InboxDropped { lane, position, .. } => self.taken.note(*lane, *position),
            EventBody::MessageUser {
                message,
                lane,
                position,
            } => {
                self.take_message(message, *lane, *position);
            }
            EventBody::MessageCompleted(reply) => {
                self.reply_at = event.id.unwrap_or(self.reply_at);
                self.take_reply(reply);
            }
            EventBody::FilesUndone(undo) => self.take_undo(undo),
            EventBody::ToolStarted { .. } => self.take_intent(&event.body),
            EventBody::ToolCompleted(record) => self.take_result(record),
            EventBody::RunWaiting {
                reason: WaitReason::RateLimit | WaitReason::Retry,
                until,
                ..
            } => {
                self.set_waiting(*until);
            }
            EventBody::RunWaiting { told, .. } => self.set_told(told.clone()),
            EventBody::RunResumed { .. } => self.set_waiting(None),
            EventBody::PermissionRequested {
                id,
                call,
                digest,
                until,
                spawn,
                ..
            } => {
                self.note_asked(id.as_str(), call, (digest, spawn), *until);
            }
            EventBody::PermissionResolved { id, answer, .. } => {
                self.note_settled(id.as_str(), Some(answer));
            }
            EventBody::QuestionRequested {
                id, call, until, ..
            } => {
                self.note_asked(id.as_str(), call, ("", &[]), *until);
            }
            EventBody::QuestionAnswered { id, .. } => self.note_settled(id.as_str(), None),
            EventBody::ModeChanged { mode, by } => {
                self.mode = mode.map(|mode| ChangedMode {
                    mode,
                    is_wish: by == "user",
                });
            }
            EventBody::PolicyChanged(policy) => self.hold_to(policy),
            EventBody::HookSaid(note) => self.hear_hook(note),
            EventBody::TodoUpdated { items } => self.todos = items.as_slice().into(),
            EventBody::RunVerified(verdict) => self.take_verdict(verdict),
            EventBody::RunCompleted(end) => {
                self.charge_mandates(end);
                self.close_open(INTERRUPTED);
                self.calls.nested.clear();
                self.run = None;
            }
            _ => {}
        }
    }
}
