//! Collects the configured MCP servers, lowest precedence first: the user's, the project's, the command line's.
//!
//! A project's are used only if its folder is trusted: they are programs that would be started.

mod opencode;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use rooftree_protocol::{ErrorCode, McpServer, Problem, SandboxMode};
use rooftree_runtime::{
    Definitions,
    definitions::{ProjectTrust, SearchDirs},
};
use rooftree_tools::{
    SandboxConfig, WebConfig,
    mcp::{self, McpConfigFile, McpServerPool, McpSetup},
};

use crate::{
    environment::{Environment, variable},
    human_format::place,
    sandbox::confining,
    settings::Settings,
    trust,
};

/// Where projects write servers down, the weakest first.
const PROJECT: [&str; 4] = [
    OPENCODE,
    ".emdash/mcp.json",
    ".mcp.json",
    ".rooftree/mcp.json",
];

/// The settings of opencode, whose servers have a form of their own.
const OPENCODE: &str = "opencode.json";

/// A server, and where it is written.
#[derive(Clone, Debug)]
pub struct ConfiguredServer {
    pub server: McpServer,
    /// The file, or what was typed.
    pub place: PathBuf,
}

/// All servers of this place.
#[derive(Default)]
pub struct ConfiguredServers {
    pub servers: BTreeMap<String, ConfiguredServer>,
    /// What people should know about them.
    pub remarks: Vec<String>,
    /// Where programs run whose configuration does not say where.
    directory: PathBuf,
    /// How they are confined.
    pub confining: SandboxConfig,
    /// Which hosts they can reach at all.
    web: WebConfig,
}

/// Finds them around these places. `typed` is what `--mcp-config` says: files, or JSON.
pub fn gather(
    environment: &Environment,
    places: &SearchDirs,
    settings: &Settings,
    typed: &[String],
) -> Result<ConfiguredServers, Problem> {
    let directory = places.root().unwrap_or(&environment.cwd).to_owned();
    let confining = confining(None, None, settings, environment.private());
    let web = WebConfig {
        allow_private: settings.web.allow_private.clone(),
        ..WebConfig::default()
    };
    let mut gathered = ConfiguredServers {
        directory,
        confining,
        web,
        ..ConfiguredServers::default()
    };
    gathered.add(
        McpConfigFile::of(&settings.servers, &variable),
        &environment.settings,
    );
    gathered.file(&user_file(environment), ServerFileOwner::Person);
    if trust::of(environment, places) == ProjectTrust::Given {
        project_files(places)
            .iter()
            .for_each(|path| gathered.file(path, ServerFileOwner::Project));
    }
    for typed in typed {
        let (text, path) = if typed.trim_start().starts_with('{') {
            (typed.clone(), PathBuf::from("--mcp-config"))
        } else {
            let path = environment.cwd.join(typed);
            (
                fs::read_to_string(&path).map_err(|error| unreadable(&path, &error.to_string()))?,
                path,
            )
        };
        let mut found =
            mcp::read_config(&text, &variable).map_err(|why| unreadable(&path, &why))?;
        if path.starts_with(&gathered.directory) {
            confine(&mut found, &path);
        }
        gathered.add(found, &path);
    }
    Ok(gathered)
}

impl ConfiguredServers {
    fn add(&mut self, found: McpConfigFile, path: &Path) {
        self.remarks.extend(found.remarks);
        let known = |server| ConfiguredServer {
            server,
            place: path.to_owned(),
        };
        self.servers.extend(
            found
                .servers
                .into_iter()
                .map(|(name, server)| (name, known(server))),
        );
    }

    /// A file that is there and cannot be read is something to say, not a reason to do nothing.
    fn file(&mut self, path: &Path, whose: ServerFileOwner) {
        let Ok(text) = fs::read_to_string(path) else {
            return;
        };
        let read = if path.ends_with(OPENCODE) {
            opencode::read(&text, &variable)
        } else {
            mcp::read_config(&text, &variable)
        };
        match read {
            Ok(mut found) => {
                if whose == ServerFileOwner::Project {
                    confine(&mut found, path);
                }
                self.add(found, path);
            }
            Err(why) => self.remarks.push(format!(
                "the MCP servers of {} are not used: {why}",
                place(path)
            )),
        }
    }

