//! Knows from events whether what was asked for is done. Pure.

use std::collections::BTreeMap;

use rooftree_protocol::{Event, EventBody, MessageId, RunId, Timestamp, Usage, event::RunEnd};

/// What is waited for and what came of it.
#[derive(Debug, Default)]
pub struct Watch {
    /// Messages that were sent and are not in any run yet.
    awaited: Vec<MessageId>,
    /// Runs at work on them.
    open: Vec<RunId>,
    /// Whether any run will do: nothing was sent, something unfinished goes on.
    any: bool,
    /// The run that ended last.
    pub ended: Option<(RunId, RunEnd)>,
    /// The model that answered last.
    pub model: String,
    /// What each model used.
    pub by_model: BTreeMap<String, Usage>,
    /// What has been done so far, for a run that is left before its end.
    pub so_far: SoFar,
}

/// A run up to now.
#[derive(Debug, Default)]
pub struct SoFar {
    /// The last thing said.
    pub text: String,
    pub turns: u32,
    pub calls: u32,
    since: Option<Timestamp>,
    until: Timestamp,
}

impl SoFar {
    /// How long it has taken, from the first event to the last.
    pub fn milliseconds(&self) -> u64 {
        let lasted = self.until.since(self.since.unwrap_or(self.until));
        u64::try_from(lasted.as_millis()).unwrap_or(u64::MAX)
    }

    fn take(&mut self, event: &Event) {
        self.since.get_or_insert(event.ts);
        self.until = event.ts;
        match &event.body {
            EventBody::MessageCompleted(reply) => {
                self.text.clone_from(&reply.text);
                self.turns += 1;
            }
            EventBody::ToolCompleted(_) => self.calls += 1,
            _ => {}
        }
    }
}

/// What an event means to whoever waits.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    Nothing,
    /// Work on what was asked for began.
    Begun,
    /// Something sent earlier, or by somebody else, is being worked on first.
    OtherBegun(String),
    Ended,
}

impl Watch {
    /// Waits for whatever ends.
    pub fn for_anything() -> Self {
        Self { any: true, ..Self::default() }
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
    pub fn take(&mut self, event: &Event) -> Step {
        self.so_far.take(event);
        match (&event.body, &event.run) {
            (EventBody::RunStarted { message, model, title, .. }, Some(run)) => {
                self.model.clone_from(model);
                if self.entered(message, run) || self.any {
                    Step::Begun
                } else {
                    Step::OtherBegun(title.clone())
                }
            }
            (EventBody::MessageUser { message, .. }, Some(run)) => {
                if self.entered(&message.id, run) {
                    Step::Begun
                } else {
                    Step::Nothing
                }
            }
            (EventBody::MessageCompleted(reply), _) => {
                self.model.clone_from(&reply.model);
                *self.by_model.entry(reply.model.clone()).or_insert_with(Usage::none) += reply.usage;
                Step::Nothing
            }
            (EventBody::RunCompleted(end), Some(run)) if self.any || self.open.contains(run) => {
                self.open.retain(|open| open != run);
                self.ended = Some((run.clone(), end.clone()));
                Step::Ended
            }
            (EventBody::RunCompleted(_), _) => {
                // What others had asked for is not part of our account.
                self.by_model.clear();
                self.so_far = SoFar::default();
                Step::Nothing
            }
            _ => Step::Nothing,
        }
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
    use rooftree_protocol::{RunStatus, SessionId, event::RunMode};

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
            },
        )
    }

    fn completed(run: u128) -> Event {
        let end = RunEnd {
            status: RunStatus::Completed,
            text: String::new(),
            turns: 1,
            calls: 0,
            usage: Usage::none(),
            duration_ms: 0,
            files: Vec::new(),
            explored: Vec::new(),
            tools: Vec::new(),
            steps: Vec::new(),
            delegated: rooftree_protocol::Usage::none(),
            workspace: None,
            verified: None,
            denials: Vec::new(),
            error: None,
        };
        event(run, EventBody::RunCompleted(end))
    }

    #[test]
    fn only_the_run_of_our_own_message_ends_the_wait() {
        let mut watch = Watch::default();
        watch.await_message(MessageId::from_entropy(7));
        assert_eq!(watch.take(&started(1, 6)), Step::OtherBegun("t".into()));
        assert_eq!(watch.take(&completed(1)), Step::Nothing);
        assert!(!watch.is_over() && !watch.is_working());
        assert_eq!(watch.take(&started(2, 7)), Step::Begun);
        assert!(watch.is_working());
        assert_eq!(watch.take(&completed(2)), Step::Ended);
        assert!(watch.is_over());
    }

    #[test]
    fn several_messages_are_waited_for_in_any_order() {
        let mut watch = Watch::default();
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
        let mut watch = Watch::for_anything();
        assert_eq!(watch.take(&completed(9)), Step::Ended);
    }
}
