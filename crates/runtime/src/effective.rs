//! What an agent has and may do when nobody above it says otherwise: for whoever wants to know before
//! it runs. The runtime works it out with the same functions.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use rooftree_protocol::{AgentDefinition, Effect, McpServer, PermissionMode, SessionId};
use rooftree_store::RuleRow;
use rooftree_tools::{
    Confining, Derivation, Judged, Policy, Reach, Rule, Tool, Toolset, Verdict, mcp::Servers,
};

use crate::{
    Definitions,
    hooks::{Hook, Hooks, Occasion},
    kit, remote, standing,
};

/// What is said to one call, and how that came about.
pub struct Ruling {
    /// The files it was judged by, and may touch.
    pub reach: Reach,
    /// The decision.
    pub verdict: Verdict,
    /// How the policy came to it; none if it was not asked.
    pub derivation: Option<Derivation>,
}

/// Judges one call of a tool: for the runtime when it is made, for people before and afterwards.
pub fn judge(policy: &Policy, sandbox: &Confining, tool: &dyn Tool, about: &Judged<'_>) -> Ruling {
    // Links are followed here, once: what is judged is what the tool opens.
    let reach = policy.reach_within(about, sandbox.file_scope(about.cwd));
    let is_own = reach.pinned().is_some_and(|place| sandbox.guards(&place.real, &place.home));
    if about.effect != Effect::ReadOnly && is_own {
        let words = "it is where this program keeps its settings and its memory; people change that";
        return Ruling { reach, verdict: Verdict::Deny(words.to_owned()), derivation: None };
    }
    if let Some(rule) = about.input.and_then(|input| tool.wants(input)) {
        return Ruling { reach, verdict: wanted(policy, &rule), derivation: None };
    }
    let derivation = policy.explain_at(about, &reach);
    Ruling { reach, verdict: derivation.verdict.clone(), derivation: Some(derivation) }
}

/// The servers it may use tools of.
pub fn servers(
    servers: &Servers,
    definitions: &Definitions,
    definition: &AgentDefinition,
) -> BTreeMap<String, McpServer> {
    remote::wanted(servers, definitions, definition, None).servers
}

/// The hooks that would be asked on this occasion, those of its own definition last. None is asked.
pub fn hooks(hooks: &Hooks, definition: &AgentDefinition, occasion: &Occasion) -> Vec<Hook> {
    let own = kit::hooks(definition, None);
    hooks.hooks.iter().chain(&own).filter(|hook| hook.is_for(occasion)).cloned().collect()
}

/// The tools it has.
pub fn tools(all: &Toolset, definition: &AgentDefinition) -> Toolset {
    kit::owned(all, definition)
}

/// What may happen without asking, with the rules people made for these sessions and this directory.
pub fn policy(
    base: Policy,
    definition: &AgentDefinition,
    rules: &[RuleRow],
    sessions: &[SessionId],
    home: &Path,
) -> Policy {
    let mut policy = base;
    standing::add(&mut policy, rules, sessions, home);
    narrowed(policy, definition)
}

/// A definition can ask for less than is permitted, never for more.
pub(crate) fn narrowed(policy: Policy, definition: &AgentDefinition) -> Policy {
    policy.in_mode_at_most(definition.permission_mode.unwrap_or(PermissionMode::Bypass))
}

/// What is to be said to a call that only asks for a rule.
pub fn wanted(policy: &Policy, rule: &str) -> Verdict {
    let is_there = |rules: &[Rule]| rules.iter().any(|own| own.to_string() == rule);
    if is_there(&policy.deny) {
        Verdict::Deny(format!("the deny rule `{rule}` refuses it, in every mode"))
    } else if is_there(&policy.allow) {
        Verdict::Allow("it is permitted already".into())
    } else {
        Verdict::Ask(format!("it asks for `{rule}`"))
    }
}

/// Tools that change files, as rules that mean these tools alone: a rule for `Edit` would also mean every
/// command that names such a file, and running a script is not changing it.
const CHANGING: [&str; 5] = ["Edit*", "Write*", "ApplyDiff", "NotebookEdit", "Delete"];

/// Rules that have a person asked before a tool changes a file that a hook names. What those files hold now
/// is what they must hold when the hook is run.
pub fn guarding(hooks: &Hooks, definitions: &Definitions) -> Vec<Rule> {
    let own = definitions.iter().flat_map(|definition| kit::hooks(&definition, None));
    hooks.pin(&own.collect::<Vec<_>>());
    let rules = |path: &PathBuf| {
        let subject = globset::escape(&path.to_string_lossy());
        CHANGING.map(|tool| Rule { tool: tool.into(), subject: Some(subject.clone()) })
    };
    hooks.pins.files().iter().flat_map(rules).collect()
}
