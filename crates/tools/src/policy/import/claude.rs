//! Imports `permissions` of `.claude/settings.json`.

use rooftree_protocol::{PermissionMode, Problem};
use serde_json::Value;

use super::{ImportedRules, PermissionRule, RuleAction, section};

/// Takes over `permissions.{allow,ask,deny,defaultMode,additionalDirectories}`.
pub fn claude(text: &str) -> Result<ImportedRules, Problem> {
    let mut imported = ImportedRules::default();
    for (name, value) in section(text, "permissions")?.unwrap_or_default() {
        match (name.as_str(), value) {
            ("allow", Value::Array(rules)) => take(&mut imported, &rules, RuleAction::Allow),
            ("ask", Value::Array(rules)) => take(&mut imported, &rules, RuleAction::Ask),
            ("deny", Value::Array(rules)) => take(&mut imported, &rules, RuleAction::Deny),
            ("additionalDirectories", Value::Array(directories)) => {
                directories
                    .iter()
                    .for_each(|directory| take_directory(&mut imported, directory));
            }
            ("defaultMode", Value::String(mode)) => take_mode(&mut imported, &mode),
            (name, _) => imported.remark(name, "is not a setting that we know"),
        }
    }
    Ok(imported)
}

fn take(imported: &mut ImportedRules, rules: &[Value], used: RuleAction) {
    for rule in rules {
        match rule
            .as_str()
            .map(|text| (text, PermissionRule::parse(text)))
        {
            None => imported.remark(&rule.to_string(), "is not a rule"),
            Some((text, Err(problem))) => imported.remark(text, &problem.message),
            Some((text, Ok(rule))) => match normal(rule, used) {
                Ok(rule) => imported.add(rule, used),
                Err(why) => imported.remark(text, why),
            },
        }
    }
}

/// The rule under our names and with our meaning of paths.
fn normal(rule: PermissionRule, used: RuleAction) -> Result<PermissionRule, &'static str> {
    let tool = match rule.tool.as_str() {
        "MultiEdit" => "Edit",
        "NotebookRead" => "Read",
        "LS" => "List",
        "BashOutput" | "KillShell" if rule.subject.is_some() => {
            return Err("takes no subject here");
        }
        "KillShell" | "KillBash" => "TaskStop",
        other => other,
    };
    let is_file_tool = matches!(
        tool,
        "Read" | "Write" | "Edit" | "NotebookEdit" | "Glob" | "Grep" | "List"
    );
    let subject = match rule.subject {
        Some(path) if is_file_tool => Some(path_of(&path)),
        Some(command)
            if tool == "Bash" && used == RuleAction::Allow && has_inner_star(&command) =>
        {
            return Err(
                "a star inside a command is not a rule that can allow; write the words before it and ` *`",
            );
        }
        subject => subject,
    };
    Ok(PermissionRule {
        tool: tool.to_owned(),
        subject,
    })
}

/// There `/x` is below the project, `//x` is absolute, and a name alone is meant at any depth.
fn path_of(path: &str) -> String {
    if let Some(absolute) = path.strip_prefix("//") {
        return format!("/{absolute}");
    }
    let path = path.strip_prefix("./").map_or(path, |below| below);
    match path.strip_prefix('/') {
        Some(below) => below.to_owned(),
        None if path.contains('/') || path.starts_with('~') => path.to_owned(),
        None => format!("**/{path}"),
    }
}

fn has_inner_star(command: &str) -> bool {
    let start = [" *", ":*"]
        .iter()
        .find_map(|end| command.strip_suffix(end));
    start
        .unwrap_or(if command == "*" { "" } else { command })
        .contains('*')
}

fn take_directory(imported: &mut ImportedRules, directory: &Value) {
    match directory.as_str() {
        Some(path) if !path.is_empty() => {
            let glob = format!("{}/**", globset::escape(path.trim_end_matches('/')));
            imported.add(
                PermissionRule {
                    tool: "Read".to_owned(),
                    subject: Some(glob),
                },
                RuleAction::Allow,
            );
            imported.directories.push(path.to_owned());
        }
        _ => imported.remark(&directory.to_string(), "is not a directory"),
    }
}

fn take_mode(imported: &mut ImportedRules, mode: &str) {
    imported.mode = match mode {
        "default" => Some(PermissionMode::Ask),
        "acceptEdits" => Some(PermissionMode::AcceptEdits),
        "plan" => Some(PermissionMode::Plan),
        "bypassPermissions" => {
            imported.remark(
                mode,
                "asking never is not taken over; say --permission-mode bypass where it is wanted",
            );
            None
        }
        other => {
            imported.remark(other, "is not a mode that we have");
            None
        }
    };
}
