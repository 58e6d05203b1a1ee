//! Data of a script: header and entries, parsed from TOML or built in Rust, not yet validated.

use std::time::Duration;

use rooftree_protocol::event::StopReason;
use serde_json::Value;

use super::script_position::{ScriptPosition, ScriptText};

/// Defaults for all entries of a script.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScriptHeader {
    pub(crate) window: Option<u64>,
    pub(crate) pacing: ReplyPacing,
    pub(crate) tokens: ScriptedUsage,
}

/// One `[[reply]]`: when it is used and what comes back. Made with [`say`](super::say) or [`fail`](super::fail).
#[derive(Clone, Debug, Default)]
pub struct ScriptEntry {
    pub(crate) place: ScriptPosition,
    pub(crate) when: EntryConditions,
    pub(crate) words: ScriptedReply,
    pub(crate) fault: Option<ScriptedFailure>,
    pub(crate) pacing: ReplyPacing,
    pub(crate) tokens: ScriptedUsage,
}

/// The conditions of an entry; all that are given must hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct EntryConditions {
    pub(crate) agent: Option<String>,
    pub(crate) turn: Option<u32>,
    pub(crate) on: Option<ScriptText>,
    pub(crate) matching: Option<ScriptText>,
    pub(crate) times: Option<u32>,
}

/// The content of a reply: text, thinking and calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScriptedReply {
    pub(crate) text: Option<ScriptText>,
    pub(crate) thinking: Option<ScriptText>,
    pub(crate) signature: Option<String>,
    pub(crate) calls: Vec<ScriptedCall>,
    pub(crate) stop: Option<StopReason>,
}

/// The pacing of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReplyPacing {
    /// Characters per delta; everything in one if absent.
    pub(crate) chunk: Option<usize>,
    /// Delay before the first delta.
    pub(crate) delay: Option<Duration>,
    /// Delay between deltas.
    pub(crate) pace: Option<Duration>,
}

impl ReplyPacing {
    /// These values, with the header's as defaults.
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
pub(crate) struct ScriptedUsage {
    pub(crate) input: Option<u64>,
    pub(crate) output: Option<u64>,
    pub(crate) cache_read: Option<u64>,
    pub(crate) cache_write: Option<u64>,
    pub(crate) reasoning: Option<u64>,
    pub(crate) cost_usd: Option<f64>,
}

/// A failure instead of a reply.
#[derive(Clone, Debug)]
pub(crate) struct ScriptedFailure {
    pub(crate) kind: ScriptedFailureKind,
    pub(crate) message: Option<String>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) limit: Option<u64>,
    pub(crate) cut_after: Option<usize>,
}

/// The kinds of failure of a scripted model, as named in `error = "…"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptedFailureKind {
    /// `rate_limit`: the rate limit is exceeded.
    RateLimit,
    /// `overloaded`: the provider is overloaded.
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

impl ScriptedFailureKind {
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

/// One tool call of a reply. Made with [`call`](super::call).
#[derive(Clone, Debug)]
pub struct ScriptedCall {
    pub(crate) tool: String,
    pub(crate) input: InputTemplate,
}

/// A call's input: JSON whose strings may be templates.
#[derive(Clone, Debug)]
pub(crate) enum InputTemplate {
    Fixed(Value),
    Text(ScriptText),
    List(Vec<Self>),
    Table(Vec<(String, Self)>),
}

impl From<Value> for InputTemplate {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text.into()),
            Value::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            Value::Object(fields) => Self::Table(
                fields
                    .into_iter()
                    .map(|(key, value)| (key, value.into()))
                    .collect(),
            ),
            other => Self::Fixed(other),
        }
    }
}
