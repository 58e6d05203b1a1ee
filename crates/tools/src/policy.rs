//! Rules, modes and effects → allow, ask or deny, with the reason in words.
//!
//! Order: deny rules, ask rules, allow rules, mode × effect, ask. The full policy
//! (grammar of shell commands, path grants) extends this file, not its callers.

use rooftree_protocol::{Effect, ErrorCode, PermissionMode, Problem};

/// `Tool` or `Tool(subject glob)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Canonical tool name, or `*`.
    pub tool: String,
    /// What the call's subject must match.
    pub subject: Option<String>,
}

/// What a policy says about one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go ahead, because …
    Allow(String),
    /// A person must say, because …
    Ask(String),
    /// No, because …
    Deny(String),
}

/// What may happen without asking, and what may not happen at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The mode.
    pub mode: PermissionMode,
    /// Rules that allow.
    pub allow: Vec<Rule>,
    /// Rules that refuse, in every mode.
    pub deny: Vec<Rule>,
}

/// What is to be judged.
pub struct Judged<'a> {
    /// Canonical tool name.
    pub tool: &'a str,
    /// The path or command, if the tool has one.
    pub subject: Option<&'a str>,
    /// What the call does to the world.
    pub effect: Effect,
}
