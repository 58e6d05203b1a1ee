//! Parses deny and ask rules from settings of other programs in the project: `.claude/settings.json`,
//! `opencode.json`.
//!
//! They only narrow, so they hold whether the folder is trusted or not. What such a file allows is not used; a person
//! takes it over with `rooftree permissions import`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rooftree_tools::{
    PermissionRule,
    policy::import::{self, ImportedRules},
};
use serde_json::Value;
use toml::Table;

use super::layer::{LayerOrigin, SettingsLayer};
use crate::rules;

/// Where other programs keep their rules, from a project's directory.
pub const FILES: [&str; 3] = [
    ".claude/settings.json",
    ".claude/settings.local.json",
    "opencode.json",
];
/// Tools whose rules are about paths.
const FILE_TOOLS: [&str; 7] = [
    "Read",
    "Write",
    "Edit",
    "NotebookEdit",
    "Glob",
    "Grep",
    "List",
];

/// The rules of one file, understood.
pub fn read(file: &Path, text: &str) -> Result<ImportedRules, String> {
    let is_opencode = file
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("opencode"));
    let imported = if is_opencode {
        import::opencode(text)
    } else {
        import::claude(text)
    };
    imported.map_err(|problem| problem.cause.unwrap_or(problem.message))
}

/// A layer for each file from the repository's root down to here that denies something or has a person asked.
pub(super) fn layers(cwd: &Path) -> Vec<SettingsLayer> {
    let mut places: Vec<&Path> = Vec::new();
    for place in cwd.ancestors() {
        places.push(place);
        if place.join(".git").exists() {
            break;
        }
    }
    if places.last().is_some_and(|top| !top.join(".git").exists()) {
        // Not in a repository: only what lies here belongs to the project.
        places.truncate(1);
    }
    let files = places
        .iter()
        .rev()
        .flat_map(|place| FILES.map(|name| (place.to_path_buf(), place.join(name))));
    files
        .filter_map(|(place, path)| layer(&place, path))
        .collect()
}

fn layer(place: &Path, path: PathBuf) -> Option<SettingsLayer> {
    let text = fs::read_to_string(&path).ok()?;
    let imported = read(&path, &text).ok()?;
    let rules = |found: Vec<PermissionRule>| -> Vec<toml::Value> {
        let known = found
            .into_iter()
            .filter_map(|rule| rules::known(vec![rule]).ok())
            .flatten();
        known
            .map(|rule| toml::Value::String(below(place, rule).to_string()))
            .collect()
    };
    let (deny, ask) = (rules(imported.deny), rules(imported.ask));
    if deny.is_empty() && ask.is_empty() {
        return None;
    }
    let permission = Table::from_iter([
        ("deny".to_owned(), deny.into()),
        ("ask".to_owned(), ask.into()),
    ]);
    let table = Table::from_iter([("permission".to_owned(), permission.into())]);
    let text = table.to_string();
    Some(SettingsLayer {
        origin: LayerOrigin::Project,
        path,
        table,
        text,
    })
}

/// A path that is meant from the directory of the file stays meant from there.
fn below(place: &Path, rule: PermissionRule) -> PermissionRule {
    let is_path = FILE_TOOLS.contains(&rule.tool.as_str());
    let is_relative = |path: &str| !path.starts_with(['/', '~', '*']);
    let subject = match rule.subject {
        Some(path) if is_path && is_relative(&path) => Some(format!("{}/{path}", place.display())),
        subject => subject,
    };
    PermissionRule { subject, ..rule }
}

/// Parts of such a file that have no effect here, by the names they have there.
pub fn unused(path: &Path) -> Vec<String> {
    let value = fs::read_to_string(path)
        .ok()
        .and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let Some(Value::Object(settings)) = value else {
        return Vec::new();
    };
    if !["hooks", "permissions", "permission"]
        .iter()
        .any(|key| settings.contains_key(*key))
    {
        return Vec::new();
    }
    let is_used = |key: &str| {
        matches!(
            key,
            "hooks" | "permissions" | "permission" | "disableAllHooks" | "mcp" | "$schema"
        )
    };
    let mut unused: Vec<String> = settings
        .keys()
        .filter(|key| !is_used(key))
        .cloned()
        .collect();
    let permissions = settings.get("permissions").and_then(Value::as_object);
    let inner = permissions
        .into_iter()
        .flat_map(|permissions| permissions.keys());
    unused.extend(
        inner
            .filter(|key| !matches!(key.as_str(), "deny" | "ask"))
            .map(|key| format!("permissions.{key}")),
    );
    unused
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::layers::merged;

    #[test]
    fn n_3_deny_and_ask_rules_of_other_programs_hold_and_what_they_allow_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        fs::create_dir_all(folder.path().join(".git")).unwrap();
        fs::create_dir_all(folder.path().join("sub")).unwrap();
        let claude = r#"{"env":{"A":"b"},"permissions":{"allow":["Bash"],"ask":["Bash(git push:*)"],
            "deny":["Read(./.env)","Bash(curl:*)","Read(keys/**)","NoSuchTool(x)"]}}"#;
        write(".claude/settings.json", claude);
        write(
            "opencode.json",
            r#"{"permission":{"webfetch":"deny","bash":{"*":"allow"}}}"#,
        );
        write(".claude/settings.local.json", "{ broken");
        let settings = merged(&layers(&folder.path().join("sub"))).unwrap();
        let words =
            |rules: &[PermissionRule]| rules.iter().map(ToString::to_string).collect::<Vec<_>>();
        let keys = format!("Read({}/keys/**)", folder.path().display());
        assert_eq!(
            words(&settings.permission.deny),
            ["Read(**/.env)", "Bash(curl:*)", keys.as_str(), "WebFetch"]
        );
        assert_eq!(words(&settings.permission.ask), ["Bash(git push:*)"]);
        assert!(settings.permission.allow.is_empty() && settings.permission.mode.is_none());
        assert_eq!(
            unused(&folder.path().join(".claude/settings.json")),
            ["env", "permissions.allow"]
        );
    }
}
