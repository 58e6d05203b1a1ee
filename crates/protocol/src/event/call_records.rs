//! Journal records of replies and tool calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    BlobId, CallId, MessageId, Outcome, Part, RunId, RunStatus, SessionId, SkillNote, ToolCall,
    Usage, tool_call::FileNote,
};

/// A model's whole reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplyRecord {
    /// Its name, which its deltas carry too; absent in events of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// Its text alone, for those who want only that.
    pub text: String,
    /// Everything it consists of, in order, so that it can be replayed to the model verbatim.
    pub parts: Vec<ReplyPart>,
    /// Which model wrote it.
    pub model: String,
    /// Why it ended.
    pub stop: StopReason,
    /// What it cost.
    pub usage: Usage,
    /// The provider's name for the request, for diagnosis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

impl ReplyRecord {
    /// The tool calls in it, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| {
            if let ReplyPart::Call(call) = part {
                Some(call)
            } else {
                None
            }
        })
    }
}

/// Where a piece of a reply belongs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplyPlace {
    /// The reply. A reply that is asked for again after a failure has another name.
    pub message: MessageId,
    /// How many bytes of its text (or of its thinking) come before this piece.
    pub at: u64,
}

/// A piece of a model's reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ReplyPart {
    /// Text for whoever asked.
    Text {
        /// The text.
        text: String,
    },
    /// Thinking, with what the provider needs to see again.
    Thinking {
        /// The text; may be empty when the provider hides it.
        text: String,
        /// The provider's signature, byte for byte.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A tool call.
    Call(ToolCall),
    /// Something only its provider understands; kept and replayed to it.
    Opaque {
        /// Whose.
        provider: String,
        /// What.
        item: Value,
    },
}

/// Why a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model had said all.
    End,
    /// It wants tools.
    Calls,
    /// It hit its output limit.
    MaxOutput,
    /// It refused.
    Refused,
    /// Somebody stopped it; the text is what had arrived.
    Cancelled,
}

/// How a call ended, as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolRecord {
    /// Which call.
    pub call: CallId,
    /// Canonical tool name.
    pub tool: String,
    /// In a few words, for people.
    pub title: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What the model reads.
    pub content: Vec<Part>,
    /// How long it took.
    pub duration_ms: u64,
    /// Where the uncut output is, if it was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full: Option<BlobId>,
    /// Files it looked at or changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileNote>,
    /// What it changed, as a unified diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The task it started or asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskNote>,
    /// The running call it was made from inside of; none for a call of a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<CallId>,
    /// Its arguments, where nothing else tells them: a call from inside that was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The skill it loaded, which is followed from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<SkillNote>,
    /// What a model that the tool itself asked has cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// What a call says about a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskNote {
    /// Which task: the run that works on it.
    pub task: RunId,
    /// The session it runs in.
    pub session: SessionId,
    /// Its definition.
    pub agent: String,
    /// How it ended, if it has: then this call has told its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
    /// Whether its work was checked, and found good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
    /// What it cost, with everything it delegated, if it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// US dollars set aside for it while it is at work, if money is bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Whether something from outside, such as a web page, went into its answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
    /// Whether the answer is one that was given before to the same question.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
}
