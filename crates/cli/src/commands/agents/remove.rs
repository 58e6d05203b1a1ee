//! Removes an agent's file by renaming it. Asks nothing, because it can be undone.

use std::fs;

use clap::Args;
use rooftree_protocol::{ErrorCode, Problem};

use super::edit;
use crate::{environment::Environment, exit::Exit, human_format::place, output, project_agents};

/// Options of `agents rm`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which agent
    #[arg(value_name = "NAME")]
    pub(super) name: String,
}

/// Does it. Files of other programs are theirs.
pub fn execute(arguments: &Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let path = edit::file(&arguments.name, environment)?;
    let user = environment.settings.with_file_name("agents");
    let places = project_agents::places(environment);
    let mut own = places
        .project
        .iter()
        .map(|place| place.join(".rooftree/agents"))
        .chain([user]);
    if !own.any(|directory| path.starts_with(directory)) {
        let message = format!("{} belongs to another program", place(&path));
        return Err(Problem::new(ErrorCode::InvalidArguments, message).fix("remove it there"));
    }
    let away = path.with_extension("removed");
    fs::rename(&path, &away).map_err(|error| {
        Problem::new(
            ErrorCode::InvalidConfig,
            format!("cannot rename {}", place(&path)),
        )
        .cause(error.to_string())
    })?;
    let undo = format!("mv '{}' '{}'", away.display(), path.display());
    output::print_note(
        environment,
        &format!("`{}` is put away; to undo: {undo}", arguments.name),
    );
    Ok(Exit::DONE)
}
