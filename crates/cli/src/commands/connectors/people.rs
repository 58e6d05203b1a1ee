//! Pairs people with connectors, both ways, and unpairs them.

use clap::Args;
use rooftree_protocol::Problem;
use rooftree_runtime::{Clock, NewPairing, SystemClock};
use serde_json::json;

use super::find;
use crate::{
    commands::token::local_owner, environment::Environment, exit::Exit, human_format,
    listing::PageOutput, output,
};

/// Options of `connectors pair`.
#[derive(Args, Debug)]
pub(super) struct ConnectorPairArguments {
    /// The name of the connector
    name: String,
    /// The code that the bot told an unknown sender; without it, a code is made that the person sends to the bot
    code: Option<String>,
    /// The person that the sender becomes, instead of you
    #[arg(long, value_name = "ID")]
    person: Option<String>,
    /// Let him answer permission requests, too
    #[arg(long)]
    approver: bool,
    #[command(flatten)]
    output: PageOutput,
}

/// Options of `connectors unpair`.
#[derive(Args, Debug)]
pub(super) struct ConnectorSenderArguments {
    /// The name of the connector
    name: String,
    /// The platform's id of the sender; `rooftree connectors status` shows it
    sender: String,
}

/// Makes a code, or confirms one.
pub(super) async fn pair(
    arguments: ConnectorPairArguments,
    environment: &Environment,
) -> Result<Exit, Problem> {
    let who = local_owner()?.principal;
    let handle = environment.control()?;
    let new = NewPairing {
        connector: arguments.name.clone(),
        person: arguments.person,
        may_approve: arguments.approver,
    };
    let is_json = arguments.output.is_json();
    let Some(code) = arguments.code else {
        let issued = handle.create_pairing(&who, new).await;
        let issued = issued.map_err(|error| error.problem())?;
        if is_json {
            let page = json!({"code": issued.code, "expires": issued.expires_at});
            return output::print(&output::json_page(&page)?).map(|()| Exit::DONE);
        }
        output::print(&format!("{}\n", issued.code))?;
        let ends = human_format::moment(issued.expires_at);
        let words = format!("send it to the bot in a direct chat before {ends}; it works once");
        output::print_note(environment, &words);
        return Ok(Exit::DONE);
    };
    let paired = handle.confirm_pairing(&who, new, &code).await;
    let paired = paired.map_err(|error| error.problem())?;
    if is_json {
        return output::print(&output::json_page(&paired)?).map(|()| Exit::DONE);
    }
    let rights = if paired.may_approve {
        "may write and approve"
    } else {
        "may write; --approver would let him answer permission requests"
    };
    output::print(&format!(
        "paired {} ({}) as {}: {rights}\n",
        paired.name, paired.sender, paired.person
    ))?;
    Ok(Exit::DONE)
}

/// Unpairs a sender.
pub(super) async fn unpair(
    arguments: ConnectorSenderArguments,
    environment: &Environment,
) -> Result<Exit, Problem> {
    let who = local_owner()?.principal;
    let handle = environment.control()?;
    let row = find(&handle, &arguments.name).await?;
    let unpaired = handle.unpair(&who, &row.name, &arguments.sender).await;
    unpaired.map_err(|error| error.problem())?;
    let now = human_format::moment(SystemClock.now());
    output::print(&format!("unpaired {} at {now}\n", arguments.sender))?;
    Ok(Exit::DONE)
}
