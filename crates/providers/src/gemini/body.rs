//! Spells a request. Everything that stays the same from turn to turn comes before the contents.
//!
//! Invariant: the body of a turn begins with the bytes of the turn before, up to the end of the
//! contents they share. The vendor caches such beginnings by itself and takes no marks.

use rooftree_protocol::ToolSpec;
use serde::Serialize;
use serde_json::Value;

use super::{
    encode::{self, Content, Reader},
    generation::{Generation, Thinking},
};
use crate::{Error, Request, ToolChoice, media::Dropped};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<System<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[Tools<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig<'a>>,
    generation_config: Generated<'a>,
    contents: Vec<Content<'a>>,
}

#[derive(Serialize)]
struct System<'a> {
    parts: [Text<'a>; 1],
}

#[derive(Serialize)]
struct Text<'a> {
    text: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Tool<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: &'a Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig<'a> {
    function_calling_config: Calling<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Calling<'a> {
    mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_function_names: Option<[&'a str; 1]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Generated<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<&'a Value>,
}

/// The body of a request, and what of the conversation it leaves out.
pub(super) fn spell(request: &Request, provider: &str) -> Result<(Vec<u8>, Vec<String>), Error> {
    let mut dropped = Dropped::default();
    let generation = Generation::of(&request.model);
    let contents = encode::contents(request, &Reader { provider, generation }, &mut dropped);
    let system = Some(request.system.as_ref()).filter(|text| !text.trim().is_empty());
    let schema = request.schema.as_deref();
    let body = Body {
        system_instruction: system.map(|text| System { parts: [Text { text }] }),
        tools: tools(&request.tools),
        tool_config: choice(request),
        generation_config: Generated {
            max_output_tokens: request.max_output,
            thinking_config: generation.thinking(request.effort),
            response_mime_type: schema.map(|_| "application/json"),
            response_json_schema: schema,
        },
        contents,
    };
    let bytes = serde_json::to_vec(&body)
        .map_err(|error| Error::Refused(format!("the request cannot be spelled: {error}")))?;
    Ok((bytes, dropped.into_words()))
}

fn tools(specs: &[ToolSpec]) -> Option<[Tools<'_>; 1]> {
    let declarations = specs.iter().map(|spec| Tool {
        name: &spec.name,
        description: &spec.description,
        parameters_json_schema: &spec.input_schema,
    });
    (!specs.is_empty()).then(|| [Tools { function_declarations: declarations.collect() }])
}

fn choice(request: &Request) -> Option<ToolConfig<'_>> {
    let (mode, only) = match &request.tool_choice {
        _ if request.tools.is_empty() => return None,
        ToolChoice::Auto => return None,
        ToolChoice::Nothing => ("NONE", None),
        ToolChoice::Something => ("ANY", None),
        ToolChoice::This(name) => ("ANY", Some([name.as_str()])),
    };
    Some(ToolConfig { function_calling_config: Calling { mode, allowed_function_names: only } })
}
