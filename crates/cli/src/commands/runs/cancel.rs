//! Cancels a run and the runs it delegated to.

use clap::Args;
use rooftree_client::{RunQuery, RuntimeClient};
use rooftree_protocol::{Command, Problem, RunId};

use super::{
    find,
    run_summary::{RunState, RunSummary},
};
use crate::{
    control::owner, environment::Environment, exit::Exit, output, terminal::run_text::counted,
};

/// Options of `runs cancel`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which run: its id, or the last 4 or more characters of it
    #[arg(value_name = "ID")]
    run: String,
}

/// Stores a cancel request for the process that works on the run. If no process does, the run is cancelled as
/// soon as one takes it over.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let client = environment.changing_client(owner())?;
    let client = client.ok_or_else(find::none_yet)?;
    let record = RunSummary::from(find::run(&*client, &arguments.run).await?);
    let RunSummary {
        run,
        session,
        status,
        ..
    } = record;
    if let RunState::Ended(status) = status {
        let told = cancel_below(&*client, run.clone()).await?;
        let words = match told {
            0 => format!("{run} has ended already: {status}"),
            told => {
                let told = counted(told, "run");
                format!(
                    "{run} has ended already: {status}; told to stop what it left at work: {told}"
                )
            }
        };
        output::print_note(environment, &words);
        return Ok(Exit::DONE);
    }
    let command = Command::Cancel {
        session: session.clone(),
        run: Some(run.clone()),
    };
    client.send(command).await?;
    output::print_note(
        environment,
        &match status {
            RunState::Running => format!("{run} is told to stop"),
            _ => {
                format!("no process works on {run}; it stops as soon as session {session} goes on")
            }
        },
    );
    Ok(Exit::DONE)
}

/// Stops the runs below one that has ended: agents in background work on after the run that asked them. A run
/// that is stopped stops those below it by itself. Says how many were told.
async fn cancel_below(client: &dyn RuntimeClient, run: RunId) -> Result<u64, Problem> {
    let (mut above, mut told) = (vec![run], 0);
    while let Some(run) = above.pop() {
        let query = RunQuery {
            parent: Some(run),
            ..RunQuery::default()
        };
        for item in client.runs(query).await? {
            if item.status.is_some() {
                above.push(item.run);
                continue;
            }
            let command = Command::Cancel {
                session: item.session,
                run: Some(item.run),
            };
            client.send(command).await?;
            told += 1;
        }
    }
    Ok(told)
}
