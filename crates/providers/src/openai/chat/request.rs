//! Encodes a request for Chat Completions. The order of the fields is the order of the bytes: what
//! stays the same from turn to turn comes first, the messages last (prompt cache).

use std::borrow::Cow;

use rooftree_protocol::{Effort, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use super::{
    dialect::{ChatDialect, ConversationField, EffortField, MaxOutputField, SchemaField},
    messages::{ChatMessage, ChatMessageEncoder},
};
use crate::{
    ModelRequest,
    media::DroppedContent,
    openai::request::{OpenAiToolChoice, is_strict, tool_choice},
};

#[derive(Debug, Serialize)]
struct ChatRequestBody<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<ChatStreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<Effort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ChatReasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ChatTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ChatToolChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ChatFormat<'a>>,
    messages: Vec<ChatMessage<'a>>,
}

#[derive(Debug, Serialize)]
struct ChatStreamOptions {
    include_usage: bool,
}

#[derive(Debug, Serialize)]
struct ChatReasoning {
    effort: Effort,
}

#[derive(Debug, Serialize)]
struct ChatTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: ChatFunction<'a>,
}

#[derive(Debug, Serialize)]
struct ChatFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum ChatToolChoice<'a> {
    Word(&'static str),
    This {
        #[serde(rename = "type")]
        kind: &'static str,
        function: ChatFunctionName<'a>,
    },
}

#[derive(Debug, Serialize)]
struct ChatFunctionName<'a> {
    name: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ChatFormat<'a> {
    JsonSchema { json_schema: ChatSchema<'a> },
    JsonObject,
}

#[derive(Debug, Serialize)]
struct ChatSchema<'a> {
    name: &'static str,
    strict: bool,
    schema: &'a Value,
}

/// Encodes a request; also returns what could not be sent.
pub(super) fn encode_request(
    provider: &str,
    dialect: ChatDialect,
    request: &ModelRequest,
) -> (Vec<u8>, Vec<String>) {
    let mut carrier = ChatMessageEncoder {
        provider,
        dialect,
        dropped: DroppedContent::default(),
    };
    let (reasoning_effort, reasoning) = effort(&mut carrier.dropped, dialect, request);
    let system = system(dialect, request);
    let messages = carrier.encode_messages(request);
    let has_tools = !request.tools.is_empty();
    let (max_completion_tokens, max_tokens) = match dialect.max_output {
        MaxOutputField::Completion => (request.max_output, None),
        MaxOutputField::Plain => (None, request.max_output),
    };
    let first = (!system.is_empty()).then_some(ChatMessage::System { content: &system });
    let body = ChatRequestBody {
        model: &request.model,
        stream: true,
        stream_options: dialect.asks_usage.then_some(ChatStreamOptions {
            include_usage: true,
        }),
        max_completion_tokens,
        max_tokens,
        reasoning_effort,
        reasoning,
        prompt_cache_key: (dialect.conversation == ConversationField::CacheKey)
            .then(|| request.session.as_str()),
        tools: request.tools.iter().map(tool).collect(),
        parallel_tool_calls: (has_tools && dialect.asks_parallel).then_some(true),
        tool_choice: choice(&mut carrier.dropped, dialect, request),
        response_format: request
            .schema
            .as_deref()
            .map(|schema| format(dialect, schema)),
        messages: first.into_iter().chain(messages).collect(),
    };
    // Maps with string keys and plain numbers always serialize.
    (
        serde_json::to_vec(&body).unwrap_or_default(),
        carrier.dropped.into_words(),
    )
}

fn tool(spec: &ToolSpec) -> ChatTool<'_> {
    let function = ChatFunction {
        name: &spec.name,
        description: &spec.description,
        parameters: &spec.input_schema,
    };
    ChatTool {
        kind: "function",
        function,
    }
}

fn effort(
    dropped: &mut DroppedContent,
    dialect: ChatDialect,
    request: &ModelRequest,
) -> (Option<Effort>, Option<ChatReasoning>) {
    let Some(effort) = request.effort else {
        return (None, None);
    };
    match dialect.effort {
        EffortField::Effort => (Some(effort), None),
        EffortField::EffortWithoutTools if request.tools.is_empty() => (Some(effort), None),
        EffortField::Reasoning => (None, Some(ChatReasoning { effort })),
        EffortField::EffortWithoutTools | EffortField::Absent => {
            dropped.note("the effort".into());
            (None, None)
        }
    }
}

fn choice<'a>(
    dropped: &mut DroppedContent,
    dialect: ChatDialect,
    request: &'a ModelRequest,
) -> Option<ChatToolChoice<'a>> {
    match tool_choice(request)? {
        OpenAiToolChoice::Word("none") => Some(ChatToolChoice::Word("none")),
        _ if !dialect.forces_tools => {
            dropped.note("the demand to call a tool".into());
            None
        }
        OpenAiToolChoice::Word(word) => Some(ChatToolChoice::Word(word)),
        OpenAiToolChoice::This(name) => Some(ChatToolChoice::This {
            kind: "function",
            function: ChatFunctionName { name },
        }),
    }
}

fn format(dialect: ChatDialect, schema: &Value) -> ChatFormat<'_> {
    match dialect.schema {
        SchemaField::Schema => ChatFormat::JsonSchema {
            json_schema: ChatSchema {
                name: "answer",
                strict: is_strict(schema),
                schema,
            },
        },
        SchemaField::Object => ChatFormat::JsonObject,
    }
}

fn system(dialect: ChatDialect, request: &ModelRequest) -> Cow<'_, str> {
    match (&request.schema, dialect.schema) {
        (Some(schema), SchemaField::Object) => format!(
            "{}\n\nAnswer with one JSON object that fits this JSON Schema:\n{schema}",
            request.system
        )
        .into(),
        _ => request.system.as_ref().into(),
    }
}
