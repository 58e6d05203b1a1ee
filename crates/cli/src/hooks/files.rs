//! Parses the files that define hooks: our own, and those of another program that the project brings.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use rooftree_protocol::{DefinitionLevel, ErrorCode, Problem};
use rooftree_runtime::definitions::SearchDirs;
use serde_json::Value;

use crate::{environment::Environment, human_format::place};

/// Where a project writes hooks, the most general first.
const PROJECT: [(&str, HookFileOrigin); 3] = [
    (".claude/settings.json", HookFileOrigin::Foreign),
    (".claude/settings.local.json", HookFileOrigin::Foreign),
    (".rooftree/hooks.json", HookFileOrigin::Ours),
];
/// What a file of ours may hold besides hooks.
const BESIDE: [&str; 3] = ["hooks", "$schema", "description"];

/// For whom a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookFileOrigin {
    Ours,
    /// Another program's, with much in it that is not about hooks.
    Foreign,
}

/// A file with hooks in it.
#[derive(Clone, Debug)]
pub struct HookFile {
    pub path: PathBuf,
    pub level: DefinitionLevel,
    pub origin: HookFileOrigin,
    /// What it says below `hooks`.
    pub hooks: Value,
}

/// The project's files, and what people should know about them.
#[derive(Default)]
pub struct ProjectHookFiles {
    pub files: Vec<HookFile>,
    pub remarks: Vec<String>,
}

/// The user's file.
pub fn user(environment: &Environment) -> Result<Vec<HookFile>, Problem> {
    let path = environment.settings.with_file_name("hooks.json");
    Ok(ours(&path, DefinitionLevel::User)?.into_iter().collect())
}

/// The project's files. Where its `.claude` files say that no hooks are to be used, theirs are not.
pub fn project(places: &SearchDirs) -> Result<ProjectHookFiles, Problem> {
    let mut project = ProjectHookFiles::default();
    let mut is_off = None;
    for (path, origin) in candidates(places) {
        if origin == HookFileOrigin::Ours {
            project.files.extend(ours(&path, DefinitionLevel::Project)?);
            continue;
        }
        match whole(&path) {
            Ok(Some(value)) => {
                if value.get("disableAllHooks").and_then(Value::as_bool) == Some(true) {
                    is_off = Some(path.clone());
                }
                let hooks = value.get("hooks").cloned();
                let file = hooks.map(|hooks| HookFile {
                    path,
                    level: DefinitionLevel::Project,
                    origin,
                    hooks,
                });
                project.files.extend(file);
            }
            Ok(None) => {}
            Err(why) => project
                .remarks
                .push(format!("{} is not used: {why}", place(&path))),
        }
    }
    if let Some(path) = is_off {
        project
            .files
            .retain(|file| file.origin == HookFileOrigin::Ours);
        project
            .remarks
            .push(format!("{} turns the hooks of .claude off", place(&path)));
    }
    Ok(project)
}

/// The project's files that have hooks in them, or cannot be read.
pub fn brought(places: &SearchDirs) -> Vec<PathBuf> {
    let has_hooks = |path: &Path| match whole(path) {
        Ok(Some(value)) => value.get("hooks").is_some(),
        Ok(None) => false,
        Err(_) => true,
    };
    candidates(places)
        .into_iter()
        .map(|(path, _)| path)
        .filter(|path| has_hooks(path))
        .collect()
}

fn candidates(places: &SearchDirs) -> Vec<(PathBuf, HookFileOrigin)> {
    let below = |place: &PathBuf| PROJECT.map(|(name, origin)| (place.join(name), origin));
    places.project.iter().flat_map(below).collect()
}

fn ours(path: &Path, level: DefinitionLevel) -> Result<Option<HookFile>, Problem> {
    let wrong = |what: String| {
        Problem::new(ErrorCode::InvalidConfig, format!("{}: {what}", place(path)))
            .fix(r#"write {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "…"}]}]}}"#)
    };
    let Some(value) = whole(path).map_err(wrong)? else {
        return Ok(None);
    };
    let fields = value
        .as_object()
        .ok_or_else(|| wrong("it is no JSON object".into()))?;
    if let Some(unknown) = fields.keys().find(|key| !BESIDE.contains(&key.as_str())) {
        return Err(wrong(format!("unknown key `{unknown}`")));
    }
    let hooks = fields
        .get("hooks")
        .cloned()
        .ok_or_else(|| wrong("it has no `hooks`".into()))?;
    Ok(Some(HookFile {
        path: path.to_owned(),
        level,
        origin: HookFileOrigin::Ours,
        hooks,
    }))
}

/// A whole file; none if there is none.
fn whole(path: &Path) -> Result<Option<Value>, String> {
    match fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| format!("not JSON: {error}")),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(format!("cannot be read: {error}")),
    }
}
