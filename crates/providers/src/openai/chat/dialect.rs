//! Dialects of Chat Completions: how a vendor's API differs from OpenAI's, as data.

use crate::openai::BOUNDS;

/// A vendor's dialect of Chat Completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChatDialect {
    /// The field for the output limit.
    pub max_output: MaxOutputField,
    /// The field for the reasoning effort.
    pub effort: EffortField,
    /// The form in which the vendor expects its own thinking back.
    pub thinking: ThinkingField,
    /// The field for structured output.
    pub schema: SchemaField,
    /// The field that marks requests of one conversation.
    pub conversation: ConversationField,
    /// The required format of call ids.
    pub call_ids: CallIdFormat,
    /// Whether usage must be asked for with `stream_options`; refused by some.
    pub asks_usage: bool,
    /// Whether `parallel_tool_calls` may be sent; some need it, some refuse it.
    pub asks_parallel: bool,
    /// Whether a tool can be forced with `tool_choice`.
    pub forces_tools: bool,
    /// Whether a PDF may be sent as it is.
    pub takes_documents: bool,
    /// Bytes of a request that are taken.
    pub request_bytes: usize,
}

/// The field that bounds the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxOutputField {
    /// `max_completion_tokens`, which counts thinking too.
    Completion,
    /// `max_tokens`.
    Plain,
}

/// The field for the reasoning effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffortField {
    /// `reasoning_effort`.
    Effort,
    /// `reasoning_effort`, which is refused as soon as there are tools.
    EffortWithoutTools,
    /// `reasoning: {effort}`.
    Reasoning,
    /// Not at all.
    Absent,
}

/// The form in which a vendor expects its own thinking back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingField {
    /// As `reasoning_content`, and with calls even if it is empty.
    ReasoningContent,
    /// As a `thinking` piece of the content.
    ContentPiece,
    /// Only what it gave as `reasoning_details`.
    Details,
    /// Not at all.
    Absent,
}

/// The field for structured output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaField {
    /// `json_schema`.
    Schema,
    /// `json_object`, with the schema in the system prompt.
    Object,
}

/// The field that marks requests of one conversation, so that they hit the vendor's prompt cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConversationField {
    /// `prompt_cache_key`.
    CacheKey,
    /// This header.
    Header(&'static str),
    /// Not at all.
    Absent,
}

/// The required format of call ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallIdFormat {
    /// As ours are.
    Any,
    /// Nine letters or digits.
    Nine,
}

impl ChatDialect {
    /// OpenAI itself.
    pub const OPENAI: Self = Self {
        max_output: MaxOutputField::Completion,
        effort: EffortField::EffortWithoutTools,
        thinking: ThinkingField::Absent,
        schema: SchemaField::Schema,
        conversation: ConversationField::CacheKey,
        call_ids: CallIdFormat::Any,
        asks_usage: true,
        asks_parallel: true,
        forces_tools: true,
        takes_documents: true,
        request_bytes: BOUNDS.bytes,
    };

    /// Safe default for any compatible server.
    pub const PLAIN: Self = Self {
        max_output: MaxOutputField::Plain,
        effort: EffortField::Effort,
        conversation: ConversationField::Absent,
        asks_parallel: false,
        takes_documents: false,
        request_bytes: 20_000_000,
        ..Self::OPENAI
    };
}
