//! The delegated runs that are known, folded from the events of a tree. Pure.

use rooftree_protocol::{
    CallId, Event, EventBody, ParentCall, RunId, RunStatus, SessionId, Timestamp, Usage,
    event::{RunEnd, RunMode, TaskNote, ToolRecord, WaitReason},
};

/// A run that somebody delegated.
#[derive(Clone, Debug)]
pub struct Agent {
    pub run: RunId,
    pub session: SessionId,
    pub agent: String,
    /// Empty until it has begun.
    pub model: String,
    /// Who delegated it, if that was seen.
    pub parent: Option<ParentCall>,
    pub mode: RunMode,
    /// What it was asked.
    pub title: String,
    /// The last tool it used, or what else it does.
    pub doing: String,
    pub state: State,
    pub turns: u32,
    pub calls: u32,
    pub usage: Usage,
    pub since: Timestamp,
    /// How long it took, if it has ended.
    pub duration_ms: Option<u64>,
    /// Whether its end was heard from itself, and not only from the call that asked.
    is_heard_out: bool,
}

/// How a delegated run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Working,
    /// It waits for a person.
    Asking,
    /// It waits for its provider.
    Waiting,
    Ended(RunStatus),
}

/// What an event meant for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Began,
    Ended,
    Other,
}

impl Agent {
    pub fn has_ended(&self) -> bool {
        matches!(self.state, State::Ended(_))
    }

    /// How long it has taken up to now.
    pub fn milliseconds(&self, now: Timestamp) -> u64 {
        let so_far = now.since(self.since).as_millis();
        self.duration_ms.unwrap_or_else(|| u64::try_from(so_far).unwrap_or(u64::MAX))
    }

    fn of(event: &Event, run: &RunId) -> Self {
        Self {
            run: run.clone(),
            session: event.session.clone(),
            agent: event.agent.clone(),
            model: String::new(),
            parent: None,
            mode: RunMode::Background,
            title: String::new(),
            doing: String::new(),
            state: State::Working,
            turns: 0,
            calls: 0,
            usage: Usage::none(),
            since: event.ts,
            duration_ms: None,
            is_heard_out: false,
        }
    }

    fn take(&mut self, event: &Event) -> Change {
        match &event.body {
            EventBody::RunStarted { mode, model, title, parent, .. } => {
                (self.mode, self.since) = (*mode, event.ts);
                self.model.clone_from(model);
                self.title.clone_from(title);
                self.parent = parent.clone().or(self.parent.take());
                return Change::Began;
            }
            EventBody::MessageCompleted(reply) => {
                self.turns += 1;
                self.usage += reply.usage;
                self.model.clone_from(&reply.model);
            }
            EventBody::MessageDelta { .. } => "answering".clone_into(&mut self.doing),
            EventBody::ThinkingDelta { .. } => "thinking".clone_into(&mut self.doing),
            EventBody::ToolStarted { tool, title, .. } => self.doing = format!("{tool} {title}"),
            EventBody::ToolCompleted(_) => self.calls += 1,
            EventBody::RunWaiting { reason, detail, .. } => {
                self.state = match reason {
                    WaitReason::Permission | WaitReason::Question => State::Asking,
                    WaitReason::Child => return Change::Other,
                    WaitReason::RateLimit | WaitReason::Retry => State::Waiting,
                };
                self.doing.clone_from(detail);
            }
            EventBody::PermissionRequested { tool, title, .. } => {
                self.doing = format!("wants {tool} {title}");
            }
            EventBody::RunResumed { .. } => {
                self.state = State::Working;
                "thinking".clone_into(&mut self.doing);
            }
            EventBody::RunCompleted(end) => return self.end(end),
            _ => {}
        }
        Change::Other
    }

    fn end(&mut self, end: &RunEnd) -> Change {
        let is_news = !self.is_heard_out;
        self.is_heard_out = true;
        self.state = State::Ended(end.status);
        (self.turns, self.calls, self.usage) = (end.turns, end.calls, end.usage);
        self.duration_ms = Some(end.duration_ms);
        self.doing = match &end.error {
            Some(problem) => problem.message.clone(),
            None => end.text.trim().lines().next().unwrap_or_default().to_owned(),
        };
        if is_news { Change::Ended } else { Change::Other }
    }
}

/// All of them, in the order in which they were first heard of.
#[derive(Clone, Debug, Default)]
pub struct Agents {
    all: Vec<Agent>,
}

