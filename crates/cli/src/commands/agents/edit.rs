//! Opens an agent's file in the person's editor, and says what is wrong with it afterwards.

use std::{path::PathBuf, process::Command};

use clap::Args;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_runtime::definitions::{DefinitionLibrary, Diagnostic, ProjectTrust};

use super::{AgentsContext, validate};
use crate::{
    environment::{Environment, variable},
    exit::Exit,
    human_format::place,
    project_agents, trust,
};

/// Options of `agents edit`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which agent
    #[arg(value_name = "NAME")]
    pub(super) name: String,
}

/// Does it.
pub fn execute(arguments: &Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let path = file(&arguments.name, environment)?;
    let editor = variable("VISUAL")
        .or_else(|| variable("EDITOR"))
        .unwrap_or_else(|| "vi".into());
    // The shell takes it apart: people write `code --wait` there.
    trust::with_own_file(environment, &project_agents::places(environment), || {
        let status = Command::new("sh")
            .args(["-c", &format!("{editor} \"$1\""), "edit"])
            .arg(&path)
            .status();
        if !status.as_ref().is_ok_and(std::process::ExitStatus::success) {
            return Err(Problem::new(
                ErrorCode::InvalidArguments,
                format!("`{editor}` did not end well"),
            )
            .fix("set EDITOR to the editor you want"));
        }
        Ok(((), path.clone()))
    })?;
    validate::files(&[path], environment)
}

/// The file of an agent, also of one that cannot be used as it is.
pub fn file(name: &str, environment: &Environment) -> Result<PathBuf, Problem> {
    let here = AgentsContext::look(environment)?;
    let library = project_agents::library(environment, &here.settings, &here.models);
    let places = library.places.clone().trusted(ProjectTrust::Given);
    let loaded = DefinitionLibrary { places, ..library }.load();
    let found = loaded
        .definitions
        .iter()
        .rfind(|found| found.name.eq_ignore_ascii_case(name));
    let is_meant = |found: &&Diagnostic| {
        found
            .path
            .file_stem()
            .is_some_and(|stem| stem.eq_ignore_ascii_case(name))
    };
    let path = found.and_then(|found| found.source.path.clone());
    let path = path.or_else(|| {
        loaded
            .diagnostics
            .iter()
            .find(is_meant)
            .map(|found| found.path.clone())
    });
    match path {
        Some(path)
            if path
                .extension()
                .is_some_and(|end| end == "md" || end == "json") =>
        {
            Ok(path)
        }
        Some(path) => Err(Problem::new(
            ErrorCode::InvalidArguments,
            format!("`{name}` is defined in {}", place(&path)),
        )
        .fix("change it there")),
        None => {
            let known = here.project.definitions.find(name)?;
            Err(Problem::new(
                ErrorCode::InvalidArguments,
                format!("`{}` comes with the program and has no file", known.name),
            )
            .fix(format!(
                "rooftree agents new {name} --from {name}   makes one that takes precedence over it"
            )))
        }
    }
}
