//! The servers of tools that are set up here, the weakest first: the user's, the project's, those typed.
//!
//! A project's are used only if its folder is trusted: they are programs that would be started.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use rooftree_protocol::{ErrorCode, McpServer, Problem};
use rooftree_runtime::definitions::{Places, Trust};
use rooftree_tools::mcp::{self, Found, Servers, Setup};

use crate::{
    environment::{Environment, variable},
    settings::Settings,
    trust,
    wording::place,
};

/// Where projects write servers down, the weakest first.
const PROJECT: [&str; 3] = [".emdash/mcp.json", ".mcp.json", ".rooftree/mcp.json"];

/// A server, and where it is written.
#[derive(Clone, Debug)]
pub struct Known {
    pub server: McpServer,
    /// The file, or what was typed.
    pub place: PathBuf,
}

/// All servers of this place.
#[derive(Debug, Default)]
pub struct Gathered {
    pub servers: BTreeMap<String, Known>,
    /// What people should know about them.
    pub remarks: Vec<String>,
    /// Where programs run whose configuration does not say where.
    directory: PathBuf,
}

/// Finds them around these places. `typed` is what `--mcp-config` says: files, or JSON.
pub fn gather(
    environment: &Environment,
    places: &Places,
    settings: &Settings,
    typed: &[String],
) -> Result<Gathered, Problem> {
    let directory = places.root().unwrap_or(&environment.cwd).to_owned();
    let mut gathered = Gathered { directory, ..Gathered::default() };
    gathered.add(Found::of(&settings.servers, &variable), &environment.settings);
    gathered.file(&user_file(environment));
    if trust::of(environment, places) == Trust::Given {
        project_files(places).iter().for_each(|path| gathered.file(path));
    }
    for typed in typed {
        let (text, path) = if typed.trim_start().starts_with('{') {
            (typed.clone(), PathBuf::from("--mcp-config"))
        } else {
            let path = environment.cwd.join(typed);
            (fs::read_to_string(&path).map_err(|error| unreadable(&path, &error.to_string()))?, path)
        };
        let found = mcp::read(&text, &variable).map_err(|why| unreadable(&path, &why))?;
        gathered.add(found, &path);
    }
    Ok(gathered)
}

impl Gathered {
    fn add(&mut self, found: Found, path: &Path) {
        self.remarks.extend(found.remarks);
        let known = |server| Known { server, place: path.to_owned() };
        self.servers.extend(found.servers.into_iter().map(|(name, server)| (name, known(server))));
    }

    /// A file that is there and cannot be read is something to say, not a reason to do nothing.
    fn file(&mut self, path: &Path) {
        let Ok(text) = fs::read_to_string(path) else { return };
        match mcp::read(&text, &variable) {
            Ok(found) => self.add(found, path),
            Err(why) => self.remarks.push(format!("the MCP servers of {} are not used: {why}", place(path))),
        }
    }

    /// The one of this name.
    pub fn named(&self, name: &str) -> Result<&Known, Problem> {
        self.servers.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.servers.keys().map(String::as_str).collect();
            let problem =
                Problem::new(ErrorCode::InvalidArguments, format!("there is no MCP server `{name}`"));
            if names.is_empty() {
                problem.fix(format!("rooftree mcp add {name} -- COMMAND, or --url URL"))
            } else {
                problem.fix(format!("there are: {}", names.join(", ")))
            }
        })
    }

    /// Ready to be started when somebody needs them.
    pub fn servers(&self, environment: &Environment) -> Servers {
        Servers::new(Setup {
            directory: self.directory.clone(),
            configured: self
                .servers
                .iter()
                .map(|(name, known)| (name.clone(), known.server.clone()))
                .collect(),
            pins: Some(environment.database.with_file_name("mcp-pins.json")),
            tokens: Some(tokens_file(environment)),
            ..Setup::default()
        })
    }
}

/// Where the user's own servers are written.
pub fn user_file(environment: &Environment) -> PathBuf {
    environment.settings.with_file_name("mcp.json")
}

/// Where it is kept what people got by logging in.
pub fn tokens_file(environment: &Environment) -> PathBuf {
    environment.settings.with_file_name("mcp-tokens.json")
}

/// The files of a project that set up servers.
pub fn project_files(places: &Places) -> Vec<PathBuf> {
    let all = places.project.iter().flat_map(|place| PROJECT.map(|name| place.join(name)));
    all.filter(|path| path.is_file()).collect()
}

fn unreadable(path: &Path, why: &str) -> Problem {
    Problem::new(ErrorCode::InvalidArguments, format!("{} sets up no MCP servers", path.display()))
        .cause(why)
        .fix(r#"write {"mcpServers": {"name": {"command": "…"}}}"#)
}
