//! Returns from a session that was handed over: posts a summary of it to the first agent.

use clap::Args;
use rooftree_protocol::{Command, Problem, command::CommandReply};

use super::{
    control,
    find::{self, LookupScope},
};
use crate::{
    control::{owner, send},
    environment::Environment,
    exit::Exit,
    output,
    terminal::run_text::how_to_continue,
};

/// Options of `sessions back`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The session that was handed over: its id, the last 4 or more characters of it, or its name
    #[arg(value_name = "ID")]
    session: String,
}

/// Leaves the summary in the first session, to be read when it goes on, and prints that one's id.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let handle = control(environment)?;
    let queries = handle.queries(&owner());
    let switched = find::session(&queries, &arguments.session, LookupScope::Live).await?;
    let command = Command::HandBack {
        session: switched.id.clone(),
    };
    let reply = send(&handle, command).await?;
    let origin = switched.forked_from.map(|origin| origin.session);
    let Some(origin) = origin else {
        return Ok(Exit::DONE);
    };
    output::print(&format!("{origin}\n"))?;
    let said = match reply {
        CommandReply::Accepted { .. } => format!(
            "what {} did is told when you go on: {}",
            switched.agent,
            how_to_continue(&origin)
        ),
        _ => "nothing was said there; there is nothing to tell".to_owned(),
    };
    output::print_note(environment, &said);
    Ok(Exit::DONE)
}
