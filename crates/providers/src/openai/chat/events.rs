//! Stream events of Chat Completions: chunks of a choice, in OpenAI's fields and in those of other vendors.

use rooftree_protocol::Usage;
use serde::Deserialize;
use serde_json::Value;

/// One chunk.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatEvent {
    pub(super) id: Option<String>,
    pub(super) choices: Option<Vec<ChatChoice>>,
    pub(super) usage: Option<ChatUsage>,
    pub(super) error: Option<Value>,
    /// Groq's extra fields.
    x_groq: Option<GroqExtras>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GroqExtras {
    usage: Option<ChatUsage>,
    error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatChoice {
    pub(super) delta: Option<ChatDelta>,
    pub(super) finish_reason: Option<String>,
    /// Moonshot reports usage here.
    pub(super) usage: Option<ChatUsage>,
    pub(super) error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatDelta {
    pub(super) content: Option<ChatDeltaContent>,
    pub(super) refusal: Option<String>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    pub(super) reasoning_details: Option<Vec<Value>>,
    pub(super) tool_calls: Option<Vec<ChatCallDelta>>,
}

impl ChatDelta {
    /// A thinking delta, under either of its names. Servers that send both send the same.
    pub(super) fn thinking(&mut self) -> Option<String> {
        let thinking = self.reasoning_content.take().or(self.reasoning.take());
        thinking.filter(|text| !text.is_empty())
    }
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum ChatDeltaContent {
    Words(String),
    Pieces(Vec<ChatDeltaPart>),
    Other(serde::de::IgnoredAny),
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ChatDeltaPart {
    Text {
        text: String,
    },
    Thinking {
        #[serde(default)]
        thinking: Vec<ChatDeltaPart>,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatCallDelta {
    pub(super) index: Option<usize>,
    pub(super) id: Option<String>,
    pub(super) function: Option<ChatFunctionDelta>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatFunctionDelta {
    pub(super) name: Option<String>,
    /// Text to append; some servers send the whole object instead.
    pub(super) arguments: Option<Value>,
}

/// Token counts, under the names in use.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    total_tokens: Option<u64>,
    prompt_tokens_details: Option<ChatPromptDetails>,
    completion_tokens_details: Option<ChatCompletionDetails>,
    /// DeepSeek.
    prompt_cache_hit_tokens: Option<u64>,
    /// Moonshot.
    cached_tokens: Option<u64>,
    /// OpenRouter: dollars.
    cost: Option<f64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ChatPromptDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ChatCompletionDetails {
    reasoning_tokens: Option<u64>,
}

impl ChatEvent {
    /// The usage, wherever it is.
    pub(super) fn tokens(&mut self) -> Option<ChatUsage> {
        let choice = self
            .choices
            .as_mut()
            .and_then(|choices| choices.first_mut());
        let extra = self.x_groq.as_mut().and_then(|extras| extras.usage.take());
        self.usage
            .take()
            .or(extra)
            .or_else(|| choice.and_then(|choice| choice.usage.take()))
    }

    /// The error, wherever it is.
    pub(super) fn failure(&mut self) -> Option<Value> {
        let choice = self
            .choices
            .as_mut()
            .and_then(|choices| choices.first_mut());
        let extra = self.x_groq.as_mut().and_then(|extras| extras.error.take());
        let error = self
            .error
            .take()
            .or(extra)
            .or_else(|| choice.and_then(|choice| choice.error.take()));
        error.filter(|error| !error.is_null())
    }
}

impl From<ChatUsage> for Usage {
    fn from(tokens: ChatUsage) -> Self {
        let input = tokens.prompt_tokens.unwrap_or_default();
        let written = tokens.completion_tokens.unwrap_or_default();
        // Some vendors count thinking only in the total.
        let output = tokens
            .total_tokens
            .unwrap_or_default()
            .saturating_sub(input)
            .max(written);
        let prompt = tokens.prompt_tokens_details.unwrap_or_default();
        let cached = prompt
            .cached_tokens
            .or(tokens.prompt_cache_hit_tokens)
            .or(tokens.cached_tokens);
        let reasoning = tokens
            .completion_tokens_details
            .unwrap_or_default()
            .reasoning_tokens;
        Self {
            input,
            output,
            cache_read: cached.unwrap_or_default().min(input),
            cache_write: prompt.cache_write_tokens.unwrap_or_default().min(input),
            reasoning: reasoning.unwrap_or_default().min(output),
            searches: 0,
            cost_usd: tokens.cost.unwrap_or_default(),
            cost_complete: tokens.cost.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_counted_under_every_name() {
        let usage = |text: &str| Usage::from(serde_json::from_str::<ChatUsage>(text).unwrap());
        let openai = usage(
            r#"{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,
            "prompt_tokens_details":{"cached_tokens":64,"cache_write_tokens":30},
            "completion_tokens_details":{"reasoning_tokens":12}}"#,
        );
        let read = (
            openai.input,
            openai.output,
            openai.cache_read,
            openai.cache_write,
            openai.reasoning,
        );
        assert_eq!(read, (100, 20, 64, 30, 12));
        assert!(!openai.cost_complete);
        assert_eq!(
            usage(r#"{"prompt_tokens":9,"prompt_cache_hit_tokens":4}"#).cache_read,
            4
        );
        assert_eq!(
            usage(r#"{"prompt_tokens":9,"cached_tokens":5}"#).cache_read,
            5
        );
        let apart = r#"{"prompt_tokens":10,"completion_tokens":5,"total_tokens":45,
            "completion_tokens_details":{"reasoning_tokens":30}}"#;
        assert_eq!((usage(apart).output, usage(apart).reasoning), (35, 30));
        let paid =
            usage(r#"{"prompt_tokens":1,"completion_tokens":1,"cost":0.25,"total_tokens":null}"#);
        assert_eq!((paid.cost_usd, paid.cost_complete), (0.25, true));
    }
}
