//! Tracks from events whether the requested runs have ended. Pure.

mod totals;

use rooftree_protocol::{
    Event, EventBody, MessageId, ParentCall, RunId, ToolKind,
    event::{RunEnd, RunMode},
};
use rooftree_view::RunTreeView;

use crate::terminal::run_text;

/// What is waited for and what came of it.
#[derive(Debug, Default)]
pub struct RunTracker {
    /// Messages that were sent and are not in any run yet.
    awaited: Vec<MessageId>,
    /// Runs at work on them.
    open: Vec<RunId>,
    /// Whether any run will do: nothing was sent, something unfinished goes on.
    any: bool,
    /// Whether everything was told to stop: what wakes after that is not ours.
    pub is_stopping: bool,
    /// The session, the sessions below it, and all runs that were heard of.
    pub tree: RunTreeView,
    /// Whether a run of ours has started a program in background: its end may start a run.
    pub has_programs: bool,
    /// Our runs, in the order in which they became ours.
    ours: Vec<RunId>,
    /// Those of them that have ended, in order.
    ended: Vec<RunId>,
    /// The number of the last event of the session.
    pub seen: u64,
}

/// An agent at work, as shown to the user.
#[derive(Debug, PartialEq, Eq)]
pub struct AgentLabel {
    /// Its path of agents from the main run down: `lead › reviewer`.
    pub path: String,
    pub model: String,
}

/// When something that is not ours is worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignRunOrder {
    /// Before what was sent: it was in the inbox earlier.
    Before,
    /// After what was sent was taken.
    After,
}

/// What an event means to the client that waits for the run.
#[derive(Debug, PartialEq, Eq)]
pub enum TrackerStep {
    Nothing,
    /// Work on what was asked for began.
    Begun,
    /// Work began again because an agent in background answered.
    Woken,
    /// Something that is not ours is being worked on.
    OtherBegun(ForeignRunOrder, String),
    Ended,
}

impl RunTracker {
    /// Waits for whatever ends.
    pub fn for_anything() -> Self {
        Self {
            any: true,
            ..Self::default()
        }
    }

    /// Also waits for this message.
    pub fn await_message(&mut self, message: MessageId) {
        self.awaited.push(message);
    }

    /// Whether any run will do.
    pub fn takes_any(&self) -> bool {
        self.any
    }

    /// The run at work, or the last one.
    pub fn run(&self) -> Option<&RunId> {
        self.open.last().or(self.ended.last())
    }

    /// The run of ours that ended last, and how.
    pub fn last_end(&self) -> Option<(&RunId, &RunEnd)> {
        let run = self.ended.last()?;
        Some((run, self.tree.run(run)?.end.as_deref()?))
    }

    /// The run that ended first: everything that was delegated hangs below it.
    pub fn first(&self) -> Option<&RunId> {
        self.ended.first()
    }

    /// How many runs of ours have ended.
    pub fn ended_runs(&self) -> usize {
        self.ended.len()
    }

    /// Whether a run of ours is at work.
    pub fn is_working(&self) -> bool {
        !self.open.is_empty() || self.any
    }

    /// Whether nothing is waited for any more.
    pub fn is_over(&self) -> bool {
        self.awaited.is_empty() && self.open.is_empty()
    }

    /// Takes an event in.
    pub fn take(&mut self, event: &Event) -> TrackerStep {
        self.seen = event.id.unwrap_or(self.seen);
        self.tree.set_root(&event.session);
        self.tree.apply(event);
        let step = self.step(event);
        // What others had asked for is not part of our account.
        let is_ours = |run: &&RunId| self.any || self.open.contains(run);
        if let Some(run) = event.run.as_ref().filter(is_ours) {
            self.count(run.clone());
        }
        step
    }

    fn count(&mut self, run: RunId) {
        if !self.ours.contains(&run) {
            self.ours.push(run);
        }
    }

    /// Takes an event in that happened before the subscription: only the run of a message that is waited for
    /// counts, and the agents it had delegated to are not waited for.
    pub fn take_past(&mut self, event: &Event) {
        match (&event.body, &event.run) {
            (EventBody::RunStarted { message, .. }, Some(run)) => {
                self.entered(message, run);
            }
            (EventBody::MessageUser { message, .. }, Some(run)) => {
                self.entered(&message.id, run);
            }
            (EventBody::RunCompleted(_), Some(run)) if self.open.contains(run) => {
                self.open.retain(|open| open != run);
                self.ended.push(run.clone());
            }
            _ => {}
        }
    }

