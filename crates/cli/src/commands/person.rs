//! Persons who may use the server: invites, lists and disables them, and makes login links.

use clap::{Args, Subcommand};
use rooftree_protocol::{Problem, Timestamp};
use rooftree_runtime::{Clock, IssuedLink, NewAccessLink, SystemClock};
use rooftree_store::{PersonRole, PersonRow};
use serde::Serialize;
use serde_json::json;

use super::token::local_owner;
use crate::{
    control::owner,
    environment::Environment,
    exit::Exit,
    external_agents::PORT,
    human_format,
    listing::{self, ListItem, ListOutput, PageOutput},
    output,
    table::{ColumnShrink, TextTable},
};

/// Options of `person`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: PersonAction,
}

#[derive(Debug, Subcommand)]
enum PersonAction {
    /// Invite a person and print the link for his first browser
    Invite(PersonInviteArguments),
    /// List who there is
    #[command(visible_alias = "ls")]
    List(PersonListArguments),
    /// Disable a person: all his tokens and links end at once
    Disable(PersonDisableArguments),
    /// Print a one-time link that logs another browser in
    Link(PersonLinkArguments),
}

/// Options of `person invite`.
#[derive(Args, Debug)]
struct PersonInviteArguments {
    /// What to call him
    name: String,
    #[command(flatten)]
    at: LinkAddress,
    #[command(flatten)]
    output: PageOutput,
}

/// Options of `person list`.
#[derive(Args, Debug)]
struct PersonListArguments {
    #[command(flatten)]
    output: ListOutput,
}

/// Options of `person disable`.
#[derive(Args, Debug)]
struct PersonDisableArguments {
    /// His id
    person: String,
    #[command(flatten)]
    output: PageOutput,
}

/// Options of `person link`.
#[derive(Args, Debug)]
struct PersonLinkArguments {
    /// Whose browser; yours if absent
    person: Option<String>,
    #[command(flatten)]
    at: LinkAddress,
    #[command(flatten)]
    output: PageOutput,
}

/// Where the browser finds the server.
#[derive(Args, Debug)]
struct LinkAddress {
    /// The URL of the server as the browser reaches it
    #[arg(
        long,
        value_name = "URL",
        value_parser = page_address,
        default_value_t = format!("http://127.0.0.1:{PORT}")
    )]
    url: String,
}

/// A browser must be able to open it: the link in it works once, and the name of the person is taken by then.
fn page_address(text: &str) -> Result<String, String> {
    let rest = ["https://", "http://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    match rest {
        Some(host) if !host.is_empty() && !host.contains([' ', '#']) => Ok(text.to_owned()),
        _ => Err("write it as a browser opens it, for example https://agents.example.org".into()),
    }
}

/// A person as he is listed.
#[derive(Serialize)]
struct ListedPersonRow {
    id: String,
    name: String,
    role: PersonRole,
    invited_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    disabled_at: Option<Timestamp>,
}

impl From<PersonRow> for ListedPersonRow {
    fn from(row: PersonRow) -> Self {
        Self {
            id: row.account.person,
            name: row.name,
            role: row.role,
            invited_at: row.invited_at,
            disabled_at: row.disabled_at,
        }
    }
}

impl ListItem for ListedPersonRow {
    fn id(&self) -> String {
        self.id.clone()
    }
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    match arguments.action {
        PersonAction::Invite(arguments) => invite(arguments, environment).await,
        PersonAction::List(arguments) => list(arguments, environment).await,
        PersonAction::Disable(arguments) => disable(arguments, environment).await,
        PersonAction::Link(arguments) => link(arguments, environment).await,
    }
}

/// The address that logs a browser in. What follows `#` is not sent to a server, so no log has it.
pub fn login_url(base: &str, link: &IssuedLink) -> String {
    format!("{}/#k={}", base.trim_end_matches('/'), link.secret)
}

async fn invite(
    arguments: PersonInviteArguments,
    environment: &Environment,
) -> Result<Exit, Problem> {
    let maker = local_owner()?;
    let handle = environment.control()?;
    let invited = handle.invite_person(&maker, &arguments.name).await;
    let invited = invited.map_err(|error| error.problem())?;
    let url = login_url(&arguments.at.url, &invited.link);
    let person = ListedPersonRow::from(invited.person);
    if arguments.output.is_json() {
        let until = invited.link.row.expires_at;
        let page = json!({"person": person, "link": url, "expires_at": until});
        output::print(&output::json_page(&page)?)?;
    } else {
        output::print(&format!("{url}\n"))?;
        let until = human_format::moment(invited.link.row.expires_at);
        let id = person.id;
        let words = format!("{id} is invited; give him this link, which works once, until {until}");
        output::print_note(environment, &words);
    }
    Ok(Exit::DONE)
}

async fn list(arguments: PersonListArguments, environment: &Environment) -> Result<Exit, Problem> {
    let rows = if environment.database.exists() {
        let rows = environment.control()?.persons(&owner()).await;
        rows.map_err(|error| error.problem())?
    } else {
        Vec::new()
    };
    let rows: Vec<ListedPersonRow> = rows.into_iter().map(ListedPersonRow::from).collect();
    let look = listing::look(environment);
    listing::print(&rows, arguments.output.format, look, table)?;
    Ok(Exit::DONE)
}

fn table(rows: &[ListedPersonRow]) -> TextTable {
    let now = SystemClock.now();
    let mut table = TextTable::new([
        ("ID", ColumnShrink::Stiff),
        ("NAME", ColumnShrink::Soft),
        ("ROLE", ColumnShrink::Stiff),
        ("SINCE", ColumnShrink::Stiff),
        ("STATE", ColumnShrink::Stiff),
    ]);
    for row in rows {
        let (role, since) = match row.role {
            PersonRole::Owner => ("owner", String::from("–")),
            PersonRole::Member => ("member", human_format::ago(now, row.invited_at)),
        };
        let state = row.disabled_at.map_or_else(
            || "enabled".to_owned(),
            |at| format!("disabled {}", human_format::ago(now, at)),
        );
        table.row([row.id.clone(), row.name.clone(), role.into(), since, state]);
    }
    table
}

async fn disable(
    arguments: PersonDisableArguments,
    environment: &Environment,
) -> Result<Exit, Problem> {
    let maker = local_owner()?;
    let handle = environment.control()?;
    let disabled = handle.disable_person(&maker, &arguments.person).await;
    let disabled = ListedPersonRow::from(disabled.map_err(|error| error.problem())?);
    if arguments.output.is_json() {
        output::print(&output::json_page(&disabled)?)?;
    } else {
        let id = disabled.id;
        output::print(&format!("disabled {id}; his tokens and links have ended\n"))?;
    }
    Ok(Exit::DONE)
}

async fn link(arguments: PersonLinkArguments, environment: &Environment) -> Result<Exit, Problem> {
    let maker = local_owner()?;
    let handle = environment.control()?;
    let new = NewAccessLink {
        person: arguments.person,
    };
    let made = handle.create_link(&maker, new).await;
    let made = made.map_err(|error| error.problem())?;
    let url = login_url(&arguments.at.url, &made);
    if arguments.output.is_json() {
        let page = json!({"link": url, "expires_at": made.row.expires_at});
        output::print(&output::json_page(&page)?)?;
    } else {
        output::print(&format!("{url}\n"))?;
        let until = human_format::moment(made.row.expires_at);
        output::print_note(environment, &format!("it works once, until {until}"));
    }
    Ok(Exit::DONE)
}
