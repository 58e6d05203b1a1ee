//! Sends a message to a background agent that is running; the agent reads it before its next turn.

use clap::Args;
use rooftree_client::RuntimeClient;
use rooftree_protocol::{
    Command, ErrorCode, MessageId, Origin, Part, Problem, SessionId,
    command::{Address, CommandReply, Delivery},
};
use rooftree_store::{TaskRow, TaskStatus};

use super::find;
use crate::{
    control::owner, environment::Environment, exit::Exit, output,
    terminal::run_text::how_to_continue,
};

/// Options of `tasks send`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which task: its id, or the last 4 or more characters of it
    #[arg(value_name = "ID")]
    task: String,
    /// What to say
    #[arg(value_name = "TEXT", required = true)]
    words: Vec<String>,
}

/// Puts it into the inbox of the session the agent works in.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let client = environment.changing_client(owner())?;
    let client = client.ok_or_else(find::none_yet)?;
    let task = find::task(&*client, &arguments.task).await?;
    let Some((session, _)) = find::agent(&task) else {
        return Err(find::needs_agent(&task, "be told"));
    };
    if task.status != TaskStatus::Running {
        // The agent's answer would reach no caller any more.
        return Err(Problem::new(
            ErrorCode::TaskNotFound,
            format!("{} has ended already", task.id),
        )
        .fix(how_to_continue(&session)));
    }
    let command = Command::Post {
        to: Address::Id {
            id: session.clone(),
        },
        parts: vec![Part::text(arguments.words.join(" "))],
        origin: Origin::User,
        key: None,
        delivery: Delivery::Steer,
        context: None,
    };
    let CommandReply::Accepted { message: id, .. } = client.send(command).await? else {
        return Ok(Exit::DONE);
    };
    if is_unread(&*client, &task, &session, &id).await? {
        // A process that releases a session checks its inbox once more; this message came after that check.
        let words = format!("no process is at work on {} any more", task.id);
        return Err(Problem::new(ErrorCode::TaskNotFound, words)
            .cause("what you said is kept, and read when its session goes on")
            .fix(how_to_continue(&session)));
    }
    output::print_note(
        environment,
        &format!("{} reads it before its next turn", task.id),
    );
    Ok(Exit::DONE)
}

/// Whether the message is still unread and no process is there to read it.
async fn is_unread(
    client: &dyn RuntimeClient,
    task: &TaskRow,
    session: &SessionId,
    message: &MessageId,
) -> Result<bool, Problem> {
    if !find::again(client, &task.id).await?.is_left {
        return Ok(false);
    }
    let waiting = client.waiting(session).await?;
    Ok(waiting.iter().any(|item| item.message == *message))
}
