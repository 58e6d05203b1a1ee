//! Says something to an agent at work; it reads it before its next turn.

use clap::Args;
use rooftree_protocol::{ErrorCode, Lane, Limits, Message, MessageId, Origin, Part, Problem};
use rooftree_runtime::{Clock, SystemClock};
use rooftree_store::{Post, TaskStatus};

use super::find;
use crate::{environment::Environment, exit::Exit, output, terminal::wording::how_to_continue};

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
    find::store(environment)?;
    let store = environment.store()?;
    let task = find::task(store.as_ref(), &arguments.task).await?;
    let Some((session, _)) = find::agent(&task) else { return Err(find::needs_agent(&task, "be told")) };
    if task.status != TaskStatus::Running {
        // Whoever is told something now would answer to nobody.
        return Err(Problem::new(ErrorCode::TaskNotFound, format!("{} has ended already", task.id))
            .fix(how_to_continue(&session)));
    }
    let now = SystemClock.now();
    let id = MessageId::from_entropy(SystemClock.entropy());
    let parts = vec![Part::text(arguments.words.join(" "))];
    let post = Post {
        session,
        lane: Lane::Boundary,
        key: id.to_string(),
        message: Message::new(id, parts, Origin::User, now),
        capacity: Limits::default().inbox,
    };
    store.post(post).await.map_err(|error| error.problem())?;
    output::mention(environment, &format!("{} reads it before its next turn", task.id));
    Ok(Exit::DONE)
}