    /// Takes over what the journal before the subscription tells of our runs.
    pub fn adopt_past(&mut self, past: &RunTreeView) {
        for run in self.ours.iter().filter_map(|run| past.run(run)) {
            self.tree.adopt(run.clone());
        }
    }

    fn step(&mut self, event: &Event) -> TrackerStep {
        match (&event.body, &event.run) {
            (EventBody::RunStarted { mode, parent, .. }, Some(run))
                if self.is_woken_by_ours(*mode, parent.as_ref()) =>
            {
                self.open.push(run.clone());
                TrackerStep::Woken
            }
            (EventBody::RunStarted { message, title, .. }, Some(run)) => {
                if self.any && !self.open.contains(run) {
                    self.open.push(run.clone());
                }
                let turn = if self.awaited.is_empty() {
                    ForeignRunOrder::After
                } else {
                    ForeignRunOrder::Before
                };
                if self.entered(message, run) || self.any {
                    TrackerStep::Begun
                } else {
                    TrackerStep::OtherBegun(turn, title.clone())
                }
            }
            (EventBody::MessageUser { message, .. }, Some(run)) => {
                if self.entered(&message.id, run) {
                    TrackerStep::Begun
                } else {
                    TrackerStep::Nothing
                }
            }
            (
                EventBody::ToolStarted {
                    kind: ToolKind::Execute,
                    input,
                    ..
                },
                _,
            ) => {
                self.has_programs |= input.get("run_in_background") == Some(&true.into());
                TrackerStep::Nothing
            }
            (EventBody::RunCompleted(_), Some(run)) if self.any || self.open.contains(run) => {
                self.open.retain(|open| open != run);
                self.count(run.clone());
                self.ended.push(run.clone());
                TrackerStep::Ended
            }
            _ => TrackerStep::Nothing,
        }
    }

    /// Takes an event of a session below in.
    pub fn take_delegated(&mut self, event: &Event) {
        self.tree.apply(event);
    }

    /// The agent that an event comes from: its path from the main run, and its model.
    pub fn agent_label(&self, event: &Event, main: &str) -> AgentLabel {
        let agents = self.tree.delegated().count();
        let find =
            |run: Option<&RunId>| self.tree.delegated().find(|agent| Some(&agent.run) == run);
        let Some(agent) = find(event.run.as_ref()) else {
            return AgentLabel {
                path: event.agent.clone(),
                model: run_text::model(self.model()),
            };
        };
        let mut names = vec![agent.agent.as_str()];
        let mut above = agent.origin.parent.as_ref();
        while let Some(agent) = above.and_then(|parent| find(Some(&parent.run))) {
            names.push(&agent.agent);
            above = agent
                .origin
                .parent
                .as_ref()
                .filter(|_| names.len() <= agents);
        }
        names.push(main);
        names.reverse();
        AgentLabel {
            path: names.join(" › "),
            model: run_text::model(&agent.model),
        }
    }

    /// Whether a run goes on with what was asked for: an agent that was asked has answered or has sent a message,
    /// or a program in background has ended. A run that a person, a schedule or a chat starts does not.
    fn is_woken_by_ours(&self, mode: RunMode, parent: Option<&ParentCall>) -> bool {
        let is_agents = !matches!(
            mode,
            RunMode::Main | RunMode::Scheduled | RunMode::Connector
        );
        let mut agents = self.tree.delegated().peekable();
        let has_agents = agents.peek().is_some();
        let is_known =
            parent.is_none_or(|parent| agents.any(|agent| agent.session == parent.session));
        let is_possible = has_agents || self.has_programs && mode == RunMode::Woken;
        is_agents
            && is_known
            && is_possible
            && !self.is_stopping
            && !self.any
            && !self.ended.is_empty()
    }

    fn entered(&mut self, message: &MessageId, run: &RunId) -> bool {
        let before = self.awaited.len();
        self.awaited.retain(|awaited| awaited != message);
        let is_ours = self.awaited.len() < before;
        if is_ours && !self.open.contains(run) {
            self.open.push(run.clone());
            self.count(run.clone());
        }
        is_ours
    }
}

#[cfg(test)]
mod tests;
