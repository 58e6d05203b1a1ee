//! Skill records: the skill an agent follows, and how it narrows the agent's permissions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A skill that is followed, and the tools it wants used. It narrows what may be done and never widens it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillNote {
    /// Which skill.
    pub name: String,
    /// Rules that name the only calls to be made; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    /// Rules that name calls not to be made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
}

impl SkillNote {
    /// Whether it restricts tools.
    pub fn narrows(&self) -> bool {
        self.allow.is_some() || !self.deny.is_empty()
    }
}
