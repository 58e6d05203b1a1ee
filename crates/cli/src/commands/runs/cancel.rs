//! Stops a run, and with it those it delegated to.

use clap::Args;
use rooftree_protocol::{Command, Problem};
use rooftree_runtime::{Clock, SystemClock};

use super::{
    find,
    record::{Record, Standing},
};
use crate::{environment::Environment, exit::Exit, output};

/// Options of `runs cancel`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which run: its id, or the last 4 or more characters of it
    #[arg(value_name = "ID")]
    run: String,
}

/// Leaves the wish for the process that works on the run. One that nobody works on is stopped as
/// soon as somebody does.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    find::store(environment)?;
    let store = environment.store()?;
    let row = find::run(store.as_ref(), &arguments.run).await?;
    let Some(record) = Record::of(store.as_ref(), &row).await? else { return Ok(Exit::DONE) };
    let Record { run, session, status, .. } = record;
    if let Standing::Ended(status) = status {
        output::mention(environment, &format!("{run} has ended already: {status}"));
        return Ok(Exit::DONE);
    }
    let command = Command::Cancel { session: session.clone(), run: Some(run.clone()) };
    store.put_command(&session, command, SystemClock.now()).await.map_err(|error| error.problem())?;
    output::mention(
        environment,
        &match status {
            Standing::Running => format!("{run} is told to stop"),
            _ => format!("nobody works on {run}; it stops as soon as session {session} goes on"),
        },
    );
    Ok(Exit::DONE)
}
