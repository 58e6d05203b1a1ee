//! Maps the reasoning effort to the `thinking` fields that a model generation accepts.

use rooftree_protocol::Effort;
use serde::Serialize;

/// The `thinking` field.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum AnthropicThinking {
    /// The model decides, guided by the effort. Newer models hide their thinking unless asked to show it.
    Adaptive { display: &'static str },
    /// At most so many tokens.
    Enabled { budget_tokens: u64 },
}

/// How a model generation accepts thinking parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThinkingStyle {
    /// Not at all.
    Never,
    /// By a budget of tokens.
    Budget,
    /// By an effort; a budget is refused.
    Adaptive,
}

/// The smallest thinking budget the vendor accepts.
const LEAST: u64 = 1024;

/// The `thinking` field, and the `effort` word if the model knows one.
pub(super) fn thinking_fields(
    model: &str,
    effort: Option<Effort>,
    max_tokens: u64,
) -> (Option<AnthropicThinking>, Option<&'static str>) {
    let Some(effort) = effort else {
        return (None, None);
    };
    match style(model) {
        ThinkingStyle::Never => (None, None),
        ThinkingStyle::Adaptive => {
            let word = match effort {
                Effort::Low => "low",
                Effort::Medium => "medium",
                Effort::High => "high",
            };
            (
                Some(AnthropicThinking::Adaptive {
                    display: "summarized",
                }),
                Some(word),
            )
        }
        ThinkingStyle::Budget => {
            let wanted = match effort {
                Effort::Low => 2048,
                Effort::Medium => 8192,
                Effort::High => 24_576,
            };
            // The budget is part of the output and must leave room for an answer.
            let budget_tokens = wanted.min(max_tokens.saturating_sub(LEAST));
            (
                (budget_tokens >= LEAST).then_some(AnthropicThinking::Enabled { budget_tokens }),
                None,
            )
        }
    }
}

/// Models of other vendors take budgets: compatible servers implemented these first.
fn style(model: &str) -> ThinkingStyle {
    let Some(name) = model.find("claude-").and_then(|at| model.get(at..)) else {
        return ThinkingStyle::Budget;
    };
    if name.starts_with("claude-3-7") {
        return ThinkingStyle::Budget;
    }
    if name.starts_with("claude-3")
        || name.starts_with("claude-2")
        || name.starts_with("claude-instant")
    {
        return ThinkingStyle::Never;
    }
    let version = ["opus-4", "sonnet-4", "haiku-4"]
        .iter()
        .find_map(|family| name.strip_prefix("claude-")?.strip_prefix(family));
    match version.map(|rest| rest.trim_start_matches(['-', '.'])) {
        None => ThinkingStyle::Adaptive,
        // `4-6` to `4-9` are adaptive; a date or a smaller number is of the generation before.
        Some(rest) if rest.starts_with(['6', '7', '8', '9']) => ThinkingStyle::Adaptive,
        Some(_) => ThinkingStyle::Budget,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_generation_is_asked_in_its_own_way() {
        let table = [
            ("claude-3-haiku-20240307", ThinkingStyle::Never),
            ("claude-3-5-sonnet-latest", ThinkingStyle::Never),
            ("claude-3-7-sonnet-20250219", ThinkingStyle::Budget),
            ("claude-sonnet-4-20250514", ThinkingStyle::Budget),
            ("claude-opus-4-1", ThinkingStyle::Budget),
            ("claude-haiku-4-5", ThinkingStyle::Budget),
            ("claude-sonnet-4-5-20250929", ThinkingStyle::Budget),
            ("claude-sonnet-4-6", ThinkingStyle::Adaptive),
            ("claude-opus-4-8", ThinkingStyle::Adaptive),
            ("anthropic/claude-opus-4.7", ThinkingStyle::Adaptive),
            ("claude-sonnet-5-5", ThinkingStyle::Adaptive),
            ("claude-fable-5-2", ThinkingStyle::Adaptive),
            ("qwen2.5-coder", ThinkingStyle::Budget),
        ];
        for (model, expected) in table {
            assert_eq!(style(model), expected, "{model}");
        }
    }

    #[test]
    fn a_budget_leaves_room_for_an_answer_or_is_not_given() {
        let budget = |max| thinking_fields("claude-haiku-4-5", Some(Effort::High), max).0;
        assert_eq!(
            budget(32_000),
            Some(AnthropicThinking::Enabled {
                budget_tokens: 24_576
            })
        );
        assert_eq!(
            budget(4096),
            Some(AnthropicThinking::Enabled {
                budget_tokens: 3072
            })
        );
        assert_eq!(budget(1500), None);
    }
}
