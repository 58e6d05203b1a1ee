//! A request as Responses want it. The order of the fields is the order of the bytes: what stays the
//! same from turn to turn comes first, the input last.

use rooftree_protocol::{Effort, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use super::{
    Thinks,
    item::{Item, items},
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
    /// Nothing is kept by the vendor; the conversation is ours.
    store: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    prompt_cache_key: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Text<'a>>,
    input: Vec<Item<'a>>,
}

#[derive(Debug, Serialize)]
struct Reasoning {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<Effort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: &'a str,
    /// Said because it is the default, and most schemas are not of that kind.
    strict: bool,
    parameters: &'a Value,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Choice<'a> {
    Word(&'static str),
    This {
        #[serde(rename = "type")]
        kind: &'static str,
        name: &'a str,
    },
}

#[derive(Debug, Serialize)]
struct Text<'a> {
    format: Format<'a>,
}

#[derive(Debug, Serialize)]
struct Format<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    strict: bool,
    schema: &'a Value,
}

/// A request in bytes, and what could not be carried over.
pub(super) fn spell(
    provider: &str,
    thinks: Thinks,
    summary: Option<&'static str>,
    request: &Request,
) -> (Vec<u8>, Vec<String>) {
    let mut dropped = Dropped::default();
    let has_tools = !request.tools.is_empty();
    let reasoning = match thinks {
        Thinks::Yes => Some(Reasoning { effort: request.effort, summary }),
        Thinks::No => {
            if request.effort.is_some() {
                dropped.note("the effort".into());
            }
            None
        }
    };
    let body = Body {
        model: &request.model,
        stream: true,
        store: false,
        // Refused by models that do not think.
        include: if thinks == Thinks::Yes { &["reasoning.encrypted_content"] } else { &[] },
        max_output_tokens: request.max_output,
        reasoning,
        prompt_cache_key: request.session.as_str(),
        instructions: &request.system,
        tools: request.tools.iter().map(tool).collect(),
        parallel_tool_calls: has_tools.then_some(true),
        tool_choice: wish(request).map(Choice::from),
        text: request.schema.as_deref().map(|schema| Text {
            format: Format { kind: "json_schema", name: "answer", strict: is_strict(schema), schema },
        }),
        input: items(provider, request, &mut dropped),
    };
    // Maps with text keys and plain numbers always have a spelling.
    (serde_json::to_vec(&body).unwrap_or_default(), dropped.into_words())
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool {
        kind: "function",
        name: &spec.name,
        description: &spec.description,
        strict: false,
        parameters: &spec.input_schema,
    }
}

impl<'a> From<Wish<'a>> for Choice<'a> {
    fn from(wish: Wish<'a>) -> Self {
        match wish {
            Wish::Word(word) => Self::Word(word),
            Wish::This(name) => Self::This { kind: "function", name },
        }
    }
}
