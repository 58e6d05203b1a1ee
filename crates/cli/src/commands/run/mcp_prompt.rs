//! Expands a prompt of an MCP server, typed by its name: `/mcp__server__prompt words`, into its text.

use rooftree_protocol::{ErrorCode, Problem};
use rooftree_tools::mcp::{McpPromptRequest, beginning};

use super::user_input::{UserInput, UserMessage};
use crate::{commands::mcp::unusable, environment::Environment, mcp_servers::ConfiguredServers};

/// What is to be said, with the words of a prompt in place of its name.
pub async fn expand_prompt(
    said: UserInput,
    gathered: &ConfiguredServers,
    environment: &Environment,
) -> Result<UserInput, Problem> {
    let UserInput::Message(message) = said else {
        return Ok(said);
    };
    let Some(wish) = McpPromptRequest::read(message.text()) else {
        return Ok(UserInput::Message(message));
    };
    let is_meant = |name: &&String| {
        wish.name
            .to_lowercase()
            .starts_with(&beginning(name).to_lowercase())
    };
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
    Ok(UserInput::Message(UserMessage::with_text(text, message)))
}
