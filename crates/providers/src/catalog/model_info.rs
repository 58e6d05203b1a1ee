//! Entry of a known model: context window, output limit, capabilities and price.

use rooftree_protocol::Usage;
use serde::{Deserialize, Serialize};

/// Context windows below this many tokens are too small for all tools with their schemas.
const SMALL_WINDOW: u64 = 16_000;

/// What is known about a model. Absent values are unknown, not zero.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelInfo {
    /// `provider/model`.
    pub id: String,
    /// Aliases, without a provider.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Context window: tokens it can read and write together.
    #[serde(default)]
    pub window: Option<u64>,
    /// Output limit in tokens.
    #[serde(default)]
    pub output: Option<u64>,
    /// Its price.
    #[serde(default)]
    pub price: Option<ModelPrice>,
    /// Whether it supports tool calls.
    #[serde(default = "yes")]
    pub tools: bool,
    /// Whether it accepts images.
    #[serde(default)]
    pub images: bool,
    /// Whether it supports thinking.
    #[serde(default)]
    pub thinking: bool,
    /// Its tier among its provider's models, for settings that name a tier instead of a model.
    #[serde(default)]
    pub tier: Option<ModelTier>,
    /// Overrides the profile that follows from its capabilities.
    #[serde(default)]
    pub profile: Option<ModelProfile>,
}

fn yes() -> bool {
    true
}

impl ModelInfo {
    /// An entry without any facts but the id.
    pub fn unknown(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            aliases: Vec::new(),
            window: None,
            output: None,
            price: None,
            tools: true,
            images: false,
            thinking: false,
            tier: None,
            profile: None,
        }
    }

    /// This entry, with what the model's server says where it says nothing.
    pub(super) fn completed(&self, told: &Self) -> Self {
        Self {
            window: self.window.or(told.window),
            output: self.output.or(told.output),
            tools: self.tools && told.tools,
            images: self.images || told.images,
            ..self.clone()
        }
    }

    /// The provider before the slash.
    pub fn provider(&self) -> &str {
        self.id.split_once('/').map_or("", |(provider, _)| provider)
    }

    /// The profile: the entry's own, else derived from its capabilities.
    pub fn effective_profile(&self) -> ModelProfile {
        let is_small = self.window.is_some_and(|window| window < SMALL_WINDOW);
        match self.profile {
            Some(profile) => profile,
            None if is_small || !self.tools => ModelProfile::Lean,
            None => ModelProfile::Full,
        }
    }

    /// Why it has that profile, in words for people.
    pub fn profile_reason(&self) -> &'static str {
        match self.effective_profile() {
            _ if self.profile.is_some() => "its entry says so",
            ModelProfile::Full => "all tools, called over the wire",
            ModelProfile::Lean if !self.tools => "it does not call tools by itself",
            ModelProfile::Lean => "its window is small",
        }
    }

    /// The name behind the slash.
    pub fn model(&self) -> &str {
        self.id.split_once('/').map_or(&self.id, |(_, model)| model)
    }
}

/// Capability and price class of a model among those of its provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelTier {
    /// Quick and cheap.
    Fast,
    /// For most work.
    Standard,
    /// For the hardest work.
    Powerful,
}

/// US dollars per million tokens, and per thousand searches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    /// Input tokens.
    pub input: f64,
    /// Output tokens, thinking included.
    pub output: f64,
    /// Input tokens read from the cache; unknown if absent.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// Input tokens written to the cache; defaults to `input`.
    #[serde(default)]
    pub cache_write: Option<f64>,
    /// Prices that apply to the whole request once its input exceeds a limit.
    #[serde(default)]
    pub long: Option<Box<LongRequestPrice>>,
    /// A thousand searches by its provider's servers; defaults to the entry in `[search]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<f64>,
}

/// The price of long requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongRequestPrice {
    /// Input tokens above which a request is long.
    pub over: u64,
    /// Input tokens.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
    /// Input tokens read from the cache.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// Input tokens written to the cache.
    #[serde(default)]
    pub cache_write: Option<f64>,
}

impl ModelPrice {
    /// Free: a model on the user's own machine.
    pub const FREE: Self = Self {
        input: 0.0,
        output: 0.0,
        cache_read: Some(0.0),
        cache_write: Some(0.0),
        long: None,
        search: None,
    };

