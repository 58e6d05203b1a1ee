//! Validates agent files and reports errors with file, line, column and fix.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use clap::{Args, ValueEnum};
use rooftree_protocol::{AgentDefinition, ErrorCode, Problem};
use rooftree_runtime::{
    Definitions, ProjectContext,
    definitions::{DefinitionLibrary, Diagnostic, LoadedDefinitions, ProjectTrust, Severity},
};
use serde_json::json;

use crate::{
    configured_models::ConfiguredModels,
    environment::Environment,
    exit::Exit,
    mcp_servers::{self, ConfiguredServers},
    output, project_agents, settings,
    terminal::run_text::counted,
};

/// Options of `agents validate`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Files and directories; everything that can be found here if none is named
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// How to print it
    #[arg(
        short = 'o',
        long = "output-format",
        value_enum,
        default_value_t,
        value_name = "FORMAT"
    )]
    format: ValidateFormat,
}

/// How complaints are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ValidateFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object
    Json,
}

/// Prints what is wrong. Files of a folder that is not trusted are read, but nothing they say is done.
pub fn execute(arguments: &Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let paths: Vec<PathBuf> = arguments
        .paths
        .iter()
        .map(|path| environment.cwd.join(path))
        .collect();
    if let Some(missing) = paths.iter().find(|path| !path.exists()) {
        let message = format!("there is no {}", missing.display());
        return Err(Problem::new(ErrorCode::InvalidArguments, message)
            .fix("name files or directories of agents"));
    }
    check(&paths, environment, arguments.format)
}

/// Checks these files.
pub fn files(paths: &[PathBuf], environment: &Environment) -> Result<Exit, Problem> {
    check(paths, environment, ValidateFormat::Text)
}

fn check(
    paths: &[PathBuf],
    environment: &Environment,
    format: ValidateFormat,
) -> Result<Exit, Problem> {
    let settings = settings::load(environment)?;
    let models = Arc::new(ConfiguredModels::of(environment, &settings)?);
    let library = project_agents::library(environment, &settings, &models);
    let places = library.places.clone().trusted(ProjectTrust::Given);
    let library = DefinitionLibrary { places, ..library };
    let mut loaded = if paths.is_empty() {
        library.load()
    } else {
        library.load_files(paths, None)
    };
    let servers = mcp_servers::gather(environment, &library.places, &settings, &[])?;
    let missing = missing(&library, &loaded, &names_here(&servers, &models));
    loaded.diagnostics.extend(missing);
    let errors = loaded
        .diagnostics
        .iter()
        .filter(|found| found.severity == Severity::Error)
        .count();
    let text = match format {
        ValidateFormat::Text => page(&mut loaded, errors, environment),
        ValidateFormat::Json => output::json_page(&json!({
            "agents": loaded.definitions.len(),
            "errors": errors,
            "diagnostics": loaded.diagnostics,
        }))?,
    };
    output::print(&text)?;
    Ok(if errors == 0 {
        Exit::DONE
    } else {
        Exit::CONFIG
    })
}

/// What definitions may name besides files.
struct KnownNames<'a> {
    servers: BTreeSet<&'a str>,
    providers: BTreeSet<&'a str>,
}

fn names_here<'a>(servers: &'a ConfiguredServers, models: &'a ConfiguredModels) -> KnownNames<'a> {
    KnownNames {
        servers: servers.servers.keys().map(String::as_str).collect(),
        providers: models.catalog.providers().collect(),
    }
}

impl KnownNames<'_> {
    /// Servers, providers and agents that a definition names and that are not there.
    fn missing(&self, definition: &AgentDefinition, definitions: &Definitions) -> Vec<String> {
        let own = definition.mcp_servers.iter();
        let servers = own
            .filter(|(name, server)| server.is_reference() && !self.servers.contains(name.as_str()))
            .map(|(name, _)| format!("MCP server `{name}` is not set up"));
        let model = definition.model.as_ref();
        let model = model
            .filter(|model| !self.providers.contains(model.provider.as_str()))
            .map(|model| format!("model `{model}`: there is no provider `{}`", model.provider));
        let is_plain = |name: &&String| !name.contains(['*', '?', '[', '{']);
        let listed = definition.agents.allow.iter().flatten().filter(is_plain);
        let agents = listed
            .filter(|name| !definitions.has(name))
            .map(|name| format!("agent `{name}` is not there"));
        servers.chain(model).chain(agents).collect()
    }
}

/// Rules, skills, verifiers, servers, models and agents that are named and not there.
fn missing(
    library: &DefinitionLibrary,
    loaded: &LoadedDefinitions,
    known: &KnownNames<'_>,
) -> Vec<Diagnostic> {
    let project_context = ProjectContext::read(&library.places, 0);
    let definitions = Definitions::builtin();
    for known in library.load().definitions.iter().chain(&loaded.definitions) {
        definitions.put(known.clone());
    }
    let of = |definition: &AgentDefinition| {
        let path = definition.source.path.clone().unwrap_or_default();
        let complain = move |message| Diagnostic {
            severity: Severity::Warning,
            code: "W0105",
            message,
            path: path.clone(),
            at: None,
            line: String::new(),
            help: Some("the agent works without it".into()),
        };
        project_context
            .missing(definition, &definitions)
            .into_iter()
            .chain(known.missing(definition, &definitions))
            .map(complain)
            .collect::<Vec<_>>()
    };
    loaded.definitions.iter().flat_map(of).collect()
}

/// Files that cannot be used.
fn broken(diagnostics: &[Diagnostic]) -> usize {
    let errors = diagnostics
        .iter()
        .filter(|found| found.severity == Severity::Error);
    errors
        .map(|found| &found.path)
        .collect::<BTreeSet<_>>()
        .len()
}

fn page(loaded: &mut LoadedDefinitions, errors: usize, environment: &Environment) -> String {
    for found in &mut loaded.diagnostics {
        if let Ok(short) = found.path.strip_prefix(&environment.cwd) {
            found.path = short.to_owned();
        }
    }
    let warnings = loaded.diagnostics.len() - errors;
    let told: String = loaded
        .diagnostics
        .iter()
        .map(|found| format!("{found}\n"))
        .collect();
    let agents = counted(
        (loaded.definitions.len() + broken(&loaded.diagnostics)) as u64,
        "agent",
    );
    let sum = format!(
        "{}, {}",
        counted(errors as u64, "error"),
        counted(warnings as u64, "warning")
    );
    format!("{told}{sum} in {agents}\n")
}
