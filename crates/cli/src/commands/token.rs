//! Access tokens for the HTTP API: makes, lists and revokes them.

use std::time::Duration;

use clap::{Args, Subcommand};
use rooftree_protocol::{AccessScope, AuthorizedCaller, ErrorCode, Problem, Surface};
use rooftree_runtime::{Clock, NewAccessToken, SystemClock};
use rooftree_store::AccessTokenRow;
use serde::Serialize;
use serde_json::json;

use crate::{
    control::owner,
    environment::Environment,
    exit::Exit,
    human_format,
    listing::{self, ListItem, ListOutput, PageOutput},
    output,
    table::{ColumnShrink, TextTable},
};

/// Options of `token`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: TokenAction,
}

#[derive(Debug, Subcommand)]
enum TokenAction {
    /// Make a token and print it; it is not shown again
    Create(TokenCreateArguments),
    /// List tokens: whose, what they may do, when they were used
    #[command(visible_alias = "ls")]
    List(TokenListArguments),
    /// Revoke a token; it counts at once
    Revoke(TokenRevokeArguments),
}

/// Options of `token create`.
#[derive(Args, Debug)]
struct TokenCreateArguments {
    /// What to call it
    name: String,
    /// What it may do: read, chat, approve, admin or metrics; may be given several times
    #[arg(long = "scope", value_name = "SCOPE", required = true, value_delimiter = ',', value_parser = scope)]
    scopes: Vec<AccessScope>,
    /// Only for sessions of this agent; may be given several times
    #[arg(long = "agent", value_name = "NAME")]
    agents: Vec<String>,
    /// When it ends by itself, from now on: 12h, 30d
    #[arg(long, value_name = "DURATION", value_parser = crate::human_format::some_duration)]
    expires: Option<Duration>,
    /// The person it stands for, instead of you
    #[arg(long, value_name = "ID")]
    person: Option<String>,
    #[command(flatten)]
    output: PageOutput,
}

/// Options of `token list`.
#[derive(Args, Debug)]
struct TokenListArguments {
    /// Revoked and expired ones, too
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    output: ListOutput,
}

/// Options of `token revoke`.
#[derive(Args, Debug)]
struct TokenRevokeArguments {
    /// Its name, its id or the end of the id
    token: String,
    #[command(flatten)]
    output: PageOutput,
}

/// A token as it is listed.
#[derive(Serialize)]
struct ListedTokenRow {
    person: String,
    #[serde(flatten)]
    token: AccessTokenRow,
}

impl From<AccessTokenRow> for ListedTokenRow {
    fn from(mut token: AccessTokenRow) -> Self {
        // Once is enough.
        let person = std::mem::take(&mut token.account).person;
        Self { person, token }
    }
}

impl ListItem for ListedTokenRow {
    fn id(&self) -> String {
        self.token.id.clone()
    }
}

fn scope(text: &str) -> Result<AccessScope, String> {
    text.parse().map_err(|problem: Problem| {
        let fix = problem.fix.unwrap_or_default();
        format!("{}; {fix}", problem.message)
    })
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    match arguments.action {
        TokenAction::Create(arguments) => create(arguments, environment).await,
        TokenAction::List(arguments) => list(arguments, environment).await,
        TokenAction::Revoke(arguments) => revoke(arguments, environment).await,
    }
}

/// The person at the command line. Invariant: a program that an agent started is not him.
pub fn local_owner() -> Result<AuthorizedCaller, Problem> {
    rooftree_process::AgentAncestry::refuse_this_process().map_err(|why| {
        let message = "a program that an agent started cannot change who has access";
        Problem::new(ErrorCode::ToolDenied, message)
            .cause(why.to_string())
            .fix("run this command yourself")
    })?;
    Ok(AuthorizedCaller::local_owner(Surface::Cli))
}

async fn create(
    arguments: TokenCreateArguments,
    environment: &Environment,
) -> Result<Exit, Problem> {
    let maker = local_owner()?;
    let now = SystemClock.now();
    let new = NewAccessToken {
        name: arguments.name,
        person: arguments.person,
        scopes: arguments.scopes.into_iter().collect(),
        agents: (!arguments.agents.is_empty()).then_some(arguments.agents),
        expires_at: arguments.expires.map(|life| now.after(life)),
    };
    let handle = environment.control()?;
    let issued = handle.create_token(&maker, new).await;
    let issued = issued.map_err(|error| error.problem())?;
    if arguments.output.is_json() {
        let page = json!({"secret": issued.secret, "token": ListedTokenRow::from(issued.row)});
        output::print(&output::json_page(&page)?)?;
    } else {
        output::print(&format!("{}\n", issued.secret))?;
        let words = "keep it now: it is not shown again";
        output::print_note(environment, &format!("{}: {words}", issued.row.id));
    }
    Ok(Exit::DONE)
}

async fn list(arguments: TokenListArguments, environment: &Environment) -> Result<Exit, Problem> {
    let mut rows = if environment.database.exists() {
        let handle = environment.control()?;
        let rows = handle.tokens(&owner()).await;
        rows.map_err(|error| error.problem())?
    } else {
        Vec::new()
    };
    let now = SystemClock.now();
    rows.retain(|row| arguments.all || row.is_valid_at(now));
    let rows: Vec<ListedTokenRow> = rows.into_iter().map(ListedTokenRow::from).collect();
    let look = listing::look(environment);
    listing::print(&rows, arguments.output.format, look, table)?;
    if rows.is_empty() {
        output::print_note(
            environment,
            "no tokens: rooftree token create NAME --scope chat",
        );
    }
    Ok(Exit::DONE)
}

fn table(rows: &[ListedTokenRow]) -> TextTable {
    let now = SystemClock.now();
    let mut table = TextTable::new([
        ("ID", ColumnShrink::Stiff),
        ("NAME", ColumnShrink::Soft),
        ("PERSON", ColumnShrink::Spare),
        ("SCOPES", ColumnShrink::Stiff),
        ("AGENTS", ColumnShrink::Soft),
        ("USED", ColumnShrink::Stiff),
        ("ENDS", ColumnShrink::Stiff),
    ]);
    for ListedTokenRow { person, token: row } in rows {
        let scopes: Vec<&str> = row.scopes.iter().map(AccessScope::word).collect();
        let agents = row.agents.as_ref().map(|agents| agents.join(", "));
        let used = row.used_at.map(|at| human_format::ago(now, at));
        let ends = match (row.revoked_at, row.expires_at) {
            (Some(at), _) => format!("revoked {}", human_format::ago(now, at)),
            (None, Some(at)) => human_format::moment(at),
            (None, None) => "never".into(),
        };
        table.row([
            row.id.clone(),
            row.name.clone(),
            person.clone(),
            scopes.join(","),
            agents.unwrap_or_else(|| "all".into()),
            used.unwrap_or_else(|| "never".into()),
            ends,
        ]);
    }
    table
}

async fn revoke(
    arguments: TokenRevokeArguments,
    environment: &Environment,
) -> Result<Exit, Problem> {
    let maker = local_owner()?;
    let handle = environment.control()?;
    let revoked = handle
        .revoke_token(&maker.principal, &arguments.token)
        .await;
    let revoked = revoked.map_err(|error| error.problem())?;
    if arguments.output.is_json() {
        output::print(&output::json_page(&ListedTokenRow::from(revoked))?)?;
    } else {
        output::print(&format!("revoked {} ({})\n", revoked.id, revoked.name))?;
    }
    Ok(Exit::DONE)
}
