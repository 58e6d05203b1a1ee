//! Request profile of a model: full, or lean for small models.

use serde::{Deserialize, Serialize};

/// How a model is prompted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelProfile {
    /// With all tools, by the API's native tool calls.
    #[default]
    Full,
    /// With few tools, described and called in plain text.
    Lean,
}
