//! A prompt of an MCP server, typed by its name: `/mcp__server__prompt words`. The agent is told what it says.

use rooftree_protocol::{ErrorCode, Problem};
use rooftree_tools::mcp::{Wish, beginning};

use super::prompt::{Message, Said};
use crate::{commands::mcp::unusable, environment::Environment, servers::Gathered};

/// What is to be said, with the words of a prompt in place of its name.
pub async fn expanded(said: Said, gathered: &Gathered, environment: &Environment) -> Result<Said, Problem> {
    let Said::Message(message) = said else { return Ok(said) };
    let Some(wish) = Wish::read(message.text()) else { return Ok(Said::Message(message)) };
    let is_meant = |name: &&String| wish.name.to_lowercase().starts_with(&beginning(name).to_lowercase());
    let Some(name) = gathered.servers.keys().find(is_meant) else {
        return Err(Problem::new(
            ErrorCode::InvalidArguments,
            format!("there is no MCP server with a prompt `/{}`", wish.name),
        )
        .fix("rooftree mcp list shows the servers there are, rooftree mcp prompts NAME what can be typed"));
    };
    let known = gathered.named(name)?;
    let servers = gathered.servers(environment);
    let told = servers.prompt(name, &known.server, &wish).await;
    servers.close().await;
    let text = told.map_err(|error| unusable(name, &error))?;
    Ok(Said::Message(Message::saying(text, message)))
}
