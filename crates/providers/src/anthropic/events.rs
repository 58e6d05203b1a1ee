//! Stream events of Anthropic's API, as far as they are parsed here. Unknown ones are not an error.

use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum AnthropicEvent {
    MessageStart {
        message: AnthropicMessageStart,
    },
    ContentBlockStart {
        index: u64,
        content_block: Value,
    },
    ContentBlockDelta {
        index: u64,
        delta: AnthropicDelta,
    },
    MessageDelta {
        delta: AnthropicMessageDelta,
        #[serde(default)]
        usage: AnthropicUsage,
    },
    MessageStop,
    Ping,
    Error {
        error: AnthropicError,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Deserialize)]
pub(super) struct AnthropicMessageStart {
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) usage: AnthropicUsage,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
pub(super) enum AnthropicDelta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
    #[serde(rename = "citations_delta")]
    Citations { citation: Value },
    #[serde(untagged)]
    Unknown(Value),
}

impl AnthropicDelta {
    /// The fields it adds, by name, for blocks of a type that is not known here.
    pub(super) fn into_fields(self) -> Map<String, Value> {
        let (name, value) = match self {
            Self::Text { text } => ("text", text.into()),
            Self::Thinking { thinking } => ("thinking", thinking.into()),
            Self::Signature { signature } => ("signature", signature.into()),
            Self::InputJson { partial_json } => ("partial_json", partial_json.into()),
            Self::Citations { citation } => ("citation", citation),
            Self::Unknown(Value::Object(fields)) => return fields,
            Self::Unknown(_) => return Map::new(),
        };
        Map::from_iter([(name.to_owned(), value)])
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct AnthropicMessageDelta {
    #[serde(default)]
    pub(super) stop_reason: Option<String>,
    #[serde(default)]
    pub(super) stop_details: Option<AnthropicStopDetails>,
}

#[derive(Debug, Deserialize)]
pub(super) struct AnthropicStopDetails {
    #[serde(default)]
    pub(super) explanation: Option<String>,
}

/// Running token totals: a later number replaces an earlier one, an absent one does not.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct AnthropicUsage {
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
    #[serde(default)]
    cache_read_input_tokens: Option<u64>,
    #[serde(default)]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens_details: Option<AnthropicOutputDetails>,
    #[serde(default)]
    server_tool_use: Option<ServerToolUse>,
}

/// Usage of the vendor's server-side tools.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct ServerToolUse {
    #[serde(default)]
    web_search_requests: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct AnthropicOutputDetails {
    #[serde(default)]
    thinking_tokens: Option<u64>,
}

impl AnthropicUsage {
    /// Merges later numbers.
    pub(super) fn update(&mut self, later: Self) {
        self.input_tokens = later.input_tokens.or(self.input_tokens);
        self.output_tokens = later.output_tokens.or(self.output_tokens);
        self.cache_read_input_tokens = later
            .cache_read_input_tokens
            .or(self.cache_read_input_tokens);
        self.cache_creation_input_tokens = later
            .cache_creation_input_tokens
            .or(self.cache_creation_input_tokens);
        self.output_tokens_details = later.output_tokens_details.or(self.output_tokens_details);
        self.server_tool_use = later.server_tool_use.or(self.server_tool_use);
    }

    /// Converts to our usage. The vendor counts cache reads and writes apart from `input_tokens`.
    pub(super) fn usage(self) -> rooftree_protocol::Usage {
        let cache_read = self.cache_read_input_tokens.unwrap_or(0);
        let cache_write = self.cache_creation_input_tokens.unwrap_or(0);
        let input = self.input_tokens.unwrap_or(0);
        rooftree_protocol::Usage {
            input: input.saturating_add(cache_read).saturating_add(cache_write),
            output: self.output_tokens.unwrap_or(0),
            cache_read,
            cache_write,
            reasoning: self
                .output_tokens_details
                .and_then(|details| details.thinking_tokens)
                .unwrap_or(0),
            searches: self
                .server_tool_use
                .and_then(|used| used.web_search_requests)
                .unwrap_or(0),
            ..rooftree_protocol::Usage::default()
        }
    }
}

/// The body of an error response, and of an `error` event.
#[derive(Debug, Deserialize)]
pub(super) struct AnthropicErrorBody {
    pub(super) error: AnthropicError,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AnthropicError {
    pub(super) r#type: String,
    pub(super) message: String,
    /// The context window, as llama.cpp reports it on this API.
    pub(super) n_ctx: Option<u64>,
}
