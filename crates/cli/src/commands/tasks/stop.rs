//! Stops a task, in whichever process it works.

use clap::Args;
use rooftree_protocol::{Command, ErrorCode, Problem, ProcessId};
use rooftree_store::TaskStatus;

use super::find;
use crate::{control::owner, environment::Environment, exit::Exit, output};

/// Options of `tasks stop`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which task: its id, or the last 4 or more characters of it
    #[arg(value_name = "ID")]
    task: String,
}

/// Stores a stop request for the process that works on it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let client = environment.changing_client(owner())?;
    let client = client.ok_or_else(find::none_yet)?;
    let mut task = find::task(&*client, &arguments.task).await?;
    if find::settle_left(environment, std::slice::from_ref(&task)).await? {
        task = find::task(&*client, &task.id).await?;
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
    let command = match find::agent(&task) {
        Some((session, run)) => Command::Cancel {
            session,
            run: Some(run),
        },
        None => {
            let process = ProcessId::parse(&task.id).map_err(|problem| Problem {
                code: ErrorCode::TaskNotFound,
                ..problem
            })?;
            let session = task.session.clone();
            Command::StopProcess { session, process }
        }
    };
    client.send(command).await?;
    output::print_note(environment, &format!("{} is told to stop", task.id));
    Ok(Exit::DONE)
}
