//! Loads the hooks that apply here: the user's, and the project's if the folder is trusted.
//!
//! A hook that cannot be parsed is an error in our own files, because a guard that is never called guards
//! nothing; in files of another program it is a remark, because they are not ours to mend.

mod files;

use std::{
    fs,
    path::{Path, PathBuf},
};

use rooftree_protocol::{DefinitionLevel, ErrorCode, Problem};
use rooftree_runtime::{
    Hooks,
    definitions::{DefinitionLibrary, ProjectTrust, SearchDirs},
    hooks::{ConfiguredHook, ParsedHooks, read},
};
use serde_json::Value;

use self::files::{HookFile, HookFileOrigin};
use crate::{environment::Environment, human_format::place, settings::Settings};

/// The hooks there are, and what people should know about them.
pub struct ConfiguredHooks {
    pub hooks: Hooks,
    pub remarks: Vec<String>,
}

/// Reads all of them, the user's first, and looks at what they run.
pub fn find(
    environment: &Environment,
    settings: &Settings,
    places: &SearchDirs,
) -> Result<ConfiguredHooks, Problem> {
    let mut found = ConfiguredHooks {
        hooks: Hooks::default(),
        remarks: Vec::new(),
    };
    found.hooks.project = places.root().map(ToOwned::to_owned);
    found.hooks.cwd = Some(environment.cwd.clone());
    found.hooks.confined = settings.confined.unwrap_or_default();
    found
        .hooks
        .web
        .allow_private
        .clone_from(&settings.web.allow_private);
    let tables = settings.hooks.iter().map(|table| HookFile {
        path: table.path.clone(),
        level: table.level,
        origin: HookFileOrigin::Ours,
        hooks: table.hooks.clone(),
    });
    let mut all = files::user(environment)?;
    all.extend(tables);
    if places.trust == ProjectTrust::Given {
        let project = files::project(places)?;
        found.remarks.extend(project.remarks);
        all.extend(project.files);
    }
    for file in all {
        if file.level == DefinitionLevel::Project && places.trust == ProjectTrust::Missing {
            let here = place(&file.path);
            found.remarks.push(format!(
                "this folder is not trusted, so the hooks in {here} are not asked"
            ));
            continue;
        }
        found.add(&file)?;
    }
    found.hooks.pin(&[]);
    Ok(found)
}

impl ConfiguredHooks {
    /// Leaves out those that the project brings, and says so.
    pub fn without_projects(&mut self) {
        let all = self.hooks.hooks.len();
        self.hooks
            .hooks
            .retain(|hook| hook.level != DefinitionLevel::Project);
        if self.hooks.hooks.len() < all {
            let words = "what this folder's hooks run has changed just now, so they are not asked";
            self.remarks.push(words.to_owned());
        }
    }

    fn add(&mut self, file: &HookFile) -> Result<(), Problem> {
        let ParsedHooks { hooks, complaints } = read(&file.hooks, file.level, &file.path);
        let here = place(&file.path);
        match (file.origin, complaints.first()) {
            (HookFileOrigin::Ours, Some(first)) => {
                let message = format!("{here}: hooks: {first}");
                let fix = "rooftree hooks list shows what is read; docs/hooks.md says what can be written";
                return Err(Problem::new(ErrorCode::InvalidConfig, message).fix(fix));
            }
            _ => self.remarks.extend(
                complaints
                    .iter()
                    .map(|what| format!("{here}: hooks: {what}")),
            ),
        }
        self.hooks.hooks.extend(hooks);
        Ok(())
    }
}

/// All hooks that the project brings, whether it is trusted or not: those of its files and of its agents.
/// Entries that cannot be parsed are no hooks, neither here nor when hooks run.
pub fn of_project(places: &SearchDirs) -> Vec<ConfiguredHook> {
    let files = files::project(places)
        .map(|project| project.files)
        .unwrap_or_default();
    let written = |value: &Value, path: &Path| read(value, DefinitionLevel::Project, path).hooks;
    let mut found: Vec<ConfiguredHook> = files
        .iter()
        .flat_map(|file| written(&file.hooks, &file.path))
        .collect();
    for path in places
        .project
        .iter()
        .map(|place| place.join(".rooftree/config.toml"))
    {
        let table = fs::read_to_string(&path)
            .ok()
            .and_then(|text| text.parse::<toml::Table>().ok());
        let table = table.and_then(|table| serde_json::to_value(table.get("hooks")?).ok());
        found.extend(table.iter().flat_map(|table| written(table, &path)));
    }
    let places = SearchDirs {
        user: None,
        home: None,
        ..places.clone()
    }
    .trusted(ProjectTrust::Given);
    for agent in (DefinitionLibrary {
        places,
        ..DefinitionLibrary::default()
    })
    .load()
    .definitions
    {
        let path = agent.source.path.unwrap_or_default();
        found.extend(agent.hooks.iter().flat_map(|hooks| written(hooks, &path)));
    }
    found
}

/// Files with hooks that the project brings, whether they are used or not.
pub fn brought(places: &SearchDirs) -> Vec<PathBuf> {
    files::brought(places)
}
