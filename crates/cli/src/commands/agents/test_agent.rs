//! Tests an agent with one prompt, in a read-only mode.

use std::ffi::OsString;

use clap::{Args, Parser};
use rooftree_protocol::Problem;

use super::AgentsContext;
use crate::{commands::run, environment::Environment, exit::Exit, output};

/// Options of `agents test`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which agent
    #[arg(value_name = "NAME")]
    name: String,
    /// What to say; what the agent begins with if it is left out
    #[arg(value_name = "PROMPT")]
    words: Vec<OsString>,
    /// The model to think with instead of its own
    #[arg(short, long, value_name = "PROVIDER/MODEL")]
    model: Option<String>,
    /// Replies of the model before it is ended
    #[arg(long, value_name = "N", default_value_t = 20)]
    max_turns: u32,
}

/// What is understood by `rooftree run`.
#[derive(Parser)]
struct ParsedRunArguments {
    #[command(flatten)]
    run: run::Arguments,
}

/// Runs it like any other session, in the mode that changes nothing.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let here = AgentsContext::look(environment)?;
    let definition = here.project.definitions.find(&arguments.name)?;
    for missing in here
        .project
        .project_context
        .current()
        .missing(&definition, &here.project.definitions)
    {
        output::print_note(environment, &missing);
    }
    let mut typed: Vec<OsString> = ["run", "--permission-mode", "plan", "-a", &arguments.name]
        .map(Into::into)
        .into();
    typed.extend(["--max-turns".into(), arguments.max_turns.to_string().into()]);
    if let Some(model) = arguments.model {
        typed.extend(["-m".into(), model.into()]);
    }
    typed.push("--".into());
    typed.extend(arguments.words);
    let parsed = ParsedRunArguments::try_parse_from(typed).map_err(|error| {
        Problem::new(
            rooftree_protocol::ErrorCode::InvalidArguments,
            error.to_string(),
        )
    })?;
    run::execute(parsed.run, environment).await
}
