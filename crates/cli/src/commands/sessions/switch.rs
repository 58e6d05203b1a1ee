//! Hands a conversation over to another agent, which goes on with all of it.

use std::{ffi::OsString, sync::Arc};

use clap::Args;
use rooftree_protocol::{Command, Problem};

use super::{
    ContinuedSession, SessionsOutcome, changer,
    find::{self, LookupScope},
    name,
};
use crate::{
    configured_models::ConfiguredModels, control::changed_session, environment::Environment,
    exit::Exit, output, project_agents::ProjectAgents, server_connection::ServerConnection,
    settings, terminal::run_text::how_to_continue,
};

/// Options of `sessions switch`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which session: its id, the last 4 or more characters of it, or its name
    #[arg(value_name = "ID")]
    session: String,
    /// The agent that goes on
    #[arg(value_name = "AGENT")]
    agent: String,
    /// What to say to it first, as in `rooftree run`; it is answered at once
    #[arg(value_name = "MESSAGE|@FILE")]
    message: Vec<OsString>,
    /// What to call the new session
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The model to answer the message with
    #[arg(short, long, value_name = "PROVIDER/MODEL", requires = "message")]
    model: Option<String>,
}

/// Prints the new session's id, or what the agent answers to a first message. The other agent brings its own prompt,
/// tools and model.
pub async fn execute(
    arguments: Arguments,
    environment: &Environment,
) -> Result<SessionsOutcome, Problem> {
    let name = arguments
        .name
        .as_deref()
        .map(name::checked)
        .transpose()?
        .flatten();
    let agent = agent_named(environment, &arguments.agent).await?;
    let client = changer(environment)?;
    let from = find::session(&*client, &arguments.session, LookupScope::Live).await?;
    let command = Command::Fork {
        session: from.id.clone(),
        at: Some(from.head),
        name,
        agent: Some(agent.clone()),
        message: None,
    };
    let switched = changed_session(&*client, command).await?;
    let id = &switched.id;
    let next = format!(
        "{agent} goes on with the conversation of {}: {}\nback with a summary: rooftree sessions back {id}",
        from.id,
        how_to_continue(id)
    );
    output::print_note(environment, &next);
    if !arguments.message.is_empty() {
        // It is said the way `run` says it: with attachments, shown as it comes, answered by people.
        return Ok(SessionsOutcome::GoOn(ContinuedSession {
            session: switched.id,
            words: arguments.message,
            model: arguments.model,
        }));
    }
    output::print(&format!("{id}\n"))?;
    Ok(SessionsOutcome::Done(Exit::DONE))
}

/// The agent's own name.
async fn agent_named(environment: &Environment, name: &str) -> Result<String, Problem> {
    if let Some(server) = ServerConnection::of(environment)? {
        return Ok(server.client.agent(name).await?.name);
    }
    let settings = settings::load(environment)?;
    let models = Arc::new(ConfiguredModels::of(environment, &settings)?);
    let project = ProjectAgents::find(environment, &settings, &models, None)?;
    Ok(project.definitions.find(name)?.name.clone())
}
