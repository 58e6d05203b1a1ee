//! State of one delegated run, folded from its events. Pure.

use rooftree_protocol::{
    Event, EventBody, ParentCall, RunId, RunStatus, SessionId, Timestamp, Usage,
    event::{RunEnd, RunMode, WaitReason},
};

/// A run that another run delegated.
#[derive(Clone, Debug)]
pub struct DelegatedRun {
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
    pub state: DelegatedRunState,
    /// Whether its work was checked, and found good.
    pub verified: Option<bool>,
    pub turns: u32,
    pub calls: u32,
    pub usage: Usage,
    pub since: Timestamp,
    /// How long it took, if it has ended.
    pub duration_ms: Option<u64>,
    /// Whether its end was heard from itself, and not only from the call that asked.
    pub(super) is_heard_out: bool,
}

/// How a delegated run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelegatedRunState {
    Working,
    /// It waits for a person.
    Asking,
    /// It waits for its provider.
    Waiting,
    Ended(RunStatus),
}

/// What an event meant for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelegatedRunChange {
    Began,
    Ended,
    Other,
}

impl DelegatedRun {
    pub fn has_ended(&self) -> bool {
        matches!(self.state, DelegatedRunState::Ended(_))
    }

    /// How long it has taken up to now.
    pub fn milliseconds(&self, now: Timestamp) -> u64 {
        let so_far = now.since(self.since).as_millis();
        self.duration_ms
            .unwrap_or_else(|| u64::try_from(so_far).unwrap_or(u64::MAX))
    }

    pub(super) fn of(event: &Event, run: &RunId) -> Self {
        Self {
            run: run.clone(),
            session: event.session.clone(),
            agent: event.agent.clone(),
            model: String::new(),
            parent: None,
            mode: RunMode::Background,
            title: String::new(),
            doing: String::new(),
            state: DelegatedRunState::Working,
            verified: None,
            turns: 0,
            calls: 0,
            usage: Usage::none(),
            since: event.ts,
            duration_ms: None,
            is_heard_out: false,
        }
    }

    pub(super) fn take(&mut self, event: &Event) -> DelegatedRunChange {
        match &event.body {
            EventBody::RunStarted {
                mode,
                model,
                title,
                parent,
                ..
            } => {
                (self.mode, self.since) = (*mode, event.ts);
                self.model.clone_from(model);
                self.title.clone_from(title);
                self.parent = parent.clone().or(self.parent.take());
                return DelegatedRunChange::Began;
            }
            EventBody::MessageCompleted(reply) => {
                self.turns += 1;
                self.usage += reply.usage;
                self.model.clone_from(&reply.model);
            }
            EventBody::MessageDelta { .. } => "answering".clone_into(&mut self.doing),
            EventBody::ThinkingDelta { .. } => "thinking".clone_into(&mut self.doing),
            EventBody::ToolStarted { tool, title, .. } => self.doing = format!("{tool} {title}"),
            EventBody::ToolCompleted(record) => {
                self.calls += 1;
                self.usage += record.usage.unwrap_or_else(Usage::none);
            }
            EventBody::RunWaiting { reason, detail, .. } => {
                self.state = match reason {
                    WaitReason::Permission | WaitReason::Question => DelegatedRunState::Asking,
                    WaitReason::Child => return DelegatedRunChange::Other,
                    WaitReason::RateLimit | WaitReason::Retry => DelegatedRunState::Waiting,
                };
                self.doing.clone_from(detail);
            }
            EventBody::PermissionRequested { tool, title, .. } => {
                self.doing = format!("wants {tool} {title}");
            }
            EventBody::RunResumed { .. } => {
                self.state = DelegatedRunState::Working;
                "thinking".clone_into(&mut self.doing);
            }
            EventBody::RunCompleted(end) => return self.end(end),
            _ => {}
        }
        DelegatedRunChange::Other
    }

    fn end(&mut self, end: &RunEnd) -> DelegatedRunChange {
        let is_news = !self.is_heard_out;
        self.is_heard_out = true;
        (self.state, self.verified) = (DelegatedRunState::Ended(end.status), end.verified);
        (self.turns, self.calls, self.usage) = (end.turns, end.calls, end.usage);
        self.duration_ms = Some(end.duration_ms);
        self.doing = match &end.error {
            Some(problem) => problem.message.clone(),
            None if end.is_refuted() => end.refutation(),
            None => end
                .text
                .trim()
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned(),
        };
        if is_news {
            DelegatedRunChange::Ended
        } else {
            DelegatedRunChange::Other
        }
    }
}
