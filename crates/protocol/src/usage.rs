//! Usage: tokens and cost.

use std::ops::AddAssign;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tokens of one request or of many added up. `input` includes what the cache gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Usage {
    /// Tokens the model read.
    pub input: u64,
    /// Tokens the model wrote.
    pub output: u64,
    /// Part of `input` that came from the provider's cache.
    pub cache_read: u64,
    /// Part of `input` that was put into the provider's cache.
    pub cache_write: u64,
    /// Part of `output` that was thinking.
    pub reasoning: u64,
    /// Searches of the web that the provider's servers made.
    #[serde(skip_serializing_if = "is_zero")]
    pub searches: u64,
    /// Money in US dollars, as far as prices are known.
    pub cost_usd: f64,
    /// Whether every price was known. A scripted model is free and complete.
    pub cost_complete: bool,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    /// Zero usage with a complete cost: the start of a sum.
    pub fn none() -> Self {
        Self {
            cost_complete: true,
            ..Self::default()
        }
    }

    /// Input and output tokens together.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.reasoning += other.reasoning;
        self.searches += other.searches;
        self.cost_usd += other.cost_usd;
        self.cost_complete &= other.cost_complete;
    }
}
