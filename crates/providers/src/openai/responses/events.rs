//! Stream events of Responses, tagged by their type. Unknown ones are ignored.

use rooftree_protocol::Usage;
use serde::Deserialize;
use serde_json::Value;

/// One event.
#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
pub(super) enum ResponsesEvent {
    #[serde(
        rename = "response.created",
        alias = "response.in_progress",
        alias = "response.queued"
    )]
    Begun {
        #[serde(default)]
        response: Option<ResponseObject>,
    },
    #[serde(rename = "response.output_item.added")]
    ItemBegun {
        #[serde(flatten)]
        place: ResponsesItemRef,
        item: Value,
    },
    #[serde(rename = "response.output_item.done")]
    ItemDone {
        #[serde(flatten)]
        place: ResponsesItemRef,
        item: Value,
    },
    #[serde(
        rename = "response.output_text.delta",
        alias = "response.refusal.delta"
    )]
    Text {
        #[serde(default)]
        delta: String,
    },
    #[serde(
        rename = "response.reasoning_summary_text.delta",
        alias = "response.reasoning_text.delta"
    )]
    Thinking {
        #[serde(default)]
        delta: String,
    },
    /// A further paragraph of the summary begins.
    #[serde(rename = "response.reasoning_summary_part.added")]
    ThinkingPart {
        #[serde(default)]
        summary_index: u64,
    },
    #[serde(rename = "response.function_call_arguments.delta")]
    Arguments {
        #[serde(flatten)]
        place: ResponsesItemRef,
        #[serde(default)]
        delta: String,
    },
    #[serde(rename = "response.completed", alias = "response.incomplete")]
    Over { response: ResponseObject },
    #[serde(rename = "response.failed")]
    Failed { response: ResponseObject },
    #[serde(rename = "error")]
    Error {
        #[serde(flatten)]
        fields: serde_json::Map<String, Value>,
    },
    #[serde(rename = "keepalive", alias = "ping")]
    Ping,
    #[serde(other)]
    Unknown,
}

/// Reference to an item. Servers leave out one field or the other.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponsesItemRef {
    pub(super) output_index: Option<u64>,
    pub(super) item_id: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponseObject {
    pub(super) id: Option<String>,
    pub(super) status: Option<String>,
    pub(super) output: Option<Vec<Value>>,
    pub(super) usage: Option<ResponsesUsage>,
    pub(super) error: Option<Value>,
    pub(super) incomplete_details: Option<ResponsesIncomplete>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponsesIncomplete {
    pub(super) reason: Option<String>,
}

/// An item as far as we parse it.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ResponsesOutputItem {
    Message {
        #[serde(default)]
        content: Vec<ResponsesOutputContent>,
        #[serde(default)]
        phase: Option<Value>,
    },
    FunctionCall {
        #[serde(default)]
        name: String,
        #[serde(default)]
        arguments: Option<Value>,
    },
    Reasoning {
        #[serde(default)]
        summary: Vec<ResponsesOutputContent>,
        #[serde(default)]
        content: Option<Vec<ResponsesOutputContent>>,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ResponsesOutputContent {
    #[serde(alias = "summary_text", alias = "reasoning_text", alias = "text")]
    OutputText {
        #[serde(default)]
        text: String,
    },
    Refusal {
        #[serde(default)]
        refusal: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponsesUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    input_tokens_details: Option<ResponsesInputDetails>,
    output_tokens_details: Option<ResponsesOutputDetails>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ResponsesInputDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ResponsesOutputDetails {
    reasoning_tokens: Option<u64>,
}

impl From<ResponsesUsage> for Usage {
    fn from(tokens: ResponsesUsage) -> Self {
        let input = tokens.input_tokens.unwrap_or_default();
        let output = tokens.output_tokens.unwrap_or_default();
        let read = tokens.input_tokens_details.unwrap_or_default();
        let written = tokens.output_tokens_details.unwrap_or_default();
        Self {
            input,
            output,
            cache_read: read.cached_tokens.unwrap_or_default().min(input),
            cache_write: read.cache_write_tokens.unwrap_or_default().min(input),
            reasoning: written.reasoning_tokens.unwrap_or_default().min(output),
            ..Self::default()
        }
    }
}
