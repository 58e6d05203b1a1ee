//! Builder for entries in Rust: `say("…").agent("lead").calls([call("Read", json!({…}))])`.

use std::time::Duration;

use rooftree_protocol::event::StopReason;
use serde_json::Value;

use super::entry::{
    ScriptEntry, ScriptedCall, ScriptedFailure, ScriptedFailureKind, ScriptedReply,
};

/// A reply with this text. An empty text is left out, for replies that only call tools.
pub fn say(text: impl Into<String>) -> ScriptEntry {
    let text = text.into();
    let words = ScriptedReply {
        text: (!text.is_empty()).then(|| text.into()),
        ..ScriptedReply::default()
    };
    ScriptEntry {
        words,
        ..ScriptEntry::default()
    }
}

/// A failure instead of a reply; the entry after it is the answer to the retry.
pub fn fail(kind: ScriptedFailureKind) -> ScriptEntry {
    let fault = ScriptedFailure {
        kind,
        message: None,
        retry_after: None,
        limit: None,
        cut_after: None,
    };
    ScriptEntry {
        fault: Some(fault),
        ..ScriptEntry::default()
    }
}

/// A tool call; strings in its input may be templates.
pub fn call(tool: impl Into<String>, input: Value) -> ScriptedCall {
    ScriptedCall {
        tool: tool.into(),
        input: input.into(),
    }
}

impl ScriptEntry {
    /// Only for this agent.
    pub fn agent(mut self, name: impl Into<String>) -> Self {
        self.when.agent = Some(name.into());
        self
    }

    /// Only for this reply of the conversation (or of the exchange, with `on`), counted from one.
    pub fn turn(mut self, turn: u32) -> Self {
        self.when.turn = Some(turn);
        self
    }

    /// Only in an exchange begun by a user message that matches.
    pub fn on(mut self, pattern: impl Into<String>) -> Self {
        self.when.on = Some(pattern.into().into());
        self
    }

    /// Only if the last message matches.
    pub fn matching(mut self, pattern: impl Into<String>) -> Self {
        self.when.matching = Some(pattern.into().into());
        self
    }

    /// How many turns (for failures: attempts) it is used for.
    pub fn times(mut self, times: u32) -> Self {
        self.when.times = Some(times);
        self
    }

    /// Its thinking.
    pub fn thinking(mut self, text: impl Into<String>) -> Self {
        self.words.thinking = Some(text.into().into());
        self
    }

    /// Its tool calls.
    pub fn calls(mut self, calls: impl IntoIterator<Item = ScriptedCall>) -> Self {
        self.words.calls.extend(calls);
        self
    }

    /// Its stop reason, if not the default.
    pub fn stop(mut self, stop: StopReason) -> Self {
        self.words.stop = Some(stop);
        self
    }

    /// Its input and output tokens.
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        (self.tokens.input, self.tokens.output) = (Some(input), Some(output));
        self
    }

    /// Its cost in US dollars.
    pub fn cost(mut self, dollars: f64) -> Self {
        self.tokens.cost_usd = Some(dollars);
        self
    }

    /// Characters per delta.
    pub fn chunk(mut self, characters: usize) -> Self {
        self.pacing.chunk = Some(characters);
        self
    }

    /// Delay before the first delta.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.pacing.delay = Some(delay);
        self
    }

    /// Delay between deltas.
    pub fn pace(mut self, pace: Duration) -> Self {
        self.pacing.pace = Some(pace);
        self
    }

    /// The retry delay of the failure.
    pub fn retry_after(mut self, wait: Duration) -> Self {
        if let Some(fault) = &mut self.fault {
            fault.retry_after = Some(wait);
        }
        self
    }

    /// The number of characters after which a cut stream ends.
    pub fn cut_after(mut self, characters: usize) -> Self {
        if let Some(fault) = &mut self.fault {
            fault.cut_after = Some(characters);
        }
        self
    }
}