    /// Adds the cost to a usage. A cost reported by the provider itself stays.
    pub fn charge(&self, usage: Usage) -> Usage {
        if usage.cost_complete {
            return usage;
        }
        let long = self.long.as_deref().filter(|long| usage.input > long.over);
        let (input, output, cache_read, cache_write) = match long {
            Some(long) => (long.input, long.output, long.cache_read, long.cache_write),
            None => (self.input, self.output, self.cache_read, self.cache_write),
        };
        let fresh = usage
            .input
            .saturating_sub(usage.cache_read)
            .saturating_sub(usage.cache_write);
        let cost = |tokens: u64, price: f64| tokens as f64 * price / 1_000_000.0;
        let cost_usd = cost(fresh, input)
            + cost(usage.output, output)
            + cost(usage.cache_read, cache_read.unwrap_or(input))
            + cost(usage.cache_write, cache_write.unwrap_or(input))
            + usage.searches as f64 * self.search.unwrap_or(0.0) / 1_000.0;
        let cost_complete = (usage.cache_read == 0 || cache_read.is_some())
            && (usage.searches == 0 || self.search.is_some());
        Usage {
            cost_usd,
            cost_complete,
            ..usage
        }
    }
}

/// Request profile of a model: how it is prompted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelProfile {
    /// With all tools, by the API's native tool calls.
    #[default]
    Full,
    /// With few tools, described and called in plain text.
    Lean,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_asked_leanly_if_it_cannot_call_or_reads_little_unless_its_entry_says_otherwise() {
        let table = [
            ("", ModelProfile::Full),
            ("tools = false", ModelProfile::Lean),
            ("window = 8192", ModelProfile::Lean),
            ("window = 16_000", ModelProfile::Full),
            ("window = 8192\nprofile = 'full'", ModelProfile::Full),
            ("profile = 'lean'", ModelProfile::Lean),
        ];
        for (entry, expected) in table {
            let facts: ModelInfo = toml::from_str(&format!("id = 'a/b'\n{entry}")).unwrap();
            assert_eq!(facts.effective_profile(), expected, "{entry}");
        }
    }

    fn price() -> ModelPrice {
        let long = LongRequestPrice {
            over: 1_000_000,
            input: 4.0,
            output: 15.0,
            cache_read: None,
            cache_write: None,
        };
        ModelPrice {
            input: 2.0,
            output: 10.0,
            cache_read: Some(0.2),
            cache_write: Some(2.5),
            long: Some(Box::new(long)),
            search: Some(10.0),
        }
    }

    fn cost(usage: Usage) -> (f64, bool) {
        let charged = price().charge(usage);
        (
            (charged.cost_usd * 1e6).round() / 1e6,
            charged.cost_complete,
        )
    }

    #[test]
    fn every_kind_of_token_has_its_price() {
        let million = 1_000_000;
        let usage = Usage {
            input: million,
            output: 100_000,
            ..Usage::default()
        };
        assert_eq!(cost(usage), (3.0, true));
        assert_eq!(
            cost(Usage {
                cache_read: 500_000,
                ..usage
            }),
            (2.1, true)
        );
        assert_eq!(
            cost(Usage {
                cache_read: 500_000,
                cache_write: 500_000,
                ..usage
            }),
            (2.35, true)
        );
        assert_eq!(
            cost(Usage {
                reasoning: 90_000,
                ..usage
            }),
            (3.0, true),
            "thinking is part of the output"
        );
    }

    #[test]
    fn a_long_request_costs_more_and_an_unknown_price_is_said() {
        let usage = Usage {
            input: 2_000_000,
            output: 1_000_000,
            ..Usage::default()
        };
        assert_eq!(cost(usage), (23.0, true));
        assert_eq!(
            cost(Usage {
                cache_read: 1_000_000,
                ..usage
            }),
            (23.0, false)
        );
    }

    #[test]
    fn searches_of_the_provider_cost_and_an_unknown_price_of_them_is_said() {
        let usage = Usage {
            input: 500_000,
            searches: 3,
            ..Usage::default()
        };
        assert_eq!(cost(usage), (1.03, true));
        let unpriced = ModelPrice {
            search: None,
            ..price()
        }
        .charge(usage);
        assert_eq!((unpriced.cost_usd, unpriced.cost_complete), (1.0, false));
    }

    #[test]
    fn what_the_provider_says_it_costs_stays() {
        let said = Usage {
            input: 10,
            cost_usd: 0.5,
            cost_complete: true,
            ..Usage::default()
        };
        assert_eq!(price().charge(said), said);
        let local = Usage {
            input: 10,
            output: 10,
            cache_read: 5,
            ..Usage::default()
        };
        assert_eq!(
            ModelPrice::FREE.charge(local),
            Usage {
                cost_complete: true,
                ..local
            }
        );
    }
}
