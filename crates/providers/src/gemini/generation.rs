//! Gemini model generations: their thinking parameters, and where images in tool results go.

use rooftree_protocol::Effort;
use serde::Serialize;

/// The generations that differ in the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GeminiGeneration {
    /// Does not think.
    Plain,
    /// 2.5: thinks by a budget of tokens.
    Budget,
    /// 3 and later: thinks by a level, signs calls, reads images inside of tool results.
    Level,
}

/// The `thinkingConfig` field.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiThinking {
    include_thoughts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u32>,
}

impl GeminiGeneration {
    /// Detects the generation from the model's name; names without a number mean the newest.
    pub(super) fn of(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model);
        let Some(version) = name.strip_prefix("gemini-") else {
            return Self::Plain;
        };
        match version {
            version if version.starts_with("2.5") => Self::Budget,
            version if version.starts_with("1.") || version.starts_with("2.") => Self::Plain,
            version if version.starts_with("pro") && version != "pro-latest" => Self::Plain,
            _ => Self::Level,
        }
    }

    /// The thinking parameters. Thoughts are always requested from models that think.
    pub(super) fn thinking(self, effort: Option<Effort>) -> Option<GeminiThinking> {
        let (level, budget) = match effort {
            None => (None, None),
            Some(Effort::Low) => (Some("LOW"), Some(1024)),
            Some(Effort::Medium) => (Some("MEDIUM"), Some(8192)),
            Some(Effort::High) => (Some("HIGH"), Some(24_576)),
        };
        let thinking = GeminiThinking {
            include_thoughts: true,
            thinking_level: None,
            thinking_budget: None,
        };
        match self {
            Self::Plain => None,
            Self::Budget => Some(GeminiThinking {
                thinking_budget: budget,
                ..thinking
            }),
            Self::Level => Some(GeminiThinking {
                thinking_level: level,
                ..thinking
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_the_generation() {
        let table = [
            ("gemini-1.5-pro", GeminiGeneration::Plain),
            ("gemini-2.0-flash", GeminiGeneration::Plain),
            ("gemini-2.5-flash-lite", GeminiGeneration::Budget),
            ("models/gemini-2.5-pro", GeminiGeneration::Budget),
            ("gemini-3-pro-preview", GeminiGeneration::Level),
            ("gemini-3.8-flash", GeminiGeneration::Level),
            ("gemini-4-argon", GeminiGeneration::Level),
            ("gemini-flash-latest", GeminiGeneration::Level),
            ("gemma-3-27b-it", GeminiGeneration::Plain),
        ];
        for (model, expected) in table {
            assert_eq!(GeminiGeneration::of(model), expected, "{model}");
        }
    }
}
