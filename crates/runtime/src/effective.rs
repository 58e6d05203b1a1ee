//! What an agent has and may do when nobody above it says otherwise: for whoever wants to know before
//! it runs. The runtime works it out with the same functions.

use std::path::{Path, PathBuf};

use rooftree_protocol::{AgentDefinition, PermissionMode, SessionId};
use rooftree_store::RuleRow;
use rooftree_tools::{Policy, Rule, Toolset, Verdict};

use crate::{Definitions, Hooks, kit, standing};

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
    let mut policy = narrowed(base, definition);
    standing::add(&mut policy, rules, sessions, home);
    policy
}

/// A definition can ask for less than is permitted, never for more.
pub(crate) fn narrowed(policy: Policy, definition: &AgentDefinition) -> Policy {
    let mode = policy.mode.min(definition.permission_mode.unwrap_or(PermissionMode::Bypass));
    Policy { mode, ..policy }
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

/// Rules that have a person asked before a tool changes a file that a hook names. What those files hold now
/// is what they must hold when the hook is run.
pub fn guarding(hooks: &Hooks, definitions: &Definitions) -> Vec<Rule> {
    let own = definitions.iter().flat_map(|definition| kit::hooks(&definition, None));
    hooks.pin(&own.collect::<Vec<_>>());
    let named = |path: &PathBuf| globset::escape(&path.to_string_lossy());
    let files = hooks.pins.files();
    files.iter().map(|path| Rule { tool: "Edit".into(), subject: Some(named(path)) }).collect()
}
