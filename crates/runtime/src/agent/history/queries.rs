//! Read-only queries of a history: the conversation, and the state of the run.

use std::sync::Arc;

use rooftree_protocol::{
    BlobId, Lane, Limits, MessageId, RunId, Todo,
    event::{SkillNote, StopReason, TaskNote},
};
use rooftree_providers::ModelMessage;

use super::{ChangedMode, History, INTERRUPTED, OpenToolCall, go_on, results_of};
use crate::agent::run_view::RunView;

impl History {
    /// The conversation for a request. Calls without a result get one that says so.
    pub fn messages(&self) -> Arc<Vec<Arc<ModelMessage>>> {
        let mut messages = self.conversation.messages.clone();
        if !self.calls.open.is_empty() {
            Arc::make_mut(&mut messages).push(Arc::new(results_of(&self.calls.open, INTERRUPTED)));
        } else if self.is_cut_off() {
            Arc::make_mut(&mut messages).push(Arc::new(go_on()));
        }
        messages
    }

    /// What the conversation says about the day and the project.
    pub fn surroundings(&self) -> Option<&str> {
        self.conversation.surroundings.as_deref()
    }

    /// The run being worked on.
    pub fn run(&self) -> Option<&RunView> {
        self.run.as_ref()
    }

    /// Calls of the last reply that have no result yet, in call order.
    pub fn open_calls(&self) -> impl Iterator<Item = &OpenToolCall> {
        self.calls.open.iter().filter(|open| open.result.is_none())
    }

    /// Calls made from inside others that have no result yet.
    pub fn inner_calls(&self) -> impl Iterator<Item = &OpenToolCall> {
        self.calls.nested.iter()
    }

    /// The skill and the command files that are followed.
    pub fn followed(&self) -> impl Iterator<Item = &SkillNote> {
        let rights = self.run.iter().map(|run| &run.rights);
        rights.flat_map(|rights| rights.skill.iter().chain(&rights.commands))
    }

    /// How the last reply ended, if it is the last thing that was said.
    pub fn last_reply(&self) -> Option<StopReason> {
        match self.conversation.messages.last().map(Arc::as_ref) {
            Some(ModelMessage::Assistant { .. }) if self.calls.open.is_empty() => {
                self.calls.last_stop
            }
            _ => None,
        }
    }

    /// Whether the last thing said is a reply that hit the model's output limit.
    pub fn is_cut_off(&self) -> bool {
        self.last_reply() == Some(StopReason::MaxOutput)
    }

    /// Number of compactions since the model last replied.
    pub fn shrunk(&self) -> u32 {
        self.shrunk
    }

    /// The last request to the agent.
    pub fn request(&self) -> Option<&Arc<ModelMessage>> {
        self.conversation.request.as_ref()
    }

    /// Whether there is anything besides the last request that could be left out.
    pub fn is_shrinkable(&self) -> bool {
        let told = usize::from(self.conversation.surroundings.is_some());
        self.conversation.messages.len() > 1 + told
    }

    /// Whether the run has used up its turns and has one more, to report how far it got: the delegating agent reads
    /// nothing else.
    pub fn has_last_word(&self, limits: &Limits) -> bool {
        let is_asked = |run: &RunView| {
            run.mandate
                .as_ref()
                .is_some_and(|given| given.expects_answer())
        };
        self.run
            .as_ref()
            .is_some_and(|run| is_asked(run) && run.progress.turns == limits.max_turns)
    }

    /// Whether the work of the run, as it is, was checked.
    pub fn is_checked(&self) -> bool {
        self.checked
    }

    /// Whether the last thing said is what tools answered.
    pub fn ends_with_results(&self) -> bool {
        matches!(
            self.conversation.messages.last().map(Arc::as_ref),
            Some(ModelMessage::Results(_))
        )
    }

    /// Whether a directed run is done: it was to make one call, which has been made, and no message has come since.
    pub fn is_made(&self) -> bool {
        self.run
            .as_ref()
            .is_some_and(|run| run.is_directed && run.progress.turns == 1)
            && self.conversation.prompts.is_empty()
    }

    /// The todo list.
    pub fn todos(&self) -> Arc<[Todo]> {
        self.todos.clone()
    }

    /// The images and files the conversation names, in order.
    pub fn images(&self) -> &[BlobId] {
        &self.conversation.images
    }

    /// The last message that was taken from a lane.
    pub fn taken(&self, lane: Lane) -> u64 {
        match lane {
            Lane::Mail => self.taken.mail,
            Lane::Boundary => self.taken.boundary,
        }
    }

    /// The first content from outside (untrusted) that the model has read, if there is any: it may contain
    /// instructions that conflict with the user's.
    pub fn outside(&self) -> Option<&str> {
        self.outside.as_deref()
    }

    /// What people said since the last reply.
    pub(in crate::agent) fn prompts(&self) -> &[(MessageId, Arc<ModelMessage>)] {
        &self.conversation.prompts
    }

    /// The permission mode, if it was changed since the session began.
    pub fn mode(&self) -> Option<ChangedMode> {
        self.mode
    }

    /// The number of the last reply: where a fork that it asks for branches off.
    pub fn reply_at(&self) -> u64 {
        self.reply_at
    }

    /// Tasks that were started and of whose end nothing was told yet.
    pub fn tasks(&self) -> &[TaskNote] {
        &self.tasks.open
    }

    /// Whether a call has told how this task ended, while the inbox still held it.
    pub fn is_told(&self, task: &RunId) -> bool {
        self.tasks.told.contains(task)
    }

    /// Estimated tokens of the conversation.
    pub fn estimate(&self) -> u64 {
        self.conversation.estimate
    }
}
