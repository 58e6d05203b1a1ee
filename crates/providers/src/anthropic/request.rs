//! Encodes a request for Anthropic. Everything that stays the same from turn to turn precedes the messages.
//!
//! Invariant: the body of a turn begins with the bytes of the turn before, up to the end of
//! the messages they share. So no message carries a cache marker, which would move with the
//! last one; the API's own `cache_control` beside the messages marks the last block instead.

use rooftree_protocol::ToolSpec;
use serde::Serialize;
use serde_json::Value;

use super::{
    messages::{self, AnthropicBlock, AnthropicMessage},
    thinking::{self, AnthropicThinking},
};
use crate::{Error, ModelMessage, ModelRequest, ToolChoice, media::DroppedContent};

/// Default output limit in tokens: the API requires a number, and every current model allows this one.
const MAX_TOKENS: u64 = 32_000;

#[derive(Serialize)]
struct AnthropicRequestBody<'a> {
    model: &'a str,
    max_tokens: u64,
    stream: bool,
    cache_control: CacheControl,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<AnthropicThinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<AnthropicOutputConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<AnthropicToolChoice<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<AnthropicTool<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<AnthropicSystem<'a>>,
    messages: Vec<AnthropicMessage<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum CacheControl {
    Ephemeral,
}

#[derive(Serialize)]
struct AnthropicOutputConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<AnthropicFormat<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicFormat<'a> {
    JsonSchema { schema: &'a Value },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicToolChoice<'a> {
    None,
    Any,
    Tool { name: &'a str },
}

#[derive(Serialize)]
struct AnthropicTool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

impl<'a> From<&'a ToolSpec> for AnthropicTool<'a> {
    fn from(spec: &'a ToolSpec) -> Self {
        let ToolSpec {
            name,
            description,
            input_schema,
        } = spec;
        Self {
            name,
            description,
            input_schema,
            cache_control: None,
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicSystem<'a> {
    Text {
        text: &'a str,
        cache_control: CacheControl,
    },
}

/// Encodes the body of a request; also returns what of the conversation it leaves out.
pub(super) fn encode_request(
    request: &ModelRequest,
    provider: &str,
) -> Result<(Vec<u8>, Vec<String>), Error> {
    let mut dropped = DroppedContent::default();
    let messages = messages::encode_messages(request, provider, &mut dropped);
    let max_tokens = request.max_output.unwrap_or(MAX_TOKENS).max(1);
    let (thinking, effort) = thinking::thinking_fields(&request.model, request.effort, max_tokens);
    let format = request
        .schema
        .as_deref()
        .map(|schema| AnthropicFormat::JsonSchema { schema });
    let has_system = !request.system.trim().is_empty();
    let body = AnthropicRequestBody {
        model: &request.model,
        max_tokens,
        stream: true,
        cache_control: CacheControl::Ephemeral,
        thinking: thinking.filter(|thinking| may_think(thinking, request, &messages)),
        output_config: (effort.is_some() || format.is_some())
            .then_some(AnthropicOutputConfig { effort, format }),
        tool_choice: choice(request),
        tools: tools(&request.tools, has_system),
        system: has_system
            .then_some(AnthropicSystem::Text {
                text: &request.system,
                cache_control: CacheControl::Ephemeral,
            })
            .into_iter()
            .collect(),
        messages,
    };
    let bytes = serde_json::to_vec(&body)
        .map_err(|error| Error::Refused(format!("the request cannot be spelled: {error}")))?;
    Ok((bytes, dropped.into_words()))
}

fn choice(request: &ModelRequest) -> Option<AnthropicToolChoice<'_>> {
    match &request.tool_choice {
        _ if request.tools.is_empty() => None,
        ToolChoice::Auto => None,
        ToolChoice::Nothing => Some(AnthropicToolChoice::None),
        ToolChoice::Something => Some(AnthropicToolChoice::Any),
        ToolChoice::This(name) => Some(AnthropicToolChoice::Tool { name }),
    }
}

/// The tools; the last one carries the cache marker if no system prompt follows.
fn tools(specs: &[ToolSpec], has_system: bool) -> Vec<AnthropicTool<'_>> {
    let mut tools: Vec<AnthropicTool<'_>> = specs.iter().map(AnthropicTool::from).collect();
    if let (Some(last), false) = (tools.last_mut(), has_system) {
        last.cache_control = Some(CacheControl::Ephemeral);
    }
    tools
}

/// Whether the API accepts thinking in this request: not with a forced call, and with
/// a budget not in the middle of calls that came without thinking, as another model's do.
fn may_think(
    thinking: &AnthropicThinking,
    request: &ModelRequest,
    messages: &[AnthropicMessage<'_>],
) -> bool {
    if matches!(
        request.tool_choice,
        ToolChoice::Something | ToolChoice::This(_)
    ) && !request.tools.is_empty()
    {
        return false;
    }
    let in_calls = matches!(
        request.messages.last().map(AsRef::as_ref),
        Some(ModelMessage::Results(_))
    );
    if matches!(thinking, AnthropicThinking::Adaptive { .. }) || !in_calls {
        return true;
    }
    let reply = messages
        .iter()
        .rev()
        .nth(1)
        .and_then(|message| message.content.first());
    match reply {
        Some(AnthropicBlock::Thinking { .. }) => true,
        Some(AnthropicBlock::Kept(item)) => item
            .get("type")
            .is_some_and(|kind| kind == "redacted_thinking"),
        _ => false,
    }
}
