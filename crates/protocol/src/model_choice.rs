//! Model choice: a model with its provider and effort. Parses `provider/model[:effort]`.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ErrorCode, Problem};

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
    /// The provider that serves it.
    pub provider: String,
    /// The provider's name for it; for `scripted` the path of the script.
    pub model: String,
    /// Reasoning effort.
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
        let Some((provider, rest)) = at.and_then(|at| Some((text.get(..at)?, text.get(at + 1..)?)))
        else {
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
        Ok(Self {
            provider: provider.to_owned(),
            model: model.to_owned(),
            effort,
        })
    }
}

impl Serialize for ModelChoice {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ModelChoice {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
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
                (
                    choice.provider.as_str(),
                    choice.model.as_str(),
                    choice.effort
                ),
                (provider, model, effort)
            );
        }
        for bad in ["", "gpt-5", "/x", "openai/"] {
            assert!(bad.parse::<ModelChoice>().is_err(), "{bad}");
        }
    }
}
