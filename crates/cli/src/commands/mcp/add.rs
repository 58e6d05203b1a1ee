//! Adds an MCP server, for the user or for the project.

use std::path::Path;

use clap::Args;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_runtime::definitions::is_name;
use rooftree_tools::mcp::McpConfigFile;
use serde_json::{Map, Value, json};

use super::edit_file;
use crate::{
    environment::{Environment, variable},
    exit::Exit,
    human_format::place,
    mcp_servers::user_file,
    output, project_agents, trust,
};

/// Options of `mcp add`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// What to call it
    #[arg(value_name = "NAME")]
    pub(super) name: String,
    /// Its address, for a server elsewhere
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,
    /// A header to send along, e.g. 'Authorization: Bearer ${TOKEN}'; may be repeated
    #[arg(long, value_name = "NAME: VALUE", requires = "url")]
    header: Vec<String>,
    /// A variable for its environment, e.g. 'TOKEN=${TOKEN}'; may be repeated
    #[arg(short, long, value_name = "NAME=VALUE", conflicts_with = "url")]
    env: Vec<String>,
    /// Seconds a call may take
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..1_000))]
    timeout: Option<u64>,
    /// Believe it when it says that a tool only looks
    #[arg(long)]
    trust_hints: bool,
    /// Write it into the project's .mcp.json, for all who work on it
    #[arg(long)]
    project: bool,
    /// Replace one of the same name
    #[arg(long)]
    force: bool,
    /// The program and its arguments, after --
    #[arg(value_name = "COMMAND", last = true)]
    command: Vec<String>,
}

/// Does it. Variables are written as they are typed, and replaced when the server is started.
pub fn execute(arguments: &Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let name = &arguments.name;
    if !is_name(name) {
        return Err(wrong(format!("`{name}` cannot be the name of a server"))
            .fix("letters, digits, `-` and `_`, beginning with a letter or digit, 64 at most"));
    }
    let server = server(arguments)?;
    let found = McpConfigFile::of(&Map::from_iter([(name.clone(), server.clone())]), &variable);
    if !found.servers.contains_key(name) {
        return Err(wrong(found.remarks.join("\n")));
    }
    found
        .remarks
        .iter()
        .for_each(|remark| output::print_note(environment, remark));
    let path = match project_agents::places(environment)
        .root()
        .filter(|_| arguments.project)
    {
        Some(root) => root.join(".mcp.json"),
        None => user_file(environment),
    };
    let is_new = trust::with_own_file(environment, &project_agents::places(environment), || {
        let is_new = edit_file::change(&path, |servers| {
            let is_new = arguments.force || !servers.contains_key(name);
            if is_new {
                servers.insert(name.clone(), server);
            }
            is_new
        })?;
        Ok((is_new, path.clone()))
    })?;
    if !is_new {
        return Err(
            wrong(format!("{} has a server `{name}` already", place(&path)))
                .fix("--force replaces it"),
        );
    }
    output::print_note(
        environment,
        &format!(
            "`{name}` is set up in {}; try it: rooftree mcp test {name}",
            place(&path)
        ),
    );
    Ok(Exit::DONE)
}

fn server(arguments: &Arguments) -> Result<Value, Problem> {
    let mut server = match (&arguments.url, arguments.command.split_first()) {
        (Some(url), _) => json!({ "type": "http", "url": url }),
        (None, Some((command, args))) => json!({ "command": command, "args": args }),
        (None, None) => {
            let example = format!(
                "rooftree mcp add {} -- npx -y @modelcontextprotocol/server-memory",
                arguments.name
            );
            return Err(wrong("there is neither a program nor an address").fix(example));
        }
    };
    let headers = pairs(&arguments.header, ':')?;
    let variables = pairs(&arguments.env, '=')?;
    for (field, value) in [("headers", headers), ("env", variables)] {
        if let Some(entries) = server.as_object_mut().filter(|_| !value.is_empty()) {
            entries.insert(field.to_owned(), Value::Object(value));
        }
    }
    if let Some(entries) = server.as_object_mut() {
        // A directory named in the command of the user's own server becomes writable for it.
        let named = arguments
            .command
            .iter()
            .skip(1)
            .filter(|word| is_handed_over(word, arguments.project));
        let named: Vec<&String> = named.collect();
        entries.extend((!named.is_empty()).then(|| ("writable".to_owned(), json!(named))));
        entries.extend(
            arguments
                .timeout
                .map(|seconds| ("timeout".to_owned(), json!(seconds))),
        );
        entries.extend(
            arguments
                .trust_hints
                .then(|| ("trustHints".to_owned(), json!(true))),
        );
    }
    Ok(server)
}

fn is_handed_over(word: &str, is_project: bool) -> bool {
    !is_project && Path::new(word).is_absolute() && Path::new(word).is_dir()
}

fn pairs(written: &[String], between: char) -> Result<Map<String, Value>, Problem> {
    let pair = |text: &String| {
        let (name, value) = text.split_once(between).ok_or_else(|| {
            let name = text.split_whitespace().next().unwrap_or_default();
            wrong(format!(
                "`{name}` has no `{between}` between name and value"
            ))
        })?;
        Ok((
            name.trim().to_owned(),
            Value::String(value.trim().to_owned()),
        ))
    };
    written.iter().map(pair).collect()
}

fn wrong(what: impl Into<String>) -> Problem {
    Problem::new(ErrorCode::InvalidArguments, what)
}
