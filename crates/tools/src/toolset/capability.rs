//! Capabilities of a tool, as words that an agent definition can allow or deny.

use rooftree_protocol::Scope;

use super::is_match;
use crate::Tool;

/// Capability of a tool that declares none; an allow list must allow `unknown`.
const UNKNOWN: &[&str] = &["unknown"];

/// The tools that come with Rooftree. Others say it themselves.
const KNOWN: [(&[&str], &[&str]); 12] = [
    (
        &["Read", "List", "Glob", "Grep", "SemanticSearch"],
        &["file.read"],
    ),
    (
        &["Write", "Edit", "ApplyDiff", "Delete", "NotebookEdit"],
        &["file.read", "file.write"],
    ),
    (&["Bash"], &["shell"]),
    (&["BashOutput", "TaskStop"], &["process"]),
    (&["WebFetch", "WebSearch"], &["net"]),
    (
        &[
            "Task",
            "TaskOutput",
            "TaskList",
            "ListAgents",
            "SendMessage",
        ],
        &["agents"],
    ),
    (
        &["ApplyWorkspace", "DiscardWorkspace"],
        &["agents", "file.write"],
    ),
    (&["MemoryRead", "MemorySearch"], &["memory.read"]),
    (&["MemoryWrite"], &["memory.write"]),
    (&["Skill", "ListSkills"], &["skills"]),
    (
        &["TodoWrite", "EnterPlanMode", "ExitPlanMode"],
        &["session"],
    ),
    (
        &["AskUser", "RequestPermission", "GrantPermission"],
        &["people"],
    ),
];

/// The capabilities of a tool.
fn of(tool: &dyn Tool) -> &'static [&'static str] {
    let declared = tool.capabilities();
    let name = tool.spec().name.as_str();
    let known = || {
        KNOWN
            .iter()
            .find(|(names, _)| names.contains(&name))
            .map(|(_, can)| *can)
    };
    if declared.is_empty() {
        known().unwrap_or(UNKNOWN)
    } else {
        declared
    }
}

/// Invariant: a list allows a tool only if it allows all that the tool can do, and denies it if it denies any.
pub(super) fn is_in_scope(tool: &dyn Tool, scope: &Scope) -> bool {
    let matches = |globs: &[String], one: &&str| globs.iter().any(|glob| is_match(glob, one));
    let can = of(tool);
    let is_allowed = scope
        .allow
        .as_deref()
        .is_none_or(|allow| can.iter().all(|one| matches(allow, one)));
    is_allowed && !can.iter().any(|one| matches(&scope.deny, one))
}
