//! Computes the tools and rights of an agent before it runs (`can`, `why`), without a mandate from above. The runtime
//! uses the same functions.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use rooftree_protocol::{AgentDefinition, Effect, McpServer, PermissionMode, SessionId};
use rooftree_store::RuleRow;
use rooftree_tools::{
    CallReach, Derivation, PermissionRule, Policy, PolicyRequest, PolicyVerdict, SandboxConfig,
    Tool, ToolInfo, Toolset, declarations, mcp::McpServerPool, tool_info::FileUse,
};

use crate::{
    Definitions,
    hooks::{ConfiguredHook, HookPayload, Hooks},
    mcp_scope, resolved_agent, saved_rules,
};

/// The verdict on one call, and its derivation.
pub struct CallRuling {
    /// The files it was judged by, and may touch.
    pub reach: CallReach,
    /// The decision.
    pub verdict: PolicyVerdict,
    /// How the policy came to it; none if it was not asked.
    pub derivation: Option<Derivation>,
}

/// Judges one call of a tool: for the runtime when it is made, for people before and afterwards.
pub fn judge(
    policy: &Policy,
    sandbox: &SandboxConfig,
    tool: &dyn Tool,
    about: &PolicyRequest<'_>,
) -> CallRuling {
    // Links are followed here, once: what is judged is what the tool opens.
    let reach = policy.reach_within(about, sandbox.file_scope(about.cwd));
    let is_own = reach
        .pinned()
        .is_some_and(|place| sandbox.is_own_path(&place.real, &place.home));
    if about.effect != Effect::ReadOnly && is_own {
        let words =
            "it is where this program keeps its settings and its memory; people change that";
        return CallRuling {
            reach,
            verdict: PolicyVerdict::Deny(words.to_owned()),
            derivation: None,
        };
    }
    if let Some(rule) = about.input.and_then(|input| tool.wants(input)) {
        return CallRuling {
            reach,
            verdict: wanted(policy, &rule),
            derivation: None,
        };
    }
    let derivation = policy.explain_at(about, &reach);
    CallRuling {
        reach,
        verdict: derivation.verdict.clone(),
        derivation: Some(derivation),
    }
}

/// The servers it may use tools of.
pub fn servers(
    servers: &McpServerPool,
    definitions: &Definitions,
    definition: &AgentDefinition,
) -> BTreeMap<String, McpServer> {
    mcp_scope::wanted(servers, definitions, definition, None).servers
}

/// The hooks that would be asked on this occasion, those of its own definition last. None is asked.
pub fn hooks(
    hooks: &Hooks,
    definition: &AgentDefinition,
    payload: &HookPayload,
) -> Vec<ConfiguredHook> {
    let own = resolved_agent::hooks(definition, None);
    hooks
        .hooks
        .iter()
        .chain(&own)
        .filter(|hook| hook.is_for(payload))
        .cloned()
        .collect()
}

/// The tools it has.
pub fn tools(all: &Toolset, definition: &AgentDefinition) -> Toolset {
    resolved_agent::owned(all, definition)
}

/// The permission policy, with the saved rules for these sessions and this directory.
pub fn policy(
    base: Policy,
    definition: &AgentDefinition,
    rules: &[RuleRow],
    sessions: &[SessionId],
    home: &Path,
) -> Policy {
    let mut policy = base;
    saved_rules::add(&mut policy, rules, sessions, home);
    narrowed(policy, definition)
}

/// A definition can ask for less than is permitted, never for more.
pub(crate) fn narrowed(policy: Policy, definition: &AgentDefinition) -> Policy {
    policy.in_mode_at_most(definition.permission_mode.unwrap_or(PermissionMode::Bypass))
}

