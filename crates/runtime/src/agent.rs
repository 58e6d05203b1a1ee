//! The agent actor and its shared helpers. Its lifecycle is in `lifecycle.rs`, the loop in `run.rs`.
//!
//! An agent is a session that is awake. It is one task that owns all of the session's state; all other code sends it
//! signals or reads its events.

mod act;
mod actor_state;
mod ask;
mod batch;
mod budget;
mod call;
mod call_progress;
mod chat_posts;
mod chat_words;
mod check;
mod compaction;
mod decide;
mod fan_out;
pub(crate) mod history;
mod hook_points;
mod inquire;
mod interruption;
mod journal;
mod lifecycle;
mod limits;
pub(crate) mod message_text;
mod nested_calls;
mod permission;
mod preimages;
pub(crate) mod prompt;
mod recovery;
mod reply_check;
mod result;
mod retry;
mod rights;
mod run;
mod run_view;
mod settle;
mod setup;
mod setup_verifiers;
mod strict;
mod take;
pub(crate) mod task;
#[cfg(test)]
mod testing;
mod tool_questions;
mod verify;
mod window;
pub(crate) mod working_directory;

use std::sync::Arc;

use rooftree_protocol::{
    Event, EventBody, Mandate, PromptContext, RunId, Session, SessionId, event::NoticeLevel,
};
use rooftree_tools::mcp::Notice;

pub(crate) use self::lifecycle::run_until_idle;
use self::{
    actor_state::{AgentInbox, AgentNotices, AgentRights, CallState, ModelState},
    decide::{Verification, WindowRoom},
    history::History,
    journal::{Journal, JournalCommit},
};
use crate::{
    Error, ProjectContext, checks::WorkCheck, resolved_agent::ResolvedAgent,
    runtime_context::RuntimeContext, signals::AgentSignal,
};

/// An agent: a session that is awake.
struct AgentActor {
    context: Arc<RuntimeContext>,
    session: Session,
    /// Its definition, resolved for the run.
    resolved: Arc<ResolvedAgent>,
    /// What it found around it when the run began.
    project_context: Arc<ProjectContext>,
    /// How much of that its model reads.
    prompt_context: PromptContext,
    /// For whom it works, if another agent asks.
    mandate: Option<Box<Mandate>>,
    /// What checks its work, by name.
    verifiers: Arc<[(String, WorkCheck)]>,
    rights: AgentRights,
    model: ModelState,
    notices: AgentNotices,
    journal: Journal,
    /// What a new journal begins with. It is kept with whatever comes first.
    opening: Option<EventBody>,
    history: History,
    inbox: AgentInbox,
    calls: CallState,
    /// What is to be remembered about hooks.
    hook_state: hook_points::HookState,
}

/// The first event of a journal that has none of its own yet.
fn opening(session: &Session) -> Option<EventBody> {
    let forked_from = session.forked_from.clone();
    let inherited = forked_from.as_ref().map_or(0, |fork| fork.at);
    let (agent, name) = (session.agent.clone(), session.name.clone());
    (session.head == inherited).then_some(EventBody::SessionOpened {
        agent,
        name,
        forked_from,
    })
}

impl AgentActor {
    /// Appends to the journal and to the history, which are never apart.
    fn append(&mut self, commit: JournalCommit) {
        let opening = self.opening.take();
        let blobs = if self.calls.nested.is_idle() {
            Vec::new()
        } else {
            commit.blobs.clone()
        };
        for event in self.journal.append(JournalCommit { opening, ..commit }) {
            self.observe(&event);
            if let EventBody::ToolCompleted(record) = &event.body {
                self.calls.nested.tell(record, &blobs);
            }
            self.note_agreement(&event.body);
        }
    }

    /// Begins the journal, if nothing else has.
    fn open_journal(&mut self) {
        if self.opening.is_some() {
            self.append(JournalCommit::default());
        }
    }

    /// Appends one event of the open run.
    fn note(&mut self, body: EventBody) {
        self.append(JournalCommit {
            bodies: vec![body],
            run: self.run_id(),
            ..JournalCommit::default()
        });
    }

    /// Tells what people should know about servers, each thing once.
    fn send_notices(&mut self) {
        for notice in std::mem::take(&mut self.notices.pending) {
            if self.notices.sent.contains(&notice) {
                continue;
            }
            self.notices.sent.push(notice.clone());
            let Notice {
                code,
                message,
                hint,
            } = notice;
            self.note(EventBody::Notice {
                level: NoticeLevel::Warning,
                code: code.into(),
                message,
                hint,
            });
        }
    }

