//! The text that describes an agent: prompt, model, tools, limits.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Effect, ErrorCode, Problem};

/// An agent as it is defined, before anything runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentDefinition {
    /// Unique without regard to case.
    pub name: String,
    /// When to use it, for people and for other agents.
    #[serde(default)]
    pub description: String,
    /// Its system prompt.
    #[serde(default)]
    pub prompt: String,
    /// The model it thinks with; the session's or the default one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelChoice>,
    /// Which tools it may use.
    #[serde(default)]
    pub tools: ToolScope,
    /// Where it ends.
    #[serde(default)]
    pub limits: Limits,
}

/// Allowed and denied tools, as globs over canonical names. Absent is not the same as empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ToolScope {
    /// Absent: all. Empty: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    /// Taken away from what is allowed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
}

/// How hard a model should think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// As little as possible.
    Low,
    /// The usual.
    Medium,
    /// As much as helps.
    High,
}

/// A model with its provider: `provider/model[:effort]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelChoice {
    /// Who serves it.
    pub provider: String,
    /// What the provider calls it; for `scripted` the path of the script.
    pub model: String,
    /// How hard it should think.
    pub effort: Option<Effort>,
}

impl fmt::Display for ModelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)?;
        match self.effort {
            None => Ok(()),
            Some(Effort::Low) => f.write_str(":low"),
            Some(Effort::Medium) => f.write_str(":medium"),
            Some(Effort::High) => f.write_str(":high"),
        }
    }
}

impl FromStr for ModelChoice {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Self, Problem> {
        let at = text.find(['/', ':']).filter(|at| *at > 0);
        let Some((provider, rest)) = at.and_then(|at| Some((text.get(..at)?, text.get(at + 1..)?))) else {
            return Err(Problem::new(
                ErrorCode::InvalidArguments,
                format!("model `{text}` names no provider"),
            )
            .fix("write provider/model, for example scripted/demo.toml"));
        };
        let (model, effort) = match rest.rsplit_once(':') {
            Some((model, "low")) => (model, Some(Effort::Low)),
            Some((model, "medium")) => (model, Some(Effort::Medium)),
            Some((model, "high")) => (model, Some(Effort::High)),
            _ => (rest, None),
        };
        if model.is_empty() {
            return Err(Problem::new(
                ErrorCode::InvalidArguments,
                format!("model `{text}` has no name after its provider"),
            )
            .fix("write provider/model, for example scripted/demo.toml"));
        }
        Ok(Self { provider: provider.to_owned(), model: model.to_owned(), effort })
    }
}

impl Serialize for ModelChoice {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ModelChoice {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for ModelChoice {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ModelChoice".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "pattern": "^[^/:]+[/:].+$"})
    }
}

/// Every bound there is. Absent values in a definition keep these defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Model replies per run.
    pub max_turns: u32,
    /// Seconds a run may take, waiting for people not counted. Zero: no limit.
    pub run_timeout_secs: u64,
    /// US dollars a run may cost, as far as prices are known; no limit if absent.
    pub max_cost_usd: Option<f64>,
    /// Calls of one reply that run at the same time.
    pub concurrent_calls: usize,
    /// Messages waiting in one inbox before posters are refused.
    pub inbox: u64,
    /// Characters of one tool result that a model reads; the rest is kept in a blob.
    pub result_chars: usize,
    /// The same call with the same input, in a row, before the run is ended.
    pub identical_calls: u32,
    /// Times a failed request to a model is made again.
    pub retries: u32,
    /// Seconds until a question to a person is answered with no.
    pub permission_ttl_secs: u64,
    /// Tokens a model can read when it does not say.
    pub context_window: u64,
    /// Percent of the window that may be full before the context is made smaller.
    pub compact_at_percent: u8,
    /// Tokens beyond which a context that cannot be made smaller is started anew, if the window is smaller.
    pub emergency_context: u64,
    /// Times in a row a reply that hit the model's output limit is continued.
    pub continuations: u32,
    /// Bytes of images one request may carry; older ones are told in words.
    pub media_bytes: u64,
    /// Bytes of one image or file in a message.
    pub attachment_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_turns: 200,
            run_timeout_secs: 0,
            max_cost_usd: None,
            concurrent_calls: 16,
            inbox: 10_000,
            result_chars: 30_000,
            identical_calls: 5,
            retries: 5,
            permission_ttl_secs: 3600,
            context_window: 200_000,
            compact_at_percent: 80,
            emergency_context: 200_000,
            continuations: 3,
            media_bytes: 16 * 1024 * 1024,
            attachment_bytes: 20 * 1024 * 1024,
        }
    }
}

/// How much may happen without asking. The order is one of trust.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PermissionMode {
    /// Only looking.
    Plan,
    /// Ask before anything that changes something.
    #[default]
    Ask,
    /// Change files below the working directory, ask for the rest.
    AcceptEdits,
    /// Do anything on this machine; ask for what acts elsewhere.
    Auto,
    /// Never ask. Deny rules still hold.
    Bypass,
}

impl PermissionMode {
    /// Whether this mode lets an effect happen without a question.
    pub fn permits(self, effect: Effect) -> bool {
        match self {
            Self::Plan | Self::Ask => effect == Effect::ReadOnly,
            Self::AcceptEdits => effect <= Effect::LocalMutation,
            Self::Auto => effect <= Effect::Destructive,
            Self::Bypass => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_string_keeps_slashes_and_colons_of_its_name() {
        let table = [
            ("scripted/a/b.toml", "scripted", "a/b.toml", None),
            ("ollama/qwen3:8b", "ollama", "qwen3:8b", None),
            ("openai:gpt-5:high", "openai", "gpt-5", Some(Effort::High)),
            ("scripted//tmp/x.toml", "scripted", "/tmp/x.toml", None),
        ];
        for (text, provider, model, effort) in table {
            let choice: ModelChoice = text.parse().unwrap();
            assert_eq!(
                (choice.provider.as_str(), choice.model.as_str(), choice.effort),
                (provider, model, effort)
            );
        }
        for bad in ["", "gpt-5", "/x", "openai/"] {
            assert!(bad.parse::<ModelChoice>().is_err(), "{bad}");
        }
    }
}
