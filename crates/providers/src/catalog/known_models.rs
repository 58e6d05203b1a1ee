//! Table of known models: the built-in one, and the entries people add in the same format.

use std::{collections::BTreeMap, sync::Arc};

use rooftree_protocol::{ErrorCode, Problem};
use serde::Deserialize;

use super::model_info::{ModelInfo, ModelTier};

/// The built-in table, in the format people write theirs.
const TABLE: &str = include_str!("models.toml");

/// Known models. Later entries take precedence over earlier ones of the same id or alias.
#[derive(Clone, Debug, Default)]
pub struct KnownModels {
    models: Vec<Arc<ModelInfo>>,
    /// US dollars for a thousand searches, by provider.
    search: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelsFile {
    #[serde(default)]
    model: Vec<ModelInfo>,
    #[serde(default)]
    search: BTreeMap<String, f64>,
}

impl KnownModels {
    /// The built-in table.
    pub fn built_in() -> Self {
        // The table is part of the program; a test reads it.
        Self::default()
            .adding("models.toml", TABLE)
            .unwrap_or_default()
    }

    /// Adds the models of a TOML text, called `name` in errors. They replace entries of the same id.
    pub fn adding(mut self, name: &str, text: &str) -> Result<Self, Problem> {
        let table: ModelsFile = toml::from_str(text).map_err(|error| {
            Problem::new(ErrorCode::InvalidConfig, format!("cannot read the models in {name}"))
                .cause(error.to_string().trim().to_owned())
                .fix("each [[model]] has an id such as \"openai/gpt-x\"; `rooftree models show` prints one")
        })?;
        self.search.extend(table.search);
        for facts in table.model {
            if facts.provider().is_empty() || facts.model().is_empty() {
                return Err(Problem::new(
                    ErrorCode::InvalidConfig,
                    format!("a model in {name} has the id `{}`", facts.id),
                )
                .fix("write provider/model"));
            }
            self.models.retain(|known| known.id != facts.id);
            self.models.push(Arc::new(facts));
        }
        Ok(self)
    }

    /// All models, built-in ones first.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<ModelInfo>> {
        self.models.iter()
    }

    /// The entry of a provider's model. A date at the end of the name is ignored.
    pub fn find(&self, provider: &str, model: &str) -> Option<&Arc<ModelInfo>> {
        let of = |provider: &str| {
            let named = |name: &str| {
                self.models
                    .iter()
                    .rfind(|facts| facts.provider() == provider && facts.model() == name)
            };
            named(model).or_else(|| named(without_date(model)?))
        };
        // Two APIs of one vendor serve the same models.
        of(provider).or_else(|| {
            if provider == "openai-chat" {
                of("openai")
            } else {
                None
            }
        })
    }

    /// The price of a thousand searches by a provider's servers, if known.
    pub fn search_price(&self, provider: &str) -> Option<f64> {
        let of = |provider: &str| self.search.get(provider).copied();
        of(provider).or_else(|| {
            if provider == "openai-chat" {
                of("openai")
            } else {
                None
            }
        })
    }

    /// The model with this alias.
    pub fn by_alias(&self, alias: &str) -> Option<&Arc<ModelInfo>> {
        self.models
            .iter()
            .rfind(|facts| facts.aliases.iter().any(|known| known == alias))
    }

    /// The models of this name, from all providers.
    pub fn by_name(&self, name: &str) -> Vec<&Arc<ModelInfo>> {
        let named = |name: &str| {
            self.models
                .iter()
                .filter(|facts| facts.model() == name)
                .collect::<Vec<_>>()
        };
        let exact = named(name);
        match without_date(name) {
            Some(name) if exact.is_empty() => named(name),
            _ => exact,
        }
    }

    /// A provider's model of a tier.
    pub fn of_tier(&self, provider: &str, tier: ModelTier) -> Option<&Arc<ModelInfo>> {
        self.models
            .iter()
            .rfind(|facts| facts.provider() == provider && facts.tier == Some(tier))
    }
}

/// A name without the `-20251001` or `-2025-10-01` at its end.
fn without_date(name: &str) -> Option<&str> {
    let shapes = ["-00000000", "-0000-00-00"];
    shapes.iter().find_map(|shape| {
        let (rest, tail) = name.split_at_checked(name.len().checked_sub(shape.len())?)?;
        has_shape(tail, shape).then_some(rest)
    })
}

/// Whether a text has digits where the shape has zeros, and is like it elsewhere.
fn has_shape(text: &str, shape: &str) -> bool {
    text.len() == shape.len()
        && text
            .bytes()
            .zip(shape.bytes())
            .all(|(byte, shape)| match shape {
                b'0' => byte.is_ascii_digit(),
                _ => byte == shape,
            })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_table_can_be_read_and_holds_together() {
        let known = KnownModels::default().adding("models.toml", TABLE).unwrap();
        assert!(known.iter().count() > 20);
        for facts in known.iter() {
            assert!(
                facts
                    .output
                    .zip(facts.window)
                    .is_none_or(|(output, window)| output <= window),
                "{facts:?}"
            );
            for alias in &facts.aliases {
                assert_eq!(
                    known.by_alias(alias).unwrap().id,
                    facts.id,
                    "alias {alias} is given twice"
                );
            }
        }
        for provider in ["anthropic", "openai", "google"] {
            for tier in [ModelTier::Fast, ModelTier::Standard, ModelTier::Powerful] {
                let of_tier = known
                    .iter()
                    .filter(|f| f.provider() == provider && f.tier == Some(tier));
                assert_eq!(of_tier.count(), 1, "{provider} {tier:?}");
            }
        }
    }

    #[test]
    fn a_date_at_the_end_of_a_name_does_not_matter() {
        assert_eq!(
            without_date("claude-haiku-4-5-20251001"),
            Some("claude-haiku-4-5")
        );
        assert_eq!(without_date("gpt-4o-2024-11-20"), Some("gpt-4o"));
        assert_eq!(without_date("claude-haiku-4-5"), None);
        assert_eq!(without_date("größe-ü"), None);
        let known = KnownModels::built_in();
        assert_eq!(
            known
                .find("anthropic", "claude-haiku-4-5-20251001")
                .unwrap()
                .id,
            "anthropic/claude-haiku-4-5"
        );
        assert_eq!(
            known.find("openai-chat", "gpt-4o").unwrap().id,
            "openai/gpt-4o"
        );
        assert!(known.find("anthropic", "gpt-4o").is_none());
    }

    #[test]
    fn a_table_of_ones_own_replaces_and_adds() {
        let text = "[[model]]\nid = 'openai/gpt-4o'\nwindow = 5\n[[model]]\nid = 'mine/a'\naliases = ['opus']";
        let known = KnownModels::built_in().adding("mine.toml", text).unwrap();
        assert_eq!(known.find("openai", "gpt-4o").unwrap().window, Some(5));
        assert_eq!(known.by_alias("opus").unwrap().id, "mine/a");
        let flawed = KnownModels::default()
            .adding("mine.toml", "[[model]]\nid = 'a/b'\nwindw = 1")
            .unwrap_err();
        assert!(flawed.cause.unwrap().contains("windw"));
        assert!(
            KnownModels::default()
                .adding("mine.toml", "[[model]]\nid = 'b'")
                .is_err()
        );
    }
}
