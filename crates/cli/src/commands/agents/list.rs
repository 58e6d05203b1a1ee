//! Lists the agents that can be used here, and those that are hidden by them.

use std::sync::Arc;

use clap::Args;
use rooftree_client::{RuntimeClient, SessionQuery};
use rooftree_protocol::{AgentDefinition, Problem, Timestamp};
use rooftree_runtime::{Clock, SystemClock, definitions::ShadowedDefinition};
use rooftree_tools::declared;
use serde::Serialize;

use super::{AgentsContext, mode, source};
use crate::{
    environment::Environment,
    exit::Exit,
    human_format::{ago, place},
    listing::{self, ListFormat, ListItem, ListOutput},
    output,
    server_connection::ServerConnection,
    table::{ColumnShrink, TextTable},
    terminal::run_text::model,
};

/// Options of `agents list`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Also those that are hidden from lists
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    output: ListOutput,
}

/// An agent, and when it was last at work.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    definition: Arc<AgentDefinition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    used_at: Option<Timestamp>,
}

impl ListItem for Row {
    fn id(&self) -> String {
        self.definition.name.clone()
    }
}

/// Prints the list.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let server = ServerConnection::of(environment)?;
    let client = environment.client()?;
    let (mut definitions, mut notes) = (Vec::new(), Vec::new());
    if let Some(server) = &server {
        definitions.extend(server.client.agents().await?.into_iter().map(Arc::new));
    } else {
        let here = AgentsContext::look(environment)?;
        definitions = here.project.definitions.all();
        notes.extend(here.project.definitions.hidden().iter().map(overridden));
        notes.extend(here.project.remarks);
    }
    let mut rows = Vec::new();
    for definition in definitions {
        if arguments.all || !definition.hidden {
            let used_at = used_at(client.as_deref(), &definition.name).await?;
            rows.push(Row {
                definition: Arc::new(super::show::without_secrets(&definition)),
                used_at,
            });
        }
    }
    listing::print(
        &rows,
        arguments.output.format,
        listing::look(environment),
        table,
    )?;
    if arguments.output.format == ListFormat::Table {
        for note in &notes {
            output::print_note(environment, note);
        }
    }
    Ok(Exit::DONE)
}

async fn used_at(
    client: Option<&dyn RuntimeClient>,
    agent: &str,
) -> Result<Option<Timestamp>, Problem> {
    let Some(client) = client else {
        return Ok(None);
    };
    let query = SessionQuery {
        agent: Some(agent.to_owned()),
        delegated: true,
        limit: Some(1),
        ..SessionQuery::default()
    };
    let found = client.sessions(query).await?;
    Ok(found.first().map(|session| session.updated_at))
}

fn table(rows: &[Row]) -> TextTable {
    let now = SystemClock.now();
    let mut table = TextTable::new([
        ("NAME", ColumnShrink::Stiff),
        ("SOURCE", ColumnShrink::Stiff),
        ("MODEL", ColumnShrink::Soft),
        ("TOOLS", ColumnShrink::Soft),
        ("MODE", ColumnShrink::Spare),
        ("USED", ColumnShrink::Spare),
        ("WHAT FOR", ColumnShrink::Soft),
    ]);
    for Row {
        definition,
        used_at,
    } in rows
    {
        let icon = definition
            .look
            .get("icon")
            .and_then(|icon| icon.as_str())
            .unwrap_or("·");
        let model = definition
            .model
            .as_ref()
            .map_or("(default)".to_owned(), |choice| model(&choice.to_string()));
        table.row([
            format!("{icon} {}", definition.name),
            source(definition).to_owned(),
            model,
            tools(definition),
            mode(definition).to_owned(),
            used_at.map_or("—".to_owned(), |at| ago(now, at)),
            definition.description.clone(),
        ]);
    }
    table
}

/// The tools in few words: `all`, `none`, `read-only 5`, `Read Glob…4`.
fn tools(definition: &AgentDefinition) -> String {
    let scope = &definition.tools;
    let less = if scope.deny.is_empty() {
        String::new()
    } else {
        format!(" without {}", scope.deny.join(" "))
    };
    let names = match scope.allow.as_deref() {
        None => "all".to_owned(),
        Some([]) => return "none".to_owned(),
        Some(names) if names.iter().all(|name| declared(name).only_reads_files()) => {
            format!("read-only {}", names.len())
        }
        Some(names @ ([_] | [_, _])) => names.join(" "),
        Some(names) => {
            format!(
                "{}…{}",
                names.iter().take(2).cloned().collect::<Vec<_>>().join(" "),
                names.len()
            )
        }
    };
    names + &less
}

fn overridden(hidden: &ShadowedDefinition) -> String {
    let ShadowedDefinition { by, what } = hidden;
    let path = what
        .source
        .path
        .as_deref()
        .map(|path| format!(" ({})", place(path)))
        .unwrap_or_default();
    format!(
        "overridden: {} {} hides {} {}{path}",
        source(by),
        by.name,
        source(what),
        what.name
    )
}
