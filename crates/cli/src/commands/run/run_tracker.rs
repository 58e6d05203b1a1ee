//! Tracks from events whether the requested runs have ended. Pure.

use std::collections::BTreeMap;

use rooftree_protocol::{
    Event, EventBody, MessageId, ParentCall, RunId, ToolKind, Usage,
    event::{Denial, RunEnd, RunMode},
};

use super::partial_result::PartialResult;
use crate::terminal::{delegated_run_list::DelegatedRunList, run_text};

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
    /// The runs that ours delegated to.
    pub agents: DelegatedRunList,
    /// Whether a run of ours has started a program in background: its end may start a run.
    pub has_programs: bool,
    /// What those were not allowed to do.
    pub denials: Vec<Denial>,
    /// How many runs of ours have ended.
    pub runs: u32,
    /// What our own runs used.
    pub used: Option<Usage>,
    /// The run that began first: everything that was delegated hangs below it.
    pub first: Option<RunId>,
    /// The number of the last event of the session.
    pub seen: u64,
    /// The run that ended last.
    pub ended: Option<(RunId, RunEnd)>,
    /// The model that answered last.
    pub model: String,
    /// What each model used.
    pub by_model: BTreeMap<String, Usage>,
    /// What has been done so far, for a run that is left before its end.
    pub so_far: PartialResult,
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
        self.open.last().or(self.ended.as_ref().map(|(run, _)| run))
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
        let step = self.step(event);
        // What others had asked for is not part of our account.
        let is_ours =
            |run: &RunId| self.any || self.open.contains(run) || step == TrackerStep::Ended;
        if event.run.as_ref().is_some_and(is_ours) {
            self.count(event);
        }
        step
    }

    /// Takes an event in that happened before the subscription: only the run of a message that is waited for
    /// counts, and the agents it had delegated to are not waited for.
    pub fn take_past(&mut self, event: &Event) {
        let is_wanted = match &event.body {
            EventBody::RunStarted { message, .. } => self.awaited.contains(message),
            EventBody::MessageUser { message, .. } => self.awaited.contains(&message.id),
            EventBody::MessageCompleted(_) | EventBody::RunCompleted(_) => event
                .run
                .as_ref()
                .is_some_and(|run| self.open.contains(run)),
            _ => false,
        };
        if is_wanted {
            self.take(event);
        }
    }

    /// Adds an event of a run of ours to the account.
    fn count(&mut self, event: &Event) {
        self.so_far.take(event);
        match &event.body {
            EventBody::RunStarted { model, .. } => self.model.clone_from(model),
            EventBody::MessageCompleted(reply) => {
                self.model.clone_from(&reply.model);
                *self
                    .by_model
                    .entry(reply.model.clone())
                    .or_insert_with(Usage::none) += reply.usage;
            }
            _ => {}
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
            (EventBody::ToolCompleted(record), _) => {
                self.agents.apply_call_result(event, record);
                TrackerStep::Nothing
            }
            (EventBody::RunCompleted(end), Some(run)) if self.any || self.open.contains(run) => {
                self.open.retain(|open| open != run);
                *self.used.get_or_insert_with(Usage::none) += end.usage;
                self.runs += 1;
                self.first.get_or_insert_with(|| run.clone());
                self.ended = Some((run.clone(), end.clone()));
                TrackerStep::Ended
            }
            _ => TrackerStep::Nothing,
        }
    }

    /// Takes an event of a session below in.
    pub fn take_delegated(&mut self, event: &Event) {
        match &event.body {
            EventBody::MessageCompleted(reply) => {
                *self
                    .by_model
                    .entry(reply.model.clone())
                    .or_insert_with(Usage::none) += reply.usage;
            }
            EventBody::ToolCompleted(record) => self.agents.apply_call_result(event, record),
            EventBody::RunCompleted(end) => self.denials.extend(end.denials.iter().cloned()),
            _ => {}
        }
        self.agents.take(event);
    }

    /// The agent that an event comes from: its path from the main run, and its model.
    pub fn agent_label(&self, event: &Event, main: &str) -> AgentLabel {
        let agents = self.agents.all();
        let find = |run: Option<&RunId>| agents.iter().find(|agent| Some(&agent.run) == run);
        let Some(agent) = find(event.run.as_ref()) else {
            return AgentLabel {
                path: event.agent.clone(),
                model: run_text::model(&self.model),
            };
        };
        let mut names = vec![agent.agent.as_str()];
        let mut above = agent.parent.as_ref();
        while let Some(agent) = above.and_then(|parent| find(Some(&parent.run))) {
            names.push(&agent.agent);
            above = agent
                .parent
                .as_ref()
                .filter(|_| names.len() <= agents.len());
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
        let agents = self.agents.all();
        let is_known =
            parent.is_none_or(|parent| agents.iter().any(|agent| agent.session == parent.session));
        let is_possible = !agents.is_empty() || self.has_programs && mode == RunMode::Woken;
        is_agents
            && is_known
            && is_possible
            && !self.is_stopping
            && !self.any
            && self.ended.is_some()
    }

    fn entered(&mut self, message: &MessageId, run: &RunId) -> bool {
        let before = self.awaited.len();
        self.awaited.retain(|awaited| awaited != message);
        let is_ours = self.awaited.len() < before;
        if is_ours && !self.open.contains(run) {
            self.open.push(run.clone());
        }
        is_ours
    }
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::{RunStatus, SessionId, Timestamp};

    use super::*;

    fn event(run: u128, body: EventBody) -> Event {
        Event {
            v: 1,
            id: None,
            ts: Timestamp(0),
            session: SessionId::from_entropy(1),
            run: Some(RunId::from_entropy(run)),
            parent_run: None,
            agent: "lead".into(),
            body,
        }
    }

    fn started(run: u128, message: u128) -> Event {
        let message = MessageId::from_entropy(message);
        event(
            run,
            EventBody::RunStarted {
                mode: RunMode::Main,
                message,
                model: "m".into(),
                title: "t".into(),
                depth: 0,
                parent: None,
                policy: None,
                bounds: None,
            },
        )
    }

    fn completed(run: u128) -> Event {
        event(
            run,
            EventBody::RunCompleted(RunEnd::new(RunStatus::Completed)),
        )
    }

    #[test]
    fn only_the_run_of_our_own_message_ends_the_wait() {
        let mut watch = RunTracker::default();
        watch.await_message(MessageId::from_entropy(7));
        assert_eq!(
            watch.take(&started(1, 6)),
            TrackerStep::OtherBegun(ForeignRunOrder::Before, "t".into())
        );
        assert_eq!(watch.take(&completed(1)), TrackerStep::Nothing);
        assert!(!watch.is_over() && !watch.is_working());
        assert_eq!(watch.take(&started(2, 7)), TrackerStep::Begun);
        assert!(watch.is_working());
        assert_eq!(watch.take(&completed(2)), TrackerStep::Ended);
        assert!(watch.is_over());
    }

    #[test]
    fn s_b4_a_message_that_was_answered_before_is_over_at_once() {
        let mut watch = RunTracker::default();
        watch.await_message(MessageId::from_entropy(7));
        for event in [started(1, 6), completed(1), started(2, 7), completed(2)] {
            watch.take_past(&event);
        }
        assert!(watch.is_over());
        assert_eq!(
            watch.ended.as_ref().map(|(run, _)| run),
            Some(&RunId::from_entropy(2))
        );
        assert_eq!(watch.runs, 1, "another message's run is not ours");
    }

    #[test]
    fn r1_d18_a_run_that_an_agents_message_starts_is_ours_and_a_persons_is_not() {
        use crate::terminal::delegated_run_list::tests::{began, ended};
        let mut watch = RunTracker::default();
        watch.await_message(MessageId::from_entropy(7));
        watch.take(&started(1, 7));
        watch.take_delegated(&began(5, 1, RunMode::Foreground));
        watch.take_delegated(&ended(5, RunStatus::Completed, "gold"));
        watch.take(&completed(1));
        let mut mail = started(2, 8);
        if let EventBody::RunStarted { mode, .. } = &mut mail.body {
            *mode = RunMode::Foreground;
        }
        assert_eq!(watch.take(&mail), TrackerStep::Woken);
        assert_eq!(watch.take(&completed(2)), TrackerStep::Ended);
        assert_eq!(watch.runs, 2);
        assert_eq!(
            watch.take(&started(3, 9)),
            TrackerStep::OtherBegun(ForeignRunOrder::After, "t".into())
        );
        assert_eq!(watch.take(&completed(3)), TrackerStep::Nothing);
    }

    #[test]
    fn r2_d26_a_message_is_an_earlier_one_only_until_ours_is_worked_on() {
        let mut watch = RunTracker::default();
        watch.await_message(MessageId::from_entropy(7));
        assert_eq!(
            watch.take(&started(1, 6)),
            TrackerStep::OtherBegun(ForeignRunOrder::Before, "t".into())
        );
        watch.take(&completed(1));
        watch.take(&started(2, 7));
        watch.take(&completed(2));
        assert_eq!(
            watch.take(&started(3, 8)),
            TrackerStep::OtherBegun(ForeignRunOrder::After, "t".into())
        );
    }

    #[test]
    fn several_messages_are_waited_for_in_any_order() {
        let mut watch = RunTracker::default();
        watch.await_message(MessageId::from_entropy(1));
        watch.await_message(MessageId::from_entropy(2));
        watch.take(&started(1, 1));
        watch.take(&completed(1));
        assert!(!watch.is_over());
        watch.take(&started(2, 2));
        watch.take(&completed(2));
        assert!(watch.is_over());
    }

    #[test]
    fn going_on_with_the_unfinished_takes_any_run_for_its_own() {
        let mut watch = RunTracker::for_anything();
        assert_eq!(watch.take(&completed(9)), TrackerStep::Ended);
        assert!(watch.is_over());
        watch.take(&started(10, 3));
        assert!(!watch.is_over(), "it is left only when nothing is at work");
        watch.take(&completed(10));
        assert!(watch.is_over());
    }
}