/// The verdict on a call that only asks for a rule.
pub fn wanted(policy: &Policy, rule: &str) -> PolicyVerdict {
    let is_there = |rules: &[PermissionRule]| rules.iter().any(|own| own.to_string() == rule);
    if is_there(&policy.deny) {
        PolicyVerdict::Deny(format!("the deny rule `{rule}` refuses it, in every mode"))
    } else if is_there(&policy.allow) {
        PolicyVerdict::Allow("it is permitted already".into())
    } else {
        PolicyVerdict::Ask(format!("it asks for `{rule}`"))
    }
}

/// Names for rules about the tools that change files, each meaning its tool alone: a rule for `Edit` or `Write` would also
/// mean every command that names such a file, and running a script is not changing it.
fn changing() -> Vec<String> {
    let is_group = |info: &ToolInfo| matches!(info.name, "Edit" | "Write");
    let mut tools: Vec<_> = declarations()
        .filter(|info| matches!(info.file_use, FileUse::Changes | FileUse::Deletes))
        .collect();
    tools.sort_by_key(|info| {
        (
            info.file_use == FileUse::Deletes,
            !is_group(info),
            info.name,
        )
    });
    tools
        .iter()
        .map(|info| format!("{}{}", info.name, if is_group(info) { "*" } else { "" }))
        .collect()
}

/// Rules that have a person asked before a tool changes a file that a hook names. What those files hold now
/// is what they must hold when the hook is run.
pub fn guarding(hooks: &Hooks, definitions: &Definitions) -> Vec<PermissionRule> {
    let own = definitions
        .iter()
        .flat_map(|definition| resolved_agent::hooks(&definition, None));
    hooks.pin(&own.collect::<Vec<_>>());
    let tools = changing();
    let rules = |path: &PathBuf| {
        let subject = globset::escape(&path.to_string_lossy());
        let rule = |tool: &String| PermissionRule {
            tool: tool.clone(),
            subject: Some(subject.clone()),
        };
        tools.iter().map(rule).collect::<Vec<_>>()
    };
    hooks.pins.files().iter().flat_map(rules).collect()
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::Arc};

    use rooftree_tools::{BackgroundProcesses, LazyPrivatePlaces, builtin, toolset::ToolLookup};

    use super::*;

    #[test]
    fn a_file_that_a_hook_names_is_guarded_from_every_tool_that_changes_files() {
        assert_eq!(
            changing(),
            ["Edit*", "Write*", "ApplyDiff", "NotebookEdit", "Delete"]
        );
    }

    #[test]
    fn no_mode_and_no_rule_lets_a_tool_change_what_this_program_keeps() {
        let top = tempfile::tempdir().unwrap();
        let (own, cwd) = (top.path().join("own"), top.path().join("home/project"));
        fs::create_dir_all(&own).unwrap();
        fs::create_dir_all(&cwd).unwrap();
        let known = LazyPrivatePlaces::at(&top.path().join("home"), std::slice::from_ref(&own));
        let sandbox = SandboxConfig {
            known,
            private: [own.clone()].into(),
            ..SandboxConfig::default()
        };
        let tools = builtin(Arc::new(BackgroundProcesses::new(|| 1)));
        let ToolLookup::Tool(tool) = tools.find("Write") else {
            panic!("there is Write")
        };
        for mode in [
            PermissionMode::AcceptEdits,
            PermissionMode::Auto,
            PermissionMode::Bypass,
        ] {
            for (directory, is_refused) in [(&own, true), (&cwd, false)] {
                let subject = directory.join("hooks.json").display().to_string();
                let allow = vec![PermissionRule {
                    tool: "Write".into(),
                    subject: Some(subject.clone()),
                }];
                let policy = Policy {
                    mode,
                    allow,
                    ..Policy::default()
                };
                let about = PolicyRequest {
                    tool: "Write",
                    subject: Some(&subject),
                    input: None,
                    effect: Effect::LocalMutation,
                    cwd: &cwd,
                };
                let verdict = judge(&policy, &sandbox, tool.as_ref(), &about).verdict;
                assert_eq!(
                    matches!(verdict, PolicyVerdict::Deny(_)),
                    is_refused,
                    "{mode:?} {subject} {verdict:?}"
                );
            }
        }
    }
}
