//! Cancels a run and the runs it delegated to.

use clap::Args;
use rooftree_protocol::{Command, Problem, RunId};
use rooftree_runtime::Handle;
use rooftree_store::RunFilter;

use super::{
    find,
    run_summary::{RunState, RunSummary},
};
use crate::{
    control::{owner, send},
    environment::Environment,
    exit::Exit,
    output,
    terminal::run_text::counted,
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
    find::queries(environment)?;
    let handle = environment.control()?;
    let queries = handle.queries(&owner());
    let row = find::run(&queries, &arguments.run).await?;
    let Some(record) = RunSummary::of(&queries, &row).await? else {
        return Ok(Exit::DONE);
    };
    let RunSummary {
        run,
        session,
        status,
        ..
    } = record;
    if let RunState::Ended(status) = status {
        let told = cancel_below(&handle, run.clone()).await?;
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
    send(&handle, command).await?;
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
async fn cancel_below(handle: &Handle, run: RunId) -> Result<u64, Problem> {
    let queries = handle.queries(&owner());
    let (mut above, mut told) = (vec![run], 0);
    while let Some(run) = above.pop() {
        let filter = RunFilter {
            parent: Some(run),
            ..RunFilter::default()
        };
        for row in queries
            .runs(filter)
            .await
            .map_err(|error| error.problem())?
        {
            let Some(RunSummary {
                run,
                session,
                status,
                ..
            }) = RunSummary::of(&queries, &row).await?
            else {
                continue;
            };
            if let RunState::Ended(_) = status {
                above.push(run);
                continue;
            }
            let command = Command::Cancel {
                session: session.clone(),
                run: Some(run),
            };
            send(handle, command).await?;
            told += 1;
        }
    }
    Ok(told)
}
