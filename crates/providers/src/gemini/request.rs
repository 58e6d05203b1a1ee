//! Encodes a request for Gemini. Everything that stays the same from turn to turn precedes the contents.
//!
//! Invariant: the body of a turn begins with the bytes of the turn before, up to the end of the
//! contents they share. The vendor caches such prefixes by itself and takes no cache markers.

use rooftree_protocol::ToolSpec;
use serde::Serialize;
use serde_json::Value;

use super::{
    generation::{GeminiGeneration, GeminiThinking},
    messages::{self, GeminiContent, GeminiTarget},
};
use crate::{Error, ModelRequest, ToolChoice, media::DroppedContent};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiRequestBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<GeminiSystem<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[GeminiTools<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<GeminiToolChoice<'a>>,
    generation_config: GeminiGenerationConfig<'a>,
    contents: Vec<GeminiContent<'a>>,
}

#[derive(Serialize)]
struct GeminiSystem<'a> {
    parts: [GeminiText<'a>; 1],
}

#[derive(Serialize)]
struct GeminiText<'a> {
    text: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiTools<'a> {
    function_declarations: Vec<GeminiTool<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiTool<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: &'a Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiToolChoice<'a> {
    function_calling_config: GeminiCallingConfig<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiCallingConfig<'a> {
    mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_function_names: Option<[&'a str; 1]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiGenerationConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<GeminiThinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<&'a Value>,
}

/// Encodes the body of a request; also returns what of the conversation it leaves out.
pub(super) fn encode_request(
    request: &ModelRequest,
    provider: &str,
) -> Result<(Vec<u8>, Vec<String>), Error> {
    let mut dropped = DroppedContent::default();
    let generation = GeminiGeneration::of(&request.model);
    let contents = messages::encode_messages(
        request,
        &GeminiTarget {
            provider,
            generation,
        },
        &mut dropped,
    );
    let system = Some(request.system.as_ref()).filter(|text| !text.trim().is_empty());
    let schema = request.schema.as_deref();
    let body = GeminiRequestBody {
        system_instruction: system.map(|text| GeminiSystem {
            parts: [GeminiText { text }],
        }),
        tools: tools(&request.tools),
        tool_config: choice(request),
        generation_config: GeminiGenerationConfig {
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

fn tools(specs: &[ToolSpec]) -> Option<[GeminiTools<'_>; 1]> {
    let declarations = specs.iter().map(|spec| GeminiTool {
        name: &spec.name,
        description: &spec.description,
        parameters_json_schema: &spec.input_schema,
    });
    (!specs.is_empty()).then(|| {
        [GeminiTools {
            function_declarations: declarations.collect(),
        }]
    })
}

fn choice(request: &ModelRequest) -> Option<GeminiToolChoice<'_>> {
    let (mode, only) = match &request.tool_choice {
        _ if request.tools.is_empty() => return None,
        ToolChoice::Auto => return None,
        ToolChoice::Nothing => ("NONE", None),
        ToolChoice::Something => ("ANY", None),
        ToolChoice::This(name) => ("ANY", Some([name.as_str()])),
    };
    Some(GeminiToolChoice {
        function_calling_config: GeminiCallingConfig {
            mode,
            allowed_function_names: only,
        },
    })
}
