//! How much is asked of a model: everything, or only what a small one can bear.

use serde::{Deserialize, Serialize};

/// How a model is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelProfile {
    /// With all tools, by the wire's own calls.
    #[default]
    Full,
    /// With few tools, described and called in plain text.
    Lean,
}
