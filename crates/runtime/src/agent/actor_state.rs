//! Parts of an agent's state: rights, model, notices, inbox and signals, running calls.

use std::{path::PathBuf, sync::Arc};

use rooftree_protocol::{AgentDefinition, MessageId, Problem, RunId, Timestamp};
use rooftree_providers::{MediaBytes, Model};
use rooftree_tools::{
    Policy,
    mcp::{McpServerLease, Notice},
    tool::FileViews,
};

use super::{
    limits::RunEndReason, nested_calls::NestedCalls, rights::PolicyBasis,
    tool_questions::ToolQuestionQueue, window::ContextWindow,
};
use crate::{
    inbox::InboxPrefetch,
    resolved_agent::SystemPrompt,
    signals::{CompactionRequest, Sender, SignalQueue},
};

/// What an agent may do, and what that was computed from.
pub(super) struct AgentRights {
    /// What may happen without asking, with the rules people made.
    pub(super) policy: Policy,
    /// What the policy was put together from; none if it is to be put together before the next call.
    pub(super) basis: Option<PolicyBasis>,
    /// The definitions that bound its rights: its own, the one that this hides, newer versions since the run began.
    pub(super) definitions: Vec<Arc<AgentDefinition>>,
    /// The edition of the definitions that was looked at last.
    pub(super) edition: u64,
    /// Where the project is whose rules hold: that of the first session above.
    pub(super) home: PathBuf,
}

/// The model an agent asks, and what is sent to it besides the conversation.
pub(super) struct ModelState {
    /// The model, or why there is none.
    pub(super) chosen: Result<Model, Problem>,
    pub(super) window: ContextWindow,
    pub(super) prompt: Arc<SystemPrompt>,
    /// The bytes of the images in the conversation.
    pub(super) media: MediaBytes,
    /// What people were told last that the model does not get.
    pub(super) dropped: Vec<String>,
    /// How often the provider has called the question too long since the last reply.
    pub(super) refusals: u32,
    /// Estimated tokens of the conversation that the model had read at its last reply.
    pub(super) read: u64,
    /// The name of the reply that was asked for last, until it is recorded.
    pub(super) reply: Option<MessageId>,
}

impl ModelState {
    pub(super) fn new(
        chosen: Result<Model, Problem>,
        prompt: Arc<SystemPrompt>,
        default_window: u64,
    ) -> Self {
        Self {
            window: window(&chosen, default_window),
            chosen,
            prompt,
            media: MediaBytes::default(),
            dropped: Vec::new(),
            refusals: 0,
            read: 0,
            reply: None,
        }
    }

    /// Takes another model and prompt for the next run.
    pub(super) fn change(
        &mut self,
        chosen: Result<Model, Problem>,
        prompt: Arc<SystemPrompt>,
        default_window: u64,
    ) {
        self.window = window(&chosen, default_window);
        (self.chosen, self.prompt, self.read) = (chosen, prompt, 0);
    }
}

fn window(chosen: &Result<Model, Problem>, default: u64) -> ContextWindow {
    let window = chosen.as_ref().ok().and_then(|model| model.window);
    ContextWindow::new(window.unwrap_or(default))
}

/// Notices to people about servers, verifiers and files of the project; each is sent once.
#[derive(Default)]
pub(super) struct AgentNotices {
    pub(super) pending: Vec<Notice>,
    pub(super) sent: Vec<Notice>,
}

/// Signals and messages that wait for an agent.
pub(super) struct AgentInbox {
    pub(super) signals: SignalQueue,
    /// When this agent woke.
    pub(super) awake_since: Timestamp,
    /// What waited when the session was claimed.
    pub(super) prefetched: InboxPrefetch,
    /// Whether the boundary lane may hold something that was not taken in.
    pub(super) has_boundary_mail: bool,
    /// A request to clear the session, and who sent it.
    pub(super) clear: Option<Sender>,
    /// A person's request to make the context smaller, until that is done.
    pub(super) compact: Option<CompactionRequest>,
    /// Who sent the command that ends the run; the first one counts.
    pub(super) cancelled_by: Sender,
    /// How the run must end, heard while something else was being done.
    pub(super) end_reason: Option<RunEndReason>,
    /// Runs that are to be stopped as soon as they begin.
    pub(super) runs_to_cancel: Vec<(RunId, Sender)>,
}

impl AgentInbox {
    /// A command ends the run. If one has before, its sender stays.
    pub(super) fn cancel(&mut self, who: Sender) {
        if self.end_reason.is_none() {
            self.cancelled_by = who;
        }
    }

    /// What was to end the run has nothing to end.
    pub(super) fn forget_end(&mut self) {
        (self.end_reason, self.cancelled_by) = (None, None);
    }

    pub(super) fn new(
        signals: SignalQueue,
        awake_since: Timestamp,
        prefetched: InboxPrefetch,
    ) -> Self {
        Self {
            signals,
            awake_since,
            prefetched,
            has_boundary_mail: true,
            clear: None,
            compact: None,
            cancelled_by: None,
            end_reason: None,
            runs_to_cancel: Vec::new(),
        }
    }
}

/// What the calls of an agent share.
#[derive(Default)]
pub(super) struct CallState {
    /// Keep the servers it has tools from.
    pub(super) leases: Vec<McpServerLease>,
    pub(super) file_views: FileViews,
    /// What running tools want to know from people.
    pub(super) questions: ToolQuestionQueue,
    /// What commands of running calls want called.
    pub(super) nested: NestedCalls,
    /// How many agents the last reply has started or is about to start.
    pub(super) spawned: u32,
}
