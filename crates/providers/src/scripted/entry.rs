//! What a script says, as plain data: read from TOML or written in Rust, not yet checked.

use std::time::Duration;

use rooftree_protocol::event::StopReason;
use serde_json::Value;

use super::place::{Passage, Place};

/// What holds for all entries of a script unless they say otherwise.
#[derive(Clone, Debug, Default)]
pub(crate) struct Header {
    pub(crate) window: Option<u64>,
    pub(crate) pacing: Pacing,
    pub(crate) tokens: Tokens,
}

/// One `[[reply]]`: when it is used and what comes back. Made with [`say`] or [`fail`].
#[derive(Clone, Debug, Default)]
pub struct Entry {
    pub(crate) place: Place,
    pub(crate) when: When,
    pub(crate) words: Words,
    pub(crate) fault: Option<Fault>,
    pub(crate) pacing: Pacing,
    pub(crate) tokens: Tokens,
}

/// The conditions of an entry; all that are given must hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct When {
    pub(crate) agent: Option<String>,
    pub(crate) turn: Option<u32>,
    pub(crate) on: Option<Passage>,
    pub(crate) matching: Option<Passage>,
    pub(crate) times: Option<u32>,
}

/// What the model says and asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    pub(crate) text: Option<Passage>,
    pub(crate) thinking: Option<Passage>,
    pub(crate) signature: Option<String>,
    pub(crate) calls: Vec<Call>,
    pub(crate) stop: Option<StopReason>,
}

/// How fast a reply comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pacing {
    /// Characters per delta; everything at once if absent.
    pub(crate) chunk: Option<usize>,
    /// Before the first delta.
    pub(crate) delay: Option<Duration>,
    /// Between deltas.
    pub(crate) pace: Option<Duration>,
}

impl Pacing {
    /// These values, and the header's where there are none.
    pub(crate) fn or(self, header: Self) -> Self {
        Self {
            chunk: self.chunk.or(header.chunk),
            delay: self.delay.or(header.delay),
            pace: self.pace.or(header.pace),
        }
    }
}

/// Usage as far as the script gives it; the rest is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tokens {
    pub(crate) input: Option<u64>,
    pub(crate) output: Option<u64>,
    pub(crate) cache_read: Option<u64>,
    pub(crate) cache_write: Option<u64>,
    pub(crate) reasoning: Option<u64>,
    pub(crate) cost_usd: Option<f64>,
}

/// What comes instead of a reply.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: FaultKind,
    pub(crate) message: Option<String>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) limit: Option<u64>,
    pub(crate) cut_after: Option<usize>,
}

/// The ways a scripted model can fail, as they are spelled in `error = "…"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// `rate_limit`: slow down.
    RateLimit,
    /// `overloaded`: come back later.
    Overloaded,
    /// `too_long`: the request does not fit.
    TooLong,
    /// `unauthorized`: the key is refused.
    Unauthorized,
    /// `refused`: the request is refused.
    Refused,
    /// `cut`: the stream ends in the middle, without a whole reply.
    Cut,
    /// `broken`: the connection fails.
    Broken,
}

impl FaultKind {
    /// Every kind with its name in scripts.
    pub(crate) const NAMES: [(&'static str, Self); 7] = [
        ("rate_limit", Self::RateLimit),
        ("overloaded", Self::Overloaded),
        ("too_long", Self::TooLong),
        ("unauthorized", Self::Unauthorized),
        ("refused", Self::Refused),
        ("cut", Self::Cut),
        ("broken", Self::Broken),
    ];
}

/// One tool call of a reply. Made with [`call`].
#[derive(Clone, Debug)]
pub struct Call {
    pub(crate) tool: String,
    pub(crate) input: Shape,
}

/// A call's input: JSON whose strings may be templates.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Fixed(Value),
    Text(Passage),
    List(Vec<Self>),
    Table(Vec<(String, Self)>),
}

impl From<Value> for Shape {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text.into()),
            Value::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            Value::Object(fields) => {
                Self::Table(fields.into_iter().map(|(key, value)| (key, value.into())).collect())
            }
            other => Self::Fixed(other),
        }
    }
}

/// A reply that says this. An empty text says nothing, for replies that only call tools.
pub fn say(text: impl Into<String>) -> Entry {
    let text = text.into();
    let words = Words { text: (!text.is_empty()).then(|| text.into()), ..Words::default() };
    Entry { words, ..Entry::default() }
}

/// A failure instead of a reply; the entry behind it is the answer to the next attempt.
pub fn fail(kind: FaultKind) -> Entry {
    let fault = Fault { kind, message: None, retry_after: None, limit: None, cut_after: None };
    Entry { fault: Some(fault), ..Entry::default() }
}

/// A tool call; strings in its input may be templates.
pub fn call(tool: impl Into<String>, input: Value) -> Call {
    Call { tool: tool.into(), input: input.into() }
}

impl Entry {
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

    /// For how many turns (failures: attempts) it stands.
    pub fn times(mut self, times: u32) -> Self {
        self.when.times = Some(times);
        self
    }

    /// What it thinks before it speaks.
    pub fn thinking(mut self, text: impl Into<String>) -> Self {
        self.words.thinking = Some(text.into().into());
        self
    }

    /// The tools it asks for, to be run together.
    pub fn calls(mut self, calls: impl IntoIterator<Item = Call>) -> Self {
        self.words.calls.extend(calls);
        self
    }

    /// Why the reply ends, if not by itself.
    pub fn stop(mut self, stop: StopReason) -> Self {
        self.words.stop = Some(stop);
        self
    }

    /// Tokens read and written.
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        (self.tokens.input, self.tokens.output) = (Some(input), Some(output));
        self
    }

    /// Characters per delta.
    pub fn chunk(mut self, characters: usize) -> Self {
        self.pacing.chunk = Some(characters);
        self
    }

    /// How long it takes until the first delta.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.pacing.delay = Some(delay);
        self
    }

    /// How long it takes from delta to delta.
    pub fn pace(mut self, pace: Duration) -> Self {
        self.pacing.pace = Some(pace);
        self
    }

    /// How long the failing provider asks to wait.
    pub fn retry_after(mut self, wait: Duration) -> Self {
        if let Some(fault) = &mut self.fault {
            fault.retry_after = Some(wait);
        }
        self
    }

    /// After how many characters a cut stream ends.
    pub fn cut_after(mut self, characters: usize) -> Self {
        if let Some(fault) = &mut self.fault {
            fault.cut_after = Some(characters);
        }
        self
    }
}
