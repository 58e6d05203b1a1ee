//! Connectors: adds accounts of chat platforms and webhooks, pairs people with them, shows how they are.

mod add;
mod people;
mod shown;

use clap::{Args, Subcommand};
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_runtime::{ConnectorChange, Handle};
use rooftree_store::{ConnectorFields, ConnectorRow, ConnectorWriteOutcome};

use self::{
    add::{ConnectorAddArguments, ConnectorSecretArguments, ConnectorSetArguments},
    people::{ConnectorPairArguments, ConnectorSenderArguments},
    shown::{ConnectorListArguments, ConnectorStatusArguments},
};
use super::token::local_owner;
use crate::{
    credentials::Credentials, environment::Environment, exit::Exit, listing::PageOutput, output,
};

/// Options of `connectors`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: ConnectorAction,
}

#[derive(Debug, Subcommand)]
enum ConnectorAction {
    /// List connectors: platform, agent, health, people
    #[command(visible_alias = "ls")]
    List(ConnectorListArguments),
    /// Add a connector; its secret is asked for unseen, or read from standard input
    Add(Box<ConnectorAddArguments>),
    /// Change the agent or the settings of a connector
    Set(Box<ConnectorSetArguments>),
    /// Store another secret of a connector
    Secret(ConnectorSecretArguments),
    /// Make a code that a person sends to the bot; or confirm the code that the bot told an unknown sender
    Pair(ConnectorPairArguments),
    /// Unpair a sender
    Unpair(ConnectorSenderArguments),
    /// Show how a connector is, who is paired and which codes wait
    Status(ConnectorStatusArguments),
    /// Send a test message to your chat
    Test(ConnectorNameArguments),
    /// Remove a connector, its people and its secret
    Rm(ConnectorNameArguments),
}

/// Options of commands about one connector.
#[derive(Args, Debug)]
struct ConnectorNameArguments {
    /// The name of the connector
    name: String,
    #[command(flatten)]
    output: PageOutput,
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    match arguments.action {
        ConnectorAction::List(arguments) => shown::list(arguments, environment).await,
        ConnectorAction::Status(arguments) => shown::status(arguments, environment).await,
        ConnectorAction::Add(arguments) => add::add(*arguments, environment).await,
        ConnectorAction::Set(arguments) => add::set(*arguments, environment).await,
        ConnectorAction::Secret(arguments) => add::secret(arguments, environment).await,
        ConnectorAction::Pair(arguments) => people::pair(arguments, environment).await,
        ConnectorAction::Unpair(arguments) => people::unpair(arguments, environment).await,
        ConnectorAction::Test(arguments) => test(arguments, environment).await,
        ConnectorAction::Rm(arguments) => remove(arguments, environment).await,
    }
}

/// The account in the credential store that holds the secret of a connector.
pub fn secret_account(name: &str) -> String {
    format!("connector/{}", name.to_lowercase())
}

async fn test(
    arguments: ConnectorNameArguments,
    environment: &Environment,
) -> Result<Exit, Problem> {
    let who = local_owner()?.principal;
    let handle = environment.control()?;
    let sent = handle.test_connector(&who, &arguments.name).await;
    let target = sent.map_err(|error| error.problem())?.to_string();
    if arguments.output.is_json() {
        output::print(&output::json_page(&serde_json::json!({"target": target}))?)?;
    } else {
        output::print(&format!("a test message to {target} waits to be sent\n"))?;
        output::print_note(
            environment,
            "rooftree serve sends it; rooftree outbox list shows it",
        );
    }
    Ok(Exit::DONE)
}

async fn remove(
    arguments: ConnectorNameArguments,
    environment: &Environment,
) -> Result<Exit, Problem> {
    local_owner()?;
    let handle = environment.control()?;
    let row = find(&handle, &arguments.name).await?;
    write(&handle, &row.name, None, Some(row.revision)).await?;
    let account = secret_account(&row.name);
    let forget = async { Credentials::of(environment).remove(&account) };
    environment
        .change_files("key.remove", &account, forget)
        .await?;
    if arguments.output.is_json() {
        let page = serde_json::json!({"removed": row.name});
        output::print(&output::json_page(&page)?)?;
    } else {
        output::print(&format!("removed {}\n", row.name))?;
    }
    Ok(Exit::DONE)
}

/// The connector with this name.
async fn find(handle: &Handle, name: &str) -> Result<ConnectorRow, Problem> {
    let found = handle.connector(&crate::control::owner(), name).await;
    found.map_err(|error| error.problem())
}

/// Writes a row, if it has the revision that is expected.
async fn write(
    handle: &Handle,
    name: &str,
    fields: Option<ConnectorFields>,
    expected: Option<u64>,
) -> Result<Option<ConnectorRow>, Problem> {
    let change = ConnectorChange {
        name: name.to_owned(),
        fields,
        expected,
    };
    let who = local_owner()?.principal;
    let written = handle.change_connector(&who, change).await;
    match written.map_err(|error| error.problem())? {
        ConnectorWriteOutcome::Written(row) => Ok(row.map(|row| *row)),
        ConnectorWriteOutcome::Differs(Some(_)) if expected.is_none() => Err(taken(name)),
        ConnectorWriteOutcome::Differs(_) => {
            let message = format!("the connector `{name}` was changed meanwhile");
            Err(Problem::new(ErrorCode::Conflict, message).fix("run the command again"))
        }
    }
}

fn taken(name: &str) -> Problem {
    Problem::new(
        ErrorCode::InvalidArguments,
        format!("there is a connector `{name}` already"),
    )
    .fix("choose another --name, or change it: rooftree connectors set")
}
