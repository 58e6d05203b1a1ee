//! All known delegated runs, folded from the events of a tree. Pure.

use rooftree_protocol::{
    CallId, Event, ParentCall, RunId, Usage,
    event::{TaskNote, ToolRecord},
};

use super::delegated_run::{DelegatedRun, DelegatedRunChange, DelegatedRunState};

/// All of them, in the order in which they were first heard of.
#[derive(Clone, Debug, Default)]
pub struct DelegatedRunList {
    all: Vec<DelegatedRun>,
}

impl DelegatedRunList {
    /// Takes in what happened in a session below; says which run it was about.
    pub fn take(&mut self, event: &Event) -> Option<(&DelegatedRun, DelegatedRunChange)> {
        let run = event.run.as_ref()?;
        let agent = self.known(run, || DelegatedRun::of(event, run))?;
        let change = agent.take(event);
        Some((agent, change))
    }

    /// Takes in what a call says about the run it delegated to.
    pub fn apply_call_result(&mut self, event: &Event, record: &ToolRecord) {
        let Some(note) = started_by(record) else {
            return;
        };
        let known = self.known(&note.task, || DelegatedRun {
            session: note.session.clone(),
            agent: note.agent.clone(),
            parent: event.run.clone().map(|run| ParentCall {
                session: event.session.clone(),
                run,
                call: record.call.clone(),
            }),
            ..DelegatedRun::of(event, &note.task)
        });
        if let (Some(agent), Some(status)) = (known.filter(|agent| !agent.has_ended()), note.status)
        {
            (agent.state, agent.verified) = (DelegatedRunState::Ended(status), note.verified);
            agent.usage = note.usage.unwrap_or(agent.usage);
            agent.duration_ms = Some(record.duration_ms);
        }
    }

    fn known(
        &mut self,
        run: &RunId,
        new: impl FnOnce() -> DelegatedRun,
    ) -> Option<&mut DelegatedRun> {
        if self.all.iter().all(|agent| agent.run != *run) {
            self.all.push(new());
        }
        self.all.iter_mut().find(|agent| agent.run == *run)
    }

    pub fn all(&self) -> &[DelegatedRun] {
        &self.all
    }

    /// Those a call delegated to.
    pub fn of_call<'a>(
        &'a self,
        call: &CallId,
    ) -> impl Iterator<Item = &'a DelegatedRun> + use<'a> {
        let call = call.clone();
        self.all.iter().filter(move |agent| {
            agent
                .parent
                .as_ref()
                .is_some_and(|parent| parent.call == call)
        })
    }

    /// Those a run delegated to.
    pub fn below<'a>(&'a self, run: &'a RunId) -> impl Iterator<Item = &'a DelegatedRun> {
        self.all.iter().filter(move |agent| {
            agent
                .parent
                .as_ref()
                .is_some_and(|parent| parent.run == *run)
        })
    }

    /// Those that have not ended.
    pub fn at_work(&self) -> impl Iterator<Item = &DelegatedRun> {
        self.all.iter().filter(|agent| !agent.has_ended())
    }

    /// Whether the end of each was heard from itself.
    pub fn have_all_ended(&self) -> bool {
        self.all.iter().all(|agent| agent.is_heard_out)
    }

    /// What all of them used.
    pub fn usage(&self) -> Usage {
        self.all.iter().fold(Usage::none(), |mut sum, agent| {
            sum += agent.usage;
            sum
        })
    }
}

/// What a call says about a run that it began itself, and not about one it only asked after.
fn started_by(record: &ToolRecord) -> Option<&TaskNote> {
    let began = RunId::derived_from(record.call.as_str());
    record
        .task
        .as_ref()
        .filter(|note| note.task == began && !note.cached)
}

#[cfg(test)]
pub mod tests {
    use rooftree_protocol::{
        EventBody, MessageId, Outcome, Problem, RunStatus, SessionId, Timestamp,
        event::{RunEnd, RunMode},
    };

    use super::*;

    pub fn event(tail: u128, body: EventBody) -> Event {
        Event {
            v: 1,
            id: None,
            ts: Timestamp(1_000),
            session: SessionId::from_entropy(tail),
            run: Some(RunId::from_entropy(tail)),
            parent_run: None,
            agent: format!("agent{tail}"),
            body,
        }
    }

    /// A run that another one delegated; 0 is the first one.
    pub fn began(tail: u128, parent: u128, mode: RunMode) -> Event {
        let body = EventBody::RunStarted {
            mode,
            message: MessageId::from_entropy(tail),
            model: "demo/script".into(),
            title: "look".into(),
            depth: 1,
            parent: Some(ParentCall {
                session: SessionId::from_entropy(parent),
                run: RunId::from_entropy(parent),
                call: CallId::from_entropy(tail),
            }),
            policy: None,
            bounds: None,
        };
        event(tail, body)
    }

    pub fn ended(tail: u128, status: RunStatus, text: &str) -> Event {
        let error = (status == RunStatus::Failed)
            .then(|| Problem::new(rooftree_protocol::ErrorCode::Internal, "it broke"));
        let end = RunEnd {
            text: text.into(),
            turns: 2,
            calls: 1,
            usage: Usage {
                input: 900,
                output: 100,
                ..Usage::none()
            },
            duration_ms: 1_200,
            error,
            ..RunEnd::new(status)
        };
        event(tail, EventBody::RunCompleted(end))
    }

    fn record(tail: u128, status: Option<RunStatus>) -> ToolRecord {
        ToolRecord {
            call: CallId::from_entropy(tail),
            tool: "Task".into(),
            title: "agent: look".into(),
            outcome: Outcome::Done,
            content: Vec::new(),
            duration_ms: 5,
            full: None,
            inside: None,
            input: None,
            skill: None,
            files: Vec::new(),
            diff: None,
            usage: None,
            task: Some(TaskNote {
                outside: false,
                task: RunId::from_entropy(tail),
                session: SessionId::from_entropy(tail),
                agent: "helper".into(),
                status,
                verified: None,
                usage: None,
                share: None,
                cached: false,
            }),
        }
    }

    #[test]
    fn a_run_is_known_from_its_beginning_or_from_its_call_whichever_comes_first() {
        let mut agents = DelegatedRunList::default();
        let root = event(
            0,
            EventBody::MessageDelta {
                text: String::new(),
            },
        );
        agents.apply_call_result(&root, &record(3, Some(RunStatus::Completed)));
        assert_eq!(agents.at_work().count(), 0);
        assert!(!agents.have_all_ended(), "its own end has not been heard");
        agents.take(&began(3, 0, RunMode::Foreground));
        let (agent, change) = agents
            .take(&ended(3, RunStatus::Completed, "gold\nmore"))
            .unwrap();
        assert_eq!(
            (agent.doing.as_str(), change),
            ("gold", DelegatedRunChange::Ended)
        );
        assert!(agents.have_all_ended());
        assert_eq!(agents.all().len(), 1);
    }

    #[test]
    fn a_call_that_only_asks_after_a_task_lets_nobody_wait_for_it() {
        let mut agents = DelegatedRunList::default();
        let root = event(
            0,
            EventBody::MessageDelta {
                text: String::new(),
            },
        );
        let asking = ToolRecord {
            call: CallId::from_entropy(9),
            ..record(3, None)
        };
        agents.apply_call_result(&root, &asking);
        assert!(agents.all().is_empty());
    }
}
