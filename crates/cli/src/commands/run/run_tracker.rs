//! Tracks from events whether the requested runs have ended. Pure.

use std::collections::BTreeMap;

use rooftree_protocol::{
    Event, EventBody, MessageId, ParentCall, RunId, ToolKind, Usage,
    event::{Denial, RunEnd, RunMode},
};
use rooftree_view::{RunTreeView, TreeRun};

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

/// What our runs have done so far, for a run that is left before its end.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PartialResult<'a> {
    /// The last answer.
    pub text: &'a str,
    pub turns: u32,
    pub calls: u32,
    /// From the first event to the last.
    pub milliseconds: u64,
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

    fn our_runs(&self) -> impl Iterator<Item = &TreeRun> {
        self.ours.iter().filter_map(|run| self.tree.run(run))
    }

    /// The model that answered last.
    pub fn model(&self) -> &str {
        self.our_runs().last().map_or("", |run| run.model.as_str())
    }

    /// What our ended runs and all delegated runs used.
    pub fn usage(&self) -> Usage {
        let ours = self.ended.iter().filter_map(|run| self.tree.run(run));
        let (mut usage, mut delegated) = (Usage::none(), Usage::none());
        ours.for_each(|run| usage += run.own_usage());
        self.tree
            .delegated()
            .for_each(|run| delegated += run.own_usage());
        usage += delegated;
        usage
    }

    /// What each model used.
    pub fn by_model(&self) -> BTreeMap<String, Usage> {
        let mut sum = BTreeMap::new();
        for (model, used) in self
            .our_runs()
            .chain(self.tree.delegated())
            .flat_map(|run| &run.by_model)
        {
            *sum.entry(model.clone()).or_insert_with(Usage::none) += *used;
        }
        sum
    }

    /// What the delegated runs were not allowed to do, in the order in which they ended.
    pub fn denials(&self) -> Vec<Denial> {
        let mut ended: Vec<&TreeRun> = self.tree.delegated().collect();
        ended.sort_by_key(|run| run.updated_at);
        let ends = ended.into_iter().filter_map(|run| run.end.as_ref());
        ends.flat_map(|end| end.denials.iter().cloned()).collect()
    }

    /// What our runs have done so far.
    pub fn so_far(&self) -> PartialResult<'_> {
        let said = self
            .our_runs()
            .map(TreeRun::text)
            .filter(|text| !text.is_empty());
        let since = self.our_runs().next().map(|run| run.started_at);
        let until = self.our_runs().last().map(|run| run.updated_at);
        let lasted = until.zip(since).map(|(until, since)| until.since(since));
        PartialResult {
            text: said.last().unwrap_or_default(),
            turns: self.our_runs().map(|run| run.turns).sum(),
            calls: self.our_runs().map(|run| run.calls).sum(),
            milliseconds: lasted.map_or(0, |lasted| {
                u64::try_from(lasted.as_millis()).unwrap_or(u64::MAX)
            }),
        }
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
        let mut above = agent.parent.as_ref();
        while let Some(agent) = above.and_then(|parent| find(Some(&parent.run))) {
            names.push(&agent.agent);
            above = agent.parent.as_ref().filter(|_| names.len() <= agents);
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
        let mut past = RunTreeView::default();
        for event in [started(1, 6), completed(1), started(2, 7), completed(2)] {
            past.apply(&event);
            watch.take_past(&event);
        }
        watch.adopt_past(&past);
        assert!(watch.is_over());
        assert_eq!(
            watch.last_end().map(|(run, _)| run),
            Some(&RunId::from_entropy(2))
        );
        assert_eq!(watch.ended_runs(), 1, "another message's run is not ours");
    }

    #[test]
    fn r1_d18_a_run_that_an_agents_message_starts_is_ours_and_a_persons_is_not() {
        use crate::terminal::agent_tree::tests::{begins, ends};
        let mut watch = RunTracker::default();
        watch.await_message(MessageId::from_entropy(7));
        watch.take(&started(1, 7));
        watch.take_delegated(&begins(5, 1, RunMode::Foreground));
        watch.take_delegated(&ends(5, RunStatus::Completed, "gold"));
        watch.take(&completed(1));
        let mut mail = started(2, 8);
        if let EventBody::RunStarted { mode, .. } = &mut mail.body {
            *mode = RunMode::Foreground;
        }
        assert_eq!(watch.take(&mail), TrackerStep::Woken);
        assert_eq!(watch.take(&completed(2)), TrackerStep::Ended);
        assert_eq!(watch.ended_runs(), 2);
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
