//! Partial result of a run that is left before its end. Pure.

use rooftree_protocol::{Event, EventBody, Timestamp, event::AnswerText};

/// A run up to now.
#[derive(Debug, Default)]
pub struct PartialResult {
    /// The answer so far.
    pub text: AnswerText,
    pub turns: u32,
    pub calls: u32,
    since: Option<Timestamp>,
    until: Timestamp,
}

impl PartialResult {
    /// How long it has taken, from the first event to the last.
    pub fn milliseconds(&self) -> u64 {
        let lasted = self.until.since(self.since.unwrap_or(self.until));
        u64::try_from(lasted.as_millis()).unwrap_or(u64::MAX)
    }

    /// Takes an event in.
    pub fn take(&mut self, event: &Event) {
        self.since.get_or_insert(event.ts);
        self.until = event.ts;
        match &event.body {
            EventBody::MessageCompleted(reply) => {
                self.text.take(reply);
                self.turns += 1;
            }
            EventBody::ToolCompleted(_) => self.calls += 1,
            _ => {}
        }
    }
}
