//! Opens a conversation on a terminal. Elsewhere it is `run`, or four lines that say how to start.

use std::io::{IsTerminal, Write, stderr, stdin, stdout};

use rooftree_protocol::Problem;

use super::line_mode::{CommandRunner, converse};
use crate::{
    commands::run::{self, Arguments, InputFormat, OutputFormat},
    configured_models::{self, ConfiguredModels},
    environment::Environment,
    exit::Exit,
    settings,
    terminal::sanitize::clean,
};

/// Does it.
pub async fn execute(
    arguments: Arguments,
    environment: &Environment,
    runner: CommandRunner,
) -> Result<Exit, Problem> {
    let is_for_people = arguments.output_format == OutputFormat::Text
        && arguments.input_format == InputFormat::Text;
    if is_for_people && is_terminal() && !environment.everywhere.no_input {
        return converse(&arguments, environment, runner).await;
    }
    let has_work = !arguments.words.is_empty()
        || arguments.session.is_some()
        || arguments.latest
        || !is_for_people;
    if has_work {
        return run::execute(arguments, environment).await;
    }
    // Settings that cannot be read are what has to be put right first.
    settings::load(environment)?;
    // A write fails only if standard error is closed; then nothing can be said.
    let _ = stderr().write_all(start(environment).as_bytes());
    Ok(Exit::USAGE)
}

fn is_terminal() -> bool {
    stdin().is_terminal() && stdout().is_terminal() && stderr().is_terminal()
}

/// How to start, in four lines: what there is, and what to type.
fn start(environment: &Environment) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let state = clean(&state(environment));
    format!(
        "rooftree {version}: {state}\n\
         rooftree run \"…\"   says something to an agent; on a terminal rooftree alone opens a conversation\n\
         rooftree init      finds keys and local models\n\
         rooftree demo      shows it at work, without a key\n"
    )
}

/// The model that would be used.
fn state(environment: &Environment) -> String {
    let mut is_named = false;
    let models = settings::load(environment).and_then(|settings| {
        let name = configured_models::default_name(&settings);
        is_named = name.is_some();
        let models = ConfiguredModels::of(environment, &settings)?;
        models.resolve(name.as_deref().unwrap_or("standard"))
    });
    match models {
        Ok(resolved) => format!("the model is {}", resolved.choice),
        Err(problem) if is_named => format!("no model can be used yet ({})", problem.message),
        Err(_) => "no model can be used yet: none is set, and no provider has a key".to_owned(),
    }
}
