//! Effects of a tool call, and whether it may be retried after a crash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a call does to the world. The order is one of danger.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Changes nothing outside the session.
    ReadOnly,
    /// Changes files below the working directory.
    LocalMutation,
    /// May destroy something or run anything.
    Destructive,
    /// Acts on something elsewhere.
    RemoteAction,
}

/// What may be done with a call whose result was lost in a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Repeat {
    /// Run it again: it changes nothing.
    Pure,
    /// Run it again: twice is the same as once.
    Idempotent,
    /// Never run it again: say that nobody knows.
    AtMostOnce,
}
