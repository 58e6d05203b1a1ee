//! Lists MCP servers: transport, file, and status.

use clap::Args;
use futures::future::join_all;
use rooftree_protocol::{McpServer, Problem};
use rooftree_tools::mcp::{McpServerPool, McpServerStatus};
use serde::Serialize;

use super::gathered;
use crate::{
    environment::Environment,
    exit::Exit,
    human_format::place,
    listing::{self, ListFormat, ListItem, ListOutput},
    mcp_servers::ConfiguredServer,
    output,
    table::{ColumnShrink, TextTable},
};

/// Options of `mcp list`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Start nothing: say only what is set up
    #[arg(long)]
    offline: bool,
    /// The same as -o json
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    output: ListOutput,
}

/// A server as it is listed. What it is given in confidence is no part of it.
#[derive(Serialize)]
struct Row {
    name: String,
    /// `stdio` or `http`.
    kind: &'static str,
    /// The program or the address.
    target: String,
    /// The file it is written in.
    place: String,
    /// `ready`, `failed`, `off`; none if the server was not contacted.
    status: Option<&'static str>,
    /// What it calls itself, or why it failed.
    about: Option<String>,
    protocol: Option<String>,
    tools: Option<usize>,
    /// What people should know.
    notices: Vec<String>,
}

impl ListItem for Row {
    fn id(&self) -> String {
        self.name.clone()
    }
}

/// Prints the list.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let gathered = gathered(environment)?;
    let servers = gathered.servers(environment);
    let asked = (!arguments.offline).then_some(&servers);
    let rows = join_all(
        gathered
            .servers
            .iter()
            .map(|(name, known)| row(name, known, asked)),
    )
    .await;
    servers.close().await;
    let format = if arguments.json {
        ListFormat::Json
    } else {
        arguments.output.format
    };
    listing::print(&rows, format, listing::look(environment), table)?;
    if rows.is_empty() {
        output::print_note(
            environment,
            "no MCP servers yet: rooftree mcp add NAME -- COMMAND sets one up",
        );
    }
    for notice in rows.iter().flat_map(|row| &row.notices) {
        output::print_note(environment, notice);
    }
    Ok(Exit::DONE)
}

async fn row(name: &str, known: &ConfiguredServer, servers: Option<&McpServerPool>) -> Row {
    let mut row = Row {
        name: name.to_owned(),
        kind: if known.server.url.is_some() {
            "http"
        } else {
            "stdio"
        },
        target: target(&known.server),
        place: place(&known.place),
        status: (!known.server.enabled).then_some("off"),
        about: None,
        protocol: None,
        tools: None,
        notices: Vec::new(),
    };
    let Some(servers) = servers.filter(|_| known.server.enabled) else {
        return row;
    };
    let found = servers.inspect(name, &known.server).await;
    match found.status {
        McpServerStatus::Ready(about) => {
            (row.status, row.tools) = (Some("ready"), Some(found.tools.len()));
            (row.about, row.protocol) = (Some(about.title), Some(about.protocol));
            row.notices = found
                .notices
                .into_iter()
                .map(|notice| notice.message)
                .collect();
        }
        McpServerStatus::Failed(error) => {
            (row.status, row.about) = (Some("failed"), Some(error.to_string()))
        }
    }
    row
}

/// The program with its arguments, or the address without what may be secret in it.
fn target(server: &McpServer) -> String {
    match (&server.command, &server.url) {
        (Some(command), _) => [command]
            .into_iter()
            .chain(&server.args)
            .cloned()
            .collect::<Vec<_>>()
            .join(" "),
        (None, Some(url)) => url.split(['?', '#']).next().unwrap_or_default().to_owned(),
        (None, None) => String::new(),
    }
}

fn table(rows: &[Row]) -> TextTable {
    let mut table = TextTable::new([
        ("NAME", ColumnShrink::Stiff),
        ("STATUS", ColumnShrink::Stiff),
        ("TOOLS", ColumnShrink::Stiff),
        ("KIND", ColumnShrink::Spare),
        ("SERVER", ColumnShrink::Soft),
        ("TARGET", ColumnShrink::Spare),
        ("WRITTEN IN", ColumnShrink::Spare),
    ]);
    for row in rows {
        table.row([
            row.name.clone(),
            row.status.unwrap_or_default().to_owned(),
            row.tools.map(|count| count.to_string()).unwrap_or_default(),
            row.kind.to_owned(),
            row.about.clone().unwrap_or_default(),
            row.target.clone(),
            row.place.clone(),
        ]);
    }
    table
}
