//! Journal records of hooks: their output, where it has an effect.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What hooks said at one point. What has no effect is not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookNote {
    /// At which point: `PostToolUse`, `Stop` …
    pub point: String,
    /// What it is about: the id of a call or of a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Whether it keeps something from happening: a message is left out, a run does not end yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocks: bool,
    /// In words. The model reads them, unless they are about a message that it does not get.
    pub text: String,
}