impl Agents {
    /// Takes in what happened in a session below; says which run it was about.
    pub fn take(&mut self, event: &Event) -> Option<(&Agent, Change)> {
        let run = event.run.as_ref()?;
        let agent = self.known(run, || Agent::of(event, run))?;
        let change = agent.take(event);
        Some((agent, change))
    }

    /// Takes in what a call says about the run it delegated to.
    pub fn told(&mut self, event: &Event, record: &ToolRecord) {
        let Some(note) = started_by(record) else { return };
        let known = self.known(&note.task, || Agent {
            session: note.session.clone(),
            agent: note.agent.clone(),
            parent: event.run.clone().map(|run| ParentCall {
                session: event.session.clone(),
                run,
                call: record.call.clone(),
            }),
            ..Agent::of(event, &note.task)
        });
        if let (Some(agent), Some(status)) = (known.filter(|agent| !agent.has_ended()), note.status) {
            agent.state = State::Ended(status);
            agent.usage = note.usage.unwrap_or(agent.usage);
            agent.duration_ms = Some(record.duration_ms);
        }
    }

    fn known(&mut self, run: &RunId, new: impl FnOnce() -> Agent) -> Option<&mut Agent> {
        if self.all.iter().all(|agent| agent.run != *run) {
            self.all.push(new());
        }
        self.all.iter_mut().find(|agent| agent.run == *run)
    }

    pub fn all(&self) -> &[Agent] {
        &self.all
    }

    /// Those a call delegated to.
    pub fn of_call<'a>(&'a self, call: &CallId) -> impl Iterator<Item = &'a Agent> + use<'a> {
        let call = call.clone();
        self.all.iter().filter(move |agent| agent.parent.as_ref().is_some_and(|parent| parent.call == call))
    }

    /// Those a run delegated to.
    pub fn below<'a>(&'a self, run: &'a RunId) -> impl Iterator<Item = &'a Agent> {
        self.all.iter().filter(move |agent| agent.parent.as_ref().is_some_and(|parent| parent.run == *run))
    }

    /// Those that have not ended.
    pub fn at_work(&self) -> impl Iterator<Item = &Agent> {
        self.all.iter().filter(|agent| !agent.has_ended())
    }

    /// Whether the end of each was heard from itself.
    pub fn are_heard_out(&self) -> bool {
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
    let began = RunId::akin_to(record.call.as_str());
    record.task.as_ref().filter(|note| note.task == began && !note.cached)
}

#[cfg(test)]
pub mod tests {
    use rooftree_protocol::{MessageId, Outcome, Problem};

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
        };
        event(tail, body)
    }

    pub fn ended(tail: u128, status: RunStatus, text: &str) -> Event {
        let error = (status == RunStatus::Failed)
            .then(|| Problem::new(rooftree_protocol::ErrorCode::Internal, "it broke"));
        let end = RunEnd {
            status,
            text: text.into(),
            turns: 2,
            calls: 1,
            usage: Usage { input: 900, output: 100, ..Usage::none() },
            duration_ms: 1_200,
            files: Vec::new(),
            explored: Vec::new(),
            tools: Vec::new(),
            steps: Vec::new(),
            delegated: Usage::none(),
            verified: None,
            denials: Vec::new(),
            error,
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
            files: Vec::new(),
            diff: None,
            task: Some(TaskNote {
                task: RunId::from_entropy(tail),
                session: SessionId::from_entropy(tail),
                agent: "helper".into(),
                status,
                usage: None,
                cached: false,
            }),
        }
    }

    #[test]
    fn a_run_is_known_from_its_beginning_or_from_its_call_whichever_comes_first() {
        let mut agents = Agents::default();
        let root = event(0, EventBody::MessageDelta { text: String::new() });
        agents.told(&root, &record(3, Some(RunStatus::Completed)));
        assert_eq!(agents.at_work().count(), 0);
        assert!(!agents.are_heard_out(), "its own end has not been heard");
        agents.take(&began(3, 0, RunMode::Foreground));
        let (agent, change) = agents.take(&ended(3, RunStatus::Completed, "gold\nmore")).unwrap();
        assert_eq!((agent.doing.as_str(), change), ("gold", Change::Ended));
        assert!(agents.are_heard_out());
        assert_eq!(agents.all().len(), 1);
    }

    #[test]
    fn a_call_that_only_asks_after_a_task_lets_nobody_wait_for_it() {
        let mut agents = Agents::default();
        let root = event(0, EventBody::MessageDelta { text: String::new() });
        let asking = ToolRecord { call: CallId::from_entropy(9), ..record(3, None) };
        agents.told(&root, &asking);
        assert!(agents.all().is_empty());
    }
}
