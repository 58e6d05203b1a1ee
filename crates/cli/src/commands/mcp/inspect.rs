//! Starts one MCP server and shows its status, tools and prompts.

use clap::Args;
use rooftree_protocol::{Effect, ErrorCode, Problem};
use rooftree_tools::mcp::{Error, McpInspection, McpServerInfo, McpServerStatus};
use serde::Serialize;
use serde_json::{Value, json};

use super::gathered;
use crate::{
    environment::Environment,
    exit::Exit,
    listing::{self, PageOutput},
    output,
    table::{ColumnShrink, TextTable},
    terminal::{run_text::counted, sanitize::clean_line},
};

/// Options of `mcp test` and `mcp tools`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which server
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    output: PageOutput,
}

/// A tool as it is listed.
#[derive(Serialize)]
struct Row {
    name: String,
    effect: Effect,
    description: String,
    input_schema: Value,
}

/// Says whether it works.
pub async fn test(arguments: &Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let (about, found) = inspect(&arguments.name, environment).await?;
    let notices: Vec<&str> = found
        .notices
        .iter()
        .map(|notice| notice.message.as_str())
        .collect();
    if arguments.output.is_json() {
        let page = json!({
            "name": arguments.name,
            "status": "ready",
            "about": about.title,
            "protocol": about.protocol,
            "tools": found.tools.len(),
            "notices": notices,
        });
        output::print(&output::json_page(&page)?)?;
        return Ok(Exit::DONE);
    }
    let tools = counted(found.tools.len() as u64, "tool");
    output::print(&format!(
        "{} is ready: {}, protocol {}, {tools}\n",
        arguments.name, about.title, about.protocol
    ))?;
    notices
        .iter()
        .for_each(|notice| output::print_note(environment, notice));
    Ok(Exit::DONE)
}

/// Lists its tools.
pub async fn tools(arguments: &Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let (_, found) = inspect(&arguments.name, environment).await?;
    let row = |tool: &std::sync::Arc<dyn rooftree_tools::Tool>| {
        let spec = tool.spec().clone();
        let effect = tool.effect(&json!({}));
        Row {
            name: spec.name,
            effect,
            description: spec.description,
            input_schema: spec.input_schema,
        }
    };
    let rows: Vec<Row> = found.tools.iter().map(row).collect();
    if arguments.output.is_json() {
        output::print(&output::json_page(&rows)?)?;
    } else {
        output::print(&table(&rows).text(listing::look(environment)))?;
    }
    found
        .notices
        .iter()
        .for_each(|notice| output::print_note(environment, &notice.message));
    Ok(Exit::DONE)
}

/// Lists its prompts.
pub async fn prompts(arguments: &Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let gathered = gathered(environment)?;
    let known = gathered.named(&arguments.name)?;
    let servers = gathered.servers(environment);
    let found = servers.prompts(&arguments.name, &known.server).await;
    servers.close().await;
    let found = found.map_err(|error| unusable(&arguments.name, &error))?;
    if arguments.output.is_json() {
        output::print(&output::json_page(&found)?)?;
        return Ok(Exit::DONE);
    }
    let mut table = TextTable::new([
        ("PROMPT", ColumnShrink::Stiff),
        ("TAKES", ColumnShrink::Soft),
        ("WHAT IT SAYS IT IS FOR", ColumnShrink::Soft),
    ]);
    for prompt in found {
        let takes = prompt.arguments.iter().map(|blank| {
            let name = clean_line(&blank.name);
            if blank.required {
                name
            } else {
                format!("[{name}]")
            }
        });
        let takes = takes.collect::<Vec<_>>().join(" ");
        table.row([format!("/{}", prompt.name), takes, prompt.description]);
    }
    output::print(&table.text(listing::look(environment)))?;
    Ok(Exit::DONE)
}

async fn inspect(
    name: &str,
    environment: &Environment,
) -> Result<(McpServerInfo, McpInspection), Problem> {
    let gathered = gathered(environment)?;
    let known = gathered.named(name)?;
    let servers = gathered.servers(environment);
    let found = servers.inspect(name, &known.server).await;
    servers.close().await;
    match &found.status {
        McpServerStatus::Ready(about) => Ok((about.clone(), found)),
        McpServerStatus::Failed(error) => Err(unusable(name, error)),
    }
}

/// Why a server cannot be used, and what to do.
pub fn unusable(name: &str, error: &Error) -> Problem {
    let problem = Problem::new(
        ErrorCode::ToolFailed,
        format!("MCP server `{name}` cannot be used"),
    );
    let problem = problem.cause(error.to_string());
    match error {
        Error::Unauthorized => problem.fix(format!("rooftree mcp login {name}")),
        Error::Gone(_) | Error::NotReady(_) => problem.fix(
            "check its command; if it needs your home, \"sandbox\": \"off\" in your mcp.json lets it run unconfined",
        ),
        Error::Unfetched(_) => problem.fix(format!("set \"network\": \"on\" for `{name}` where it is written")),
        Error::Unconfined(_) => problem.fix("install bubblewrap (bwrap), see rooftree doctor"),
        _ => {
            problem.fix("check its command or address: rooftree mcp list --offline shows where it is written")
        }
    }
}

fn table(rows: &[Row]) -> TextTable {
    let mut table = TextTable::new([
        ("NAME", ColumnShrink::Stiff),
        ("EFFECT", ColumnShrink::Stiff),
        ("WHAT IT SAYS IT DOES", ColumnShrink::Soft),
    ]);
    for row in rows {
        let effect = if row.effect == Effect::ReadOnly {
            "read only"
        } else {
            "remote action"
        };
        table.row([row.name.clone(), effect.to_owned(), row.description.clone()]);
    }
    table
}
