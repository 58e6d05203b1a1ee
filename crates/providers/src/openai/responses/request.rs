//! Encodes a request for Responses. The order of the fields is the order of the bytes: what stays the
//! same from turn to turn comes first, the input last (prompt cache).

use rooftree_protocol::{Effort, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use super::{
    ThinkingSupport,
    messages::{ResponsesItem, encode_messages},
};
use crate::{
    ModelRequest,
    media::DroppedContent,
    openai::request::{OpenAiToolChoice, is_strict, tool_choice},
};

#[derive(Debug, Serialize)]
struct ResponsesRequestBody<'a> {
    model: &'a str,
    stream: bool,
    /// Always false: the vendor stores nothing.
    store: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ResponsesReasoning>,
    prompt_cache_key: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ResponsesTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ResponsesToolChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<ResponsesText<'a>>,
    input: Vec<ResponsesItem<'a>>,
}

#[derive(Debug, Serialize)]
struct ResponsesReasoning {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<Effort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct ResponsesTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: &'a str,
    /// Sent explicitly because the default is true, and most schemas do not qualify.
    strict: bool,
    parameters: &'a Value,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum ResponsesToolChoice<'a> {
    Word(&'static str),
    This {
        #[serde(rename = "type")]
        kind: &'static str,
        name: &'a str,
    },
}

#[derive(Debug, Serialize)]
struct ResponsesText<'a> {
    format: ResponsesFormat<'a>,
}

#[derive(Debug, Serialize)]
struct ResponsesFormat<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    strict: bool,
    schema: &'a Value,
}

/// Encodes a request; also returns what could not be sent.
pub(super) fn encode_request(
    provider: &str,
    thinks: ThinkingSupport,
    summary: Option<&'static str>,
    request: &ModelRequest,
) -> (Vec<u8>, Vec<String>) {
    let mut dropped = DroppedContent::default();
    let has_tools = !request.tools.is_empty();
    let reasoning = match thinks {
        ThinkingSupport::Yes => Some(ResponsesReasoning {
            effort: request.effort,
            summary,
        }),
        ThinkingSupport::No => {
            if request.effort.is_some() {
                dropped.note("the effort".into());
            }
            None
        }
    };
    let body = ResponsesRequestBody {
        model: &request.model,
        stream: true,
        store: false,
        // Refused by models without thinking.
        include: if thinks == ThinkingSupport::Yes {
            &["reasoning.encrypted_content"]
        } else {
            &[]
        },
        max_output_tokens: request.max_output,
        reasoning,
        prompt_cache_key: request.session.as_str(),
        instructions: &request.system,
        tools: request.tools.iter().map(tool).collect(),
        parallel_tool_calls: has_tools.then_some(true),
        tool_choice: tool_choice(request).map(ResponsesToolChoice::from),
        text: request.schema.as_deref().map(|schema| ResponsesText {
            format: ResponsesFormat {
                kind: "json_schema",
                name: "answer",
                strict: is_strict(schema),
                schema,
            },
        }),
        input: encode_messages(provider, request, &mut dropped),
    };
    // Maps with string keys and plain numbers always serialize.
    (
        serde_json::to_vec(&body).unwrap_or_default(),
        dropped.into_words(),
    )
}

fn tool(spec: &ToolSpec) -> ResponsesTool<'_> {
    ResponsesTool {
        kind: "function",
        name: &spec.name,
        description: &spec.description,
        strict: false,
        parameters: &spec.input_schema,
    }
}

impl<'a> From<OpenAiToolChoice<'a>> for ResponsesToolChoice<'a> {
    fn from(wish: OpenAiToolChoice<'a>) -> Self {
        match wish {
            OpenAiToolChoice::Word(word) => Self::Word(word),
            OpenAiToolChoice::This(name) => Self::This {
                kind: "function",
                name,
            },
        }
    }
}
