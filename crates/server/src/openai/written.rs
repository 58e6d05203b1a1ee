//! Writes answers: whole, or in pieces.

use rooftree_protocol::{RunId, RunStatus, SessionId, Timestamp, Usage};
use serde_json::{Map, Value, json};

/// What all pieces of one answer have in common.
pub(crate) struct Letterhead {
    pub(crate) model: String,
    pub(crate) session: SessionId,
    pub(crate) run: RunId,
    pub(crate) created: Timestamp,
    /// Fields of the request that had no effect.
    pub(crate) ignored: Vec<String>,
}

/// How an answer ended.
pub(crate) struct Ending {
    pub(crate) status: Status,
    pub(crate) usage: Usage,
}

/// Why it ended, as far as that is an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Run(RunStatus),
    /// Somebody must answer first: `permission` or `question`, and its id.
    Needs(&'static str, String),
}

impl Letterhead {
    fn id(&self) -> String {
        let run = self.run.as_str();
        format!("chatcmpl-{}", run.strip_prefix(RunId::PREFIX).unwrap_or(run))
    }

    fn seconds(&self) -> i64 {
        self.created.0.div_euclid(1_000)
    }

    /// A whole answer.
    pub(crate) fn whole(&self, content: &str, reasoning: &str, ending: &Ending) -> Value {
        let mut message = json!({"role": "assistant", "content": content, "refusal": null});
        if !reasoning.is_empty() {
            message = with(message, "reasoning_content", reasoning.into());
        }
        let choice = json!({
            "index": 0, "message": message, "logprobs": null, "finish_reason": ending.status.reason(),
        });
        json!({
            "id": self.id(), "object": "chat.completion", "created": self.seconds(), "model": self.model,
            "choices": [choice], "usage": usage(&ending.usage), "rooftree": self.extension(&ending.status),
        })
    }

    /// The piece every stream begins with.
    pub(crate) fn beginning(&self) -> Value {
        self.piece(json!({"role": "assistant", "content": ""}), Value::Null)
    }

    /// A piece of the answer.
    pub(crate) fn content(&self, text: &str) -> Value {
        self.piece(json!({"content": text}), Value::Null)
    }

    /// What the agent does meanwhile.
    pub(crate) fn reasoning(&self, text: &str) -> Value {
        self.piece(json!({"reasoning_content": text}), Value::Null)
    }

    /// The piece that says how it ended.
    pub(crate) fn end(&self, status: &Status) -> Value {
        let piece = self.piece(json!({}), status.reason().into());
        with(piece, "rooftree", self.extension(status))
    }

    /// What it cost, after everything else.
    pub(crate) fn cost(&self, cost: &Usage) -> Value {
        let piece = self.piece(json!({}), Value::Null);
        with(with(piece, "choices", json!([])), "usage", usage(cost))
    }

    fn piece(&self, delta: Value, finish_reason: Value) -> Value {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason});
        json!({
            "id": self.id(), "object": "chat.completion.chunk", "created": self.seconds(), "model": self.model,
            "choices": [choice],
        })
    }

    /// What only we say. Clients of OpenAI leave fields alone that they do not know.
    fn extension(&self, status: &Status) -> Value {
        let mut more = Map::new();
        more.insert("status".into(), status.name().into());
        if let Status::Needs(kind, id) = status {
            more.insert((*kind).into(), id.as_str().into());
        }
        more.insert("session".into(), self.session.as_str().into());
        more.insert("run".into(), self.run.as_str().into());
        if !self.ignored.is_empty() {
            more.insert("ignored".into(), self.ignored.clone().into());
        }
        Value::Object(more)
    }
}

impl Status {
    /// A run that is cut off by a limit of its own is an answer that is too short.
    fn reason(&self) -> &'static str {
        match self {
            Self::Run(RunStatus::MaxTurns | RunStatus::Budget | RunStatus::TimedOut) => "length",
            Self::Run(_) | Self::Needs(..) => "stop",
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Run(status) => status.to_string(),
            Self::Needs("permission", _) => "needs_permission".into(),
            Self::Needs(..) => "needs_answer".into(),
        }
    }
}

/// The same object with one more field, or another value in it.
fn with(mut object: Value, name: &str, value: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(name.into(), value);
    }
    object
}

fn usage(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total(),
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    })
}
