//! Saved permission rules: what one does with a call it matches, and where it holds.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SessionId;

/// What a rule does with a call it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleKind {
    /// Lets it happen.
    Allow,
    /// Has a person asked.
    Ask,
    /// Refuses it.
    Deny,
}

/// Where a rule holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "scope", content = "place", rename_all = "snake_case")]
pub enum RuleScope {
    /// In a conversation and the sessions it delegates to.
    Session(SessionId),
    /// Below a directory.
    Project(PathBuf),
    /// Everywhere.
    Always,
}
