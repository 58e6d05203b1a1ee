//! Permission scopes and modes: allowed names, and what may happen without asking.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::effect::Effect;

/// Allowed and denied names, as globs compared without case. Absent is not the same as empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Scope {
    /// Absent: all. Empty: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    /// Taken away from what is allowed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
}

impl Scope {
    /// Allows only these.
    pub fn only<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        Self {
            allow: Some(names.into_iter().map(Into::into).collect()),
            deny: Vec::new(),
        }
    }
}

/// How much may happen without asking. The order is one of trust.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PermissionMode {
    /// Only looking.
    Plan,
    /// Ask before anything that changes something.
    #[default]
    Ask,
    /// Change files below the working directory, ask for the rest.
    AcceptEdits,
    /// Do anything on this machine; ask for what acts elsewhere.
    Auto,
    /// Never ask. Deny rules still hold.
    Bypass,
}

/// As it is written in settings and flags.
impl std::fmt::Display for PermissionMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Plan => "plan",
            Self::Ask => "ask",
            Self::AcceptEdits => "accept-edits",
            Self::Auto => "auto",
            Self::Bypass => "bypass",
        })
    }
}

impl PermissionMode {
    /// Whether this mode permits an effect without asking.
    pub fn permits(self, effect: Effect) -> bool {
        match self {
            Self::Plan | Self::Ask => effect == Effect::ReadOnly,
            Self::AcceptEdits => effect <= Effect::LocalMutation,
            Self::Auto => effect <= Effect::Destructive,
            Self::Bypass => true,
        }
    }
}