    /// Tells watchers something about the open run that is not kept.
    fn say(&self, body: EventBody) {
        self.journal.publisher().say(self.run_id(), body);
    }

    /// Takes an event in, live or replayed.
    fn observe(&mut self, event: &Event) {
        self.history.apply(event);
        if matches!(
            event.body,
            EventBody::SessionCleared { .. } | EventBody::ContextCompacted(_)
        ) {
            self.calls.file_views.clear();
        }
    }

    /// Room in the model's context window for the next request.
    fn room(&self) -> WindowRoom {
        let estimate = prompt::estimate(self);
        let percent = self.resolved.limits.compact_at_percent;
        let is_above = |percent| {
            let spoken = self.model.window.tokens(self.history.estimate());
            (self.emergency_context())
                .is_some_and(|limit| spoken > limit * u64::from(percent) / 100)
        };
        let is_wanted = self.inbox.compact.is_some() && !self.is_program();
        if self.model.refusals == 0 && is_wanted && self.history.shrunk() == 0 {
            return WindowRoom::Tight;
        }
        match self.model.refusals {
            // A request that is above the limit by itself is asked: the limit is not the model's.
            0 if self.history.shrunk() > 0 && self.history.is_shrinkable() && is_above(100) => {
                WindowRoom::None(3)
            }
            0 if (self.model.window.is_tight(estimate, percent) || is_above(percent))
                && !self.hook_state.is_put_off(self.history.reply_at()) =>
            {
                WindowRoom::Tight
            }
            0 => WindowRoom::Plenty,
            refusals => WindowRoom::None(refusals),
        }
    }

    /// Tokens of conversation above which it is started anew, if it cannot be made smaller. A program that answers
    /// as a model compacts its own context.
    fn emergency_context(&self) -> Option<u64> {
        let limit = self.resolved.limits.emergency_context;
        (limit > 0 && !self.is_program()).then_some(limit)
    }

    /// Whether a program answers as a model, with a context of its own.
    fn is_program(&self) -> bool {
        let model = self.model.chosen.as_ref().ok();
        model.is_some_and(|model| model.provider.has_own_tools())
    }

    /// Whether verifiers check the work when it is done.
    fn checking(&self) -> Verification {
        if self.verifiers.is_empty() {
            Verification::No
        } else {
            Verification::Wanted
        }
    }

    /// The provider called the question too long; it may have said how much it takes.
    fn refused_as_too_long(&mut self, limit: Option<u64>) {
        // What was made smaller before the question was asked has not helped either.
        self.model.refusals = self.history.shrunk() + 1;
        self.model.window.limit = limit
            .unwrap_or(self.model.window.limit)
            .min(self.model.window.limit);
    }

    fn run_id(&self) -> Option<RunId> {
        self.history.run().map(|run| run.id.clone())
    }

    /// The session people watch: the first one above.
    fn root(&self) -> SessionId {
        let above = self
            .mandate
            .as_ref()
            .and_then(|mandate| mandate.above.first());
        above.map_or_else(|| self.session.id.clone(), |above| above.session.clone())
    }

    /// Whether another agent waits to hear how the run ends.
    fn is_asked(&self) -> bool {
        self.mandate
            .as_ref()
            .is_some_and(|mandate| mandate.expects_answer())
    }

    /// Depth of delegation: the number of agents above.
    fn depth(&self) -> u32 {
        self.mandate.as_ref().map_or(0, |mandate| mandate.depth())
    }

    fn model_name(&self) -> String {
        self.model
            .chosen
            .as_ref()
            .map_or_else(|_| String::new(), |model| model.choice.to_string())
    }

    /// Takes in every signal that is there, without waiting. What must end the run is kept in `ending`.
    fn apply_pending_signals(&mut self) -> Result<(), Error> {
        while let Some(signal) = self.inbox.signals.try_next() {
            if let Some(end) = self.apply_signal(signal)? {
                self.inbox.end_reason = Some(end);
            }
        }
        Ok(())
    }

    /// Takes in signals that came while a run was being started. A command to stop that names no run was sent before there
    /// was a message to work on, so it is not meant for this run.
    fn apply_signals_before_run(&mut self) -> Result<(), Error> {
        while let Some(signal) = self.inbox.signals.try_next() {
            if matches!(signal, AgentSignal::Cancel(None, _)) {
                continue;
            }
            if let Some(end) = self.apply_signal(signal)? {
                self.inbox.end_reason = Some(end);
            }
        }
        Ok(())
    }
}
