//! Stream events of Google's API, as far as they are parsed here. Unknown fields are not an error.

use rooftree_protocol::Usage;
use serde::Deserialize;
use serde_json::Value;

/// One event: a piece of the answer, or an error.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct GeminiEvent {
    pub(super) candidates: Vec<GeminiCandidate>,
    pub(super) prompt_feedback: Option<GeminiPromptFeedback>,
    pub(super) usage_metadata: Option<GeminiUsage>,
    pub(super) response_id: Option<String>,
    pub(super) error: Option<GeminiError>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct GeminiCandidate {
    pub(super) content: Option<GeminiReplyContent>,
    pub(super) finish_reason: Option<String>,
    pub(super) finish_message: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GeminiReplyContent {
    pub(super) parts: Vec<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct GeminiPromptFeedback {
    block_reason: Option<String>,
    block_reason_message: Option<String>,
}

impl GeminiPromptFeedback {
    /// Why the prompt was blocked, if it was.
    pub(super) fn refusal(self) -> Option<String> {
        let reason = self.block_reason?;
        Some(
            self.block_reason_message
                .unwrap_or_else(|| format!("the prompt is blocked: {reason}")),
        )
    }
}

/// Token totals so far; each event has all of them.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct GeminiUsage {
    prompt_token_count: u64,
    tool_use_prompt_token_count: u64,
    cached_content_token_count: u64,
    candidates_token_count: u64,
    thoughts_token_count: u64,
}

impl GeminiUsage {
    /// Converts to our usage. The vendor counts thinking apart from the rest of the output.
    pub(super) fn usage(self) -> Usage {
        Usage {
            input: self
                .prompt_token_count
                .saturating_add(self.tool_use_prompt_token_count),
            output: self
                .candidates_token_count
                .saturating_add(self.thoughts_token_count),
            cache_read: self.cached_content_token_count,
            reasoning: self.thoughts_token_count,
            ..Usage::default()
        }
    }
}

/// The body of an error response. Some of the vendor's servers wrap it in a list.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum GeminiErrorBody {
    One { error: GeminiError },
    List([GeminiErrorItem; 1]),
}

#[derive(Debug, Deserialize)]
pub(super) struct GeminiErrorItem {
    pub(super) error: GeminiError,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GeminiError {
    pub(super) code: u16,
    pub(super) message: String,
    pub(super) status: String,
    pub(super) details: Vec<Value>,
}
