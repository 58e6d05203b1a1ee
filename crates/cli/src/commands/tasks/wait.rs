//! Waits until tasks have ended; the exit code is the worst of theirs.

use std::time::Duration;

use clap::Args;
use rooftree_protocol::Problem;
use rooftree_runtime::Queries;
use rooftree_store::{RunFilter, TaskRow, TaskStatus};
use tokio::time::Instant;

use super::find;
use crate::{commands::runs::run_summary, environment::Environment, exit::Exit, output};

/// Polling interval, in case a change notification is missed.
const PATIENCE: Duration = Duration::from_millis(500);

/// Options of `tasks wait`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which tasks: their ids, or the last 4 or more characters of them
    #[arg(value_name = "ID", required = true)]
    tasks: Vec<String>,
    /// Only until the first of them has ended
    #[arg(long)]
    any: bool,
    /// Time to wait at most, e.g. 90s; then the exit code is 7 and nothing is stopped
    #[arg(long, value_name = "DURATION", value_parser = crate::human_format::some_duration)]
    timeout: Option<Duration>,
}

/// Waits.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let (store, client) = (find::queries(environment)?, find::reader(environment)?);
    let mut ids = Vec::new();
    for typed in &arguments.tasks {
        ids.push(find::task(&*client, typed).await?.id);
    }
    let deadline = arguments.timeout.map(|most| Instant::now() + most);
    let mut changes = store.changes();
    loop {
        let mut ended = Vec::new();
        for id in &ids {
            let mut task = find::again(&*client, id).await?.task;
            if find::settle_left(environment, std::slice::from_ref(&task)).await? {
                task = find::again(&*client, id).await?.task;
            }
            if task.status != TaskStatus::Running {
                ended.push(task);
            }
        }
        if ended.len() == ids.len() || (arguments.any && !ended.is_empty()) {
            return tell(&store, environment, &ended).await;
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            output::print_note(
                environment,
                &format!("{} still at work", ids.len() - ended.len()),
            );
            return Ok(Exit::LIMIT);
        }
        // A notification may be missed: then the timeout polls.
        let patience = deadline.map_or(PATIENCE, |deadline| {
            PATIENCE.min(deadline.saturating_duration_since(Instant::now()))
        });
        let _ = tokio::time::timeout(patience, changes.changed()).await;
    }
}

async fn tell(
    store: &Queries,
    environment: &Environment,
    ended: &[TaskRow],
) -> Result<Exit, Problem> {
    let mut worst = Exit::DONE;
    for task in ended {
        let exit = exit(store, task).await?;
        output::print_note(environment, &format!("{} {}", task.id, task.detail));
        worst = if exit.0 > worst.0 { exit } else { worst };
    }
    Ok(worst)
}

/// The number a task would have ended with, had it been a program of its own.
async fn exit(store: &Queries, task: &TaskRow) -> Result<Exit, Problem> {
    if let Some((_, run)) = find::agent(task) {
        let filter = RunFilter {
            run: Some(run),
            limit: 1,
            ..RunFilter::default()
        };
        let row = store
            .runs(filter)
            .await
            .map_err(|error| error.problem())?
            .pop();
        if let Some(end) = row.as_ref().and_then(run_summary::end) {
            return Ok(Exit::for_run(end));
        }
    }
    Ok(match task.status {
        TaskStatus::Completed | TaskStatus::Running => Exit::DONE,
        TaskStatus::Failed => Exit::FAILED,
        TaskStatus::Cancelled => Exit::INTERRUPTED,
    })
}
