//! Stops a task, in whichever process it works.

use clap::Args;
use rooftree_protocol::{Command, ErrorCode, Problem, ProcessId};
use rooftree_runtime::{Clock, SystemClock};
use rooftree_store::TaskStatus;

use super::find;
use crate::{environment::Environment, exit::Exit, output};

/// Options of `tasks stop`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which task: its id, or the last 4 or more characters of it
    #[arg(value_name = "ID")]
    task: String,
}

/// Stores a stop request for the process that works on it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    find::store(environment)?;
    let store = environment.store()?;
    let mut task = find::task(store.as_ref(), &arguments.task).await?;
    if find::settle_left(environment, std::slice::from_ref(&task)).await? {
        task = find::task(store.as_ref(), &task.id).await?;
    }
    if task.status != TaskStatus::Running {
        let detail = if task.detail.is_empty() {
            String::new()
        } else {
            format!(" ({})", task.detail)
        };
        output::print_note(
            environment,
            &format!("{} has ended already{detail}", task.id),
        );
        return Ok(Exit::DONE);
    }
    let (session, command) = match find::agent(&task) {
        Some((session, run)) => (
            session.clone(),
            Command::Cancel {
                session,
                run: Some(run),
            },
        ),
        None => {
            let process = ProcessId::parse(&task.id).map_err(|problem| Problem {
                code: ErrorCode::TaskNotFound,
                ..problem
            })?;
            let session = task.session.clone();
            (session.clone(), Command::StopProcess { session, process })
        }
    };
    store
        .put_command(&session, command, SystemClock.now())
        .await
        .map_err(|error| error.problem())?;
    output::print_note(environment, &format!("{} is told to stop", task.id));
    Ok(Exit::DONE)
}
