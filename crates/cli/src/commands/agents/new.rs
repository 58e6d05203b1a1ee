//! Creates a file for a new agent, from a template or from another agent.

use clap::Args;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_runtime::definitions::{builtin_text, written};

use super::{
    AgentsContext,
    location::{AgentFileLocation, write_new},
    show::without_secrets,
};
use crate::{
    environment::Environment, exit::Exit, human_format::place, output, project_agents, trust,
};

const TEXT: &str = "---\n\
    description: What it is for, and when to ask it\n\
    # model: provider/model        left out: that of the caller\n\
    # tools: [Read, Glob, Grep]    left out: those of the caller; []: none\n\
    # max_turns: 30\n\
    ---\n\
    You are …\n\n\
    - What it does, step by step.\n\
    - What it must not do.\n\n\
    End with what whoever asked needs to know.\n";

/// Options of `agents new`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// What to call it: letters, digits, `-` and `_`
    #[arg(value_name = "NAME")]
    pub(super) name: String,
    /// Begin with what this agent says
    #[arg(long, value_name = "AGENT")]
    from: Option<String>,
    #[command(flatten)]
    place: AgentFileLocation,
}

/// Writes the file.
pub fn execute(arguments: &Arguments, environment: &Environment) -> Result<Exit, Problem> {
    if arguments.name.eq_ignore_ascii_case("default") {
        return Err(
            Problem::new(ErrorCode::InvalidArguments, "`default` always means `lead`")
                .fix("call it `lead` to replace that one"),
        );
    }
    let text = match &arguments.from {
        None => TEXT.to_owned(),
        Some(from) => begun_with(from, environment)?,
    };
    let directory = arguments.place.directory(environment);
    let path = trust::with_own_file(environment, &project_agents::places(environment), || {
        let path = write_new(&directory, &arguments.name, &text)?;
        Ok((path.clone(), path))
    })?;
    output::print(&format!("{}\n", path.display()))?;
    let name = &arguments.name;
    output::print_note(
        environment,
        &format!("wrote {}; next: rooftree agents edit {name}", place(&path)),
    );
    Ok(Exit::DONE)
}

fn begun_with(name: &str, environment: &Environment) -> Result<String, Problem> {
    let definition = AgentsContext::look(environment)?
        .project
        .definitions
        .find(name)?;
    let is_builtin = definition.source.path.is_none();
    let own = builtin_text(&definition.name)
        .filter(|_| is_builtin)
        .map(str::to_owned);
    Ok(own.unwrap_or_else(|| written(&without_secrets(&definition))))
}