    /// The one of this name.
    pub fn named(&self, name: &str) -> Result<&ConfiguredServer, Problem> {
        self.servers.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.servers.keys().map(String::as_str).collect();
            let problem = Problem::new(
                ErrorCode::InvalidArguments,
                format!("there is no MCP server `{name}`"),
            );
            if names.is_empty() {
                problem.fix(format!("rooftree mcp add {name} -- COMMAND, or --url URL"))
            } else {
                problem.fix(format!("there are: {}", names.join(", ")))
            }
        })
    }

    /// The pool of servers, each started when it is first needed.
    pub fn servers(&self, environment: &Environment) -> McpServerPool {
        McpServerPool::new(self.setup(environment))
    }

    /// Secrets that these servers and those of agents are configured with.
    pub fn confided(&self, definitions: &Definitions) -> Vec<(String, String)> {
        let own = self
            .servers
            .iter()
            .flat_map(|(name, known)| confided(name, &known.server));
        let brought = definitions.iter().flat_map(|definition| {
            let servers = definition.mcp_servers.iter();
            servers
                .flat_map(|(name, server)| confided(name, server))
                .collect::<Vec<_>>()
        });
        own.chain(brought).collect()
    }

    /// What they are made of.
    pub fn setup(&self, environment: &Environment) -> McpSetup {
        McpSetup {
            directory: self.directory.clone(),
            configured: self
                .servers
                .iter()
                .map(|(name, known)| (name.clone(), known.server.clone()))
                .collect(),
            pins: Some(environment.database.with_file_name("mcp-pins.json")),
            tokens: Some(tokens_file(environment)),
            confining: self.confining.clone(),
            web: self.web.clone(),
            homes: Some(environment.database.with_file_name("mcp-homes")),
            ..McpSetup::default()
        }
    }
}

/// Who has written a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ServerFileOwner {
    Person,
    Project,
}

/// A project must not loosen the sandbox of a server it brings.
fn confine(found: &mut McpConfigFile, path: &Path) {
    for (name, server) in &mut found.servers {
        if server
            .sandbox
            .take_if(|own| *own == SandboxMode::Off)
            .is_some()
        {
            found.remarks.push(format!(
                "MCP server `{name}` runs confined all the same: {} belongs to the project; \
                 \"sandbox\": \"off\" counts in your own mcp.json",
                place(path)
            ));
        }
        if !std::mem::take(&mut server.writable).is_empty() {
            found.remarks.push(format!(
                "MCP server `{name}` changes nothing outside the project: {} belongs to it; \
                 \"writable\" counts in your own mcp.json",
                place(path)
            ));
        }
    }
}

/// Secrets of the user's own servers, and tokens from logging in.
pub fn kept(environment: &Environment, settings: &Settings) -> Vec<(String, String)> {
    let mut gathered = ConfiguredServers::default();
    gathered.add(
        McpConfigFile::of(&settings.servers, &variable),
        &environment.settings,
    );
    gathered.file(&user_file(environment), ServerFileOwner::Person);
    let own = gathered
        .servers
        .iter()
        .flat_map(|(name, known)| confided(name, &known.server));
    own.chain(mcp::stored_tokens(&tokens_file(environment)))
        .collect()
}

fn confided(name: &str, server: &McpServer) -> Vec<(String, String)> {
    let named = |(what, value): (String, String)| (format!("{what} of MCP server {name}"), value);
    mcp::server_secrets(server).into_iter().map(named).collect()
}

/// Where the user's own servers are written.
pub fn user_file(environment: &Environment) -> PathBuf {
    environment.settings.with_file_name("mcp.json")
}

/// The file of tokens from logging in.
pub fn tokens_file(environment: &Environment) -> PathBuf {
    environment.settings.with_file_name("mcp-tokens.json")
}

/// The files of a project that set up servers.
pub fn project_files(places: &SearchDirs) -> Vec<PathBuf> {
    let all = places
        .project
        .iter()
        .flat_map(|place| PROJECT.map(|name| place.join(name)));
    all.filter(|path| path.is_file()).collect()
}

fn unreadable(path: &Path, why: &str) -> Problem {
    Problem::new(
        ErrorCode::InvalidArguments,
        format!("{} sets up no MCP servers", path.display()),
    )
    .cause(why)
    .fix(r#"write {"mcpServers": {"name": {"command": "…"}}}"#)
}
