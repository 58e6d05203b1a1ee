//! Imports `permission` of `opencode.json`: an object of patterns, of which the last one that matches wins.
//!
//! With us a rule that denies or asks wins wherever it stands, so an exception that follows a wider
//! refusal is lost: that is stricter than it was, and remarked on.

use rooftree_protocol::Problem;
use serde_json::Value;

use super::{ImportedRules, PermissionRule, RuleAction, section};
use crate::glob_cache::{self, WildcardMeaning};

/// Takes over the `permission` object.
pub fn opencode(text: &str) -> Result<ImportedRules, Problem> {
    let mut imported = ImportedRules::default();
    for (tool, value) in section(text, "permission")?.unwrap_or_default() {
        let Some(tool) = tool_of(&tool) else {
            imported.remark(&tool, "has no counterpart");
            continue;
        };
        match value {
            Value::String(action) => take(
                &mut imported,
                tool,
                &[("*".to_owned(), Value::String(action))],
            ),
            Value::Object(patterns) => take(
                &mut imported,
                tool,
                &patterns.into_iter().collect::<Vec<_>>(),
            ),
            other => imported.remark(
                &other.to_string(),
                "is neither an action nor an object of patterns",
            ),
        }
    }
    Ok(imported)
}

fn tool_of(name: &str) -> Option<&'static str> {
    Some(match name {
        "*" => "*",
        "bash" => "Bash",
        "edit" => "Edit",
        "read" => "Read",
        "glob" => "Glob",
        "grep" => "Grep",
        "list" => "List",
        "task" => "Task",
        "skill" => "Skill",
        "webfetch" => "WebFetch",
        "websearch" => "WebSearch",
        "todowrite" => "TodoWrite",
        "question" => "AskUser",
        _ => return None,
    })
}

fn take(imported: &mut ImportedRules, tool: &str, patterns: &[(String, Value)]) {
    for (at, (pattern, action)) in patterns.iter().enumerate() {
        let used = match action.as_str() {
            Some("allow") => RuleAction::Allow,
            Some("ask") => RuleAction::Ask,
            Some("deny") => RuleAction::Deny,
            _ => {
                imported.remark(pattern, "is neither allowed, asked about nor denied");
                continue;
            }
        };
        let shown = format!("{tool}({pattern})");
        let later = patterns.get(at + 1..).unwrap_or_default();
        let is_default = pattern == "*"
            && used == RuleAction::Ask
            && later.iter().any(|(_, action)| action == "allow");
        if is_default {
            imported.remark(&shown, "mode `ask` does that, except for what only looks");
            continue;
        }
        let earlier = patterns.get(..at).unwrap_or_default();
        let is_exception =
            |(wider, action): &(String, Value)| action == "deny" && covers(wider, pattern);
        if used != RuleAction::Deny && earlier.iter().any(is_exception) {
            imported.remark(&shown, "is an exception from a wider refusal, which stays");
            continue;
        }
        match subject(tool, pattern, used) {
            Ok(subject) => imported.add(
                PermissionRule {
                    tool: tool.to_owned(),
                    subject,
                },
                used,
            ),
            Err(why) => imported.remark(&shown, why),
        }
    }
}

/// There a star stands for anything, slashes included.
fn subject(tool: &str, pattern: &str, used: RuleAction) -> Result<Option<String>, &'static str> {
    if pattern == "*" {
        return Ok(None);
    }
    let is_strict = used == RuleAction::Allow;
    match tool {
        "Bash" => {
            let start = pattern.strip_suffix('*').map(str::trim_end);
            match start {
                Some(start) if is_strict && start.contains('*') => {
                    Err("a star inside a command is not a rule that can allow")
                }
                Some(start) if is_strict => Ok(Some(format!("{start} *"))),
                None if is_strict && pattern.contains('*') => {
                    Err("a star inside a command is not a rule that can allow")
                }
                _ => Ok(Some(pattern.to_owned())),
            }
        }
        "Edit" | "Read" | "Glob" | "Grep" | "List" if !is_strict => {
            let wide = pattern
                .strip_suffix("/*")
                .map_or_else(|| pattern.to_owned(), |start| format!("{start}/**"));
            let wide = if wide.starts_with('*') && !wide.starts_with("**") {
                format!("**/{wide}")
            } else {
                wide
            };
            Ok(Some(wide))
        }
        _ => Ok(Some(pattern.to_owned())),
    }
}

fn covers(wider: &str, pattern: &str) -> bool {
    glob_cache::is_match(wider, WildcardMeaning::Anything, pattern)
}
