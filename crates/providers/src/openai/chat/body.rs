//! A request as Chat Completions want it. The order of the fields is the order of the bytes: what
//! stays the same from turn to turn comes first, the messages last.

use std::borrow::Cow;

use rooftree_protocol::{Effort, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use super::{
    dialect::{ConversationField, Dialect, EffortField, MaxOutput, SchemaField},
    message::{Carrier, Message},
};
use crate::{
    Request,
    media::Dropped,
    openai::carry::{Wish, is_strict, wish},
};

#[derive(Debug, Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<Effort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Format<'a>>,
    messages: Vec<Message<'a>>,
}

#[derive(Debug, Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Debug, Serialize)]
struct Reasoning {
    effort: Effort,
}

#[derive(Debug, Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Debug, Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Choice<'a> {
    Word(&'static str),
    This {
        #[serde(rename = "type")]
        kind: &'static str,
        function: Named<'a>,
    },
}

#[derive(Debug, Serialize)]
struct Named<'a> {
    name: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format<'a> {
    JsonSchema { json_schema: Schema<'a> },
    JsonObject,
}

#[derive(Debug, Serialize)]
struct Schema<'a> {
    name: &'static str,
    strict: bool,
    schema: &'a Value,
}

/// A request in bytes, and what could not be carried over.
pub(super) fn spell(provider: &str, dialect: Dialect, request: &Request) -> (Vec<u8>, Vec<String>) {
    let mut carrier = Carrier { provider, dialect, dropped: Dropped::default() };
    let (reasoning_effort, reasoning) = effort(&mut carrier.dropped, dialect, request);
    let system = system(dialect, request);
    let messages = carrier.messages(request);
    let has_tools = !request.tools.is_empty();
    let (max_completion_tokens, max_tokens) = match dialect.max_output {
        MaxOutput::Completion => (request.max_output, None),
        MaxOutput::Plain => (None, request.max_output),
    };
    let first = (!system.is_empty()).then_some(Message::System { content: &system });
    let body = Body {
        model: &request.model,
        stream: true,
        stream_options: dialect.asks_usage.then_some(StreamOptions { include_usage: true }),
        max_completion_tokens,
        max_tokens,
        reasoning_effort,
        reasoning,
        prompt_cache_key: (dialect.conversation == ConversationField::CacheKey)
            .then(|| request.session.as_str()),
        tools: request.tools.iter().map(tool).collect(),
        parallel_tool_calls: (has_tools && dialect.asks_parallel).then_some(true),
        tool_choice: choice(&mut carrier.dropped, dialect, request),
        response_format: request.schema.as_deref().map(|schema| format(dialect, schema)),
        messages: first.into_iter().chain(messages).collect(),
    };
    // Maps with text keys and plain numbers always have a spelling.
    (serde_json::to_vec(&body).unwrap_or_default(), carrier.dropped.into_words())
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    let function =
        Function { name: &spec.name, description: &spec.description, parameters: &spec.input_schema };
    Tool { kind: "function", function }
}

fn effort(dropped: &mut Dropped, dialect: Dialect, request: &Request) -> (Option<Effort>, Option<Reasoning>) {
    let Some(effort) = request.effort else { return (None, None) };
    match dialect.effort {
        EffortField::Effort => (Some(effort), None),
        EffortField::EffortWithoutTools if request.tools.is_empty() => (Some(effort), None),
        EffortField::Reasoning => (None, Some(Reasoning { effort })),
        EffortField::EffortWithoutTools | EffortField::Absent => {
            dropped.note("the effort".into());
            (None, None)
        }
    }
}

fn choice<'a>(dropped: &mut Dropped, dialect: Dialect, request: &'a Request) -> Option<Choice<'a>> {
    match wish(request)? {
        Wish::Word("none") => Some(Choice::Word("none")),
        _ if !dialect.forces_tools => {
            dropped.note("the demand to call a tool".into());
            None
        }
        Wish::Word(word) => Some(Choice::Word(word)),
        Wish::This(name) => Some(Choice::This { kind: "function", function: Named { name } }),
    }
}

fn format(dialect: Dialect, schema: &Value) -> Format<'_> {
    match dialect.schema {
        SchemaField::Schema => {
            Format::JsonSchema { json_schema: Schema { name: "answer", strict: is_strict(schema), schema } }
        }
        SchemaField::Object => Format::JsonObject,
    }
}

fn system(dialect: Dialect, request: &Request) -> Cow<'_, str> {
    match (&request.schema, dialect.schema) {
        (Some(schema), SchemaField::Object) => {
            format!("{}\n\nAnswer with one JSON object that fits this JSON Schema:\n{schema}", request.system)
                .into()
        }
        _ => request.system.as_ref().into(),
    }
}
