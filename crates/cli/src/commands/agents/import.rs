//! Imports agents of another program: converts them and writes new files.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::{Args, ValueEnum};
use rooftree_protocol::{AgentDefinition, AgentDialect, ErrorCode, Problem};
use rooftree_runtime::definitions::{
    DefinitionLibrary, LoadedDefinitions, LoaderContext, Severity, written,
};
use serde_json::Value;

use super::{
    import_schedules,
    location::{AgentFileLocation, write_new},
};
use crate::{
    configured_models::ConfiguredModels, environment::Environment, exit::Exit, failure, output,
    project_agents, settings, terminal::run_text::counted, trust,
};

/// Options of `agents import`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Whose agents they are
    #[arg(value_enum, value_name = "PROGRAM")]
    program: AgentImportSource,
    /// A file, or a directory of files
    #[arg(value_name = "PATH")]
    pub(super) path: PathBuf,
    #[command(flatten)]
    place: AgentFileLocation,
}

/// Programs whose agents can be taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AgentImportSource {
    Claude,
    Opencode,
    Emdash,
    Koda,
    Goose,
    Assistant,
    Daycare,
}

/// Reads them, says what was lost, and writes files that were not there.
pub async fn execute(arguments: &Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let path = environment.cwd.join(&arguments.path);
    if !path.exists() {
        return Err(Problem::new(
            ErrorCode::InvalidArguments,
            format!("there is no {}", path.display()),
        )
        .fix("name a project, a directory of agent files, or one file"));
    }
    let mut loaded = read(arguments.program, &path, environment)?;
    for found in &loaded.diagnostics {
        output::print_note(environment, &found.to_string());
    }
    let library = library(environment)?;
    let directory = arguments.place.directory(environment);
    let mut made = 0;
    let mut failed = loaded
        .diagnostics
        .iter()
        .filter(|found| found.severity == Severity::Error)
        .count();
    loaded
        .definitions
        .iter_mut()
        .for_each(without_unsupported_hooks);
    for definition in &loaded.definitions {
        let made_file =
            trust::with_own_file(environment, &project_agents::places(environment), || {
                let path = write_new(&directory, &definition.name, &written(definition))?;
                validated(&library, &path)?;
                Ok((path.clone(), path))
            });
        match made_file {
            Ok(path) => {
                made += 1;
                output::print(&format!("{}\n", path.display()))?;
            }
            Err(problem) => {
                failed += 1;
                output::print_note(
                    environment,
                    &failure::in_words(&Problem {
                        message: format!("{}: {}", definition.name, problem.message),
                        ..problem
                    }),
                );
            }
        }
    }
    if arguments.program == AgentImportSource::Daycare {
        failed += import_schedules::execute(&library, &path, environment).await?;
    }
    output::print_note(environment, &format!("imported {}", counted(made, "agent")));
    if made == 0 && failed == 0 {
        let looked = below(arguments.program, &path);
        output::print_note(
            environment,
            &format!("looked for files with agents in {}", looked.display()),
        );
    }
    Ok(if failed == 0 && made > 0 {
        Exit::DONE
    } else {
        Exit::CONFIG
    })
}

/// Leaves out hooks of types that are not run here; reading them has warned of each. The others stay as they are.
fn without_unsupported_hooks(definition: &mut AgentDefinition) {
    let Some(Value::Object(events)) = &mut definition.hooks else {
        return;
    };
    let is_supported = |hook: &Value| {
        let kind = hook.get("type").and_then(Value::as_str);
        matches!(kind, None | Some("command" | "http"))
    };
    for groups in events.values_mut().filter_map(Value::as_array_mut) {
        for group in groups.iter_mut() {
            if let Some(Value::Array(hooks)) = group.get_mut("hooks") {
                hooks.retain(is_supported);
            }
        }
        groups.retain(|group| group.get("hooks") != Some(&Value::Array(Vec::new())));
    }
    events.retain(|_, groups| *groups != Value::Array(Vec::new()));
    if events.is_empty() {
        definition.hooks = None;
    }
}

fn library(environment: &Environment) -> Result<DefinitionLibrary, Problem> {
    let settings = settings::load(environment)?;
    let models = Arc::new(ConfiguredModels::of(environment, &settings)?);
    Ok(project_agents::library(environment, &settings, &models))
}

/// Reads a file that was just written as `agents validate` does, and removes it if it holds an error.
fn validated(library: &DefinitionLibrary, path: &PathBuf) -> Result<(), Problem> {
    let loaded = library.load_files(std::slice::from_ref(path), None);
    let mut errors = loaded
        .diagnostics
        .iter()
        .filter(|found| found.severity == Severity::Error);
    let Some(error) = errors.next() else {
        return Ok(());
    };
    let _ = fs::remove_file(path);
    Err(Problem::new(
        ErrorCode::InvalidConfig,
        "it cannot be written so that it is valid here",
    )
    .cause(error.message.clone())
    .fix("change that in the original, or leave it out, and import it again"))
}

fn read(
    program: AgentImportSource,
    path: &Path,
    environment: &Environment,
) -> Result<LoadedDefinitions, Problem> {
    let library = library(environment)?;
    // Keys stay where they are: what is written names the variable, not what is in it.
    let variables = Arc::new(|name: &str| Some(format!("${{{name}}}")));
    // A model that cannot be had here is still the one that was meant.
    let model_resolver = library.loader_context.model_resolver.clone();
    let model_resolver = Arc::new(move |name: &str| {
        model_resolver(name).or_else(|problem| name.parse().map_err(|_| problem))
    });
    let loader_context = LoaderContext {
        variables,
        model_resolver,
        ..library.loader_context.clone()
    };
    let library = DefinitionLibrary {
        loader_context,
        ..library
    };
    let dialect = match program {
        AgentImportSource::Claude | AgentImportSource::Opencode => AgentDialect::Fourmis,
        AgentImportSource::Emdash => AgentDialect::Emdash,
        AgentImportSource::Koda => AgentDialect::Koda,
        AgentImportSource::Assistant => AgentDialect::Assistant,
        AgentImportSource::Goose => return Ok(library.import_goose(path)),
        AgentImportSource::Daycare => return Ok(library.import_daycare(path)),
    };
    Ok(library.load_files(&[below(program, path)], Some(dialect)))
}

/// Where a program keeps its agents below a project's directory; the path itself if it names them already.
fn below(program: AgentImportSource, path: &Path) -> PathBuf {
    let usual: &[&str] = match program {
        AgentImportSource::Claude => &[".claude/agents"],
        AgentImportSource::Opencode => &[".opencode/agent", ".opencode/agents", "opencode.json"],
        AgentImportSource::Emdash => &[".emdash/agents"],
        _ => &[],
    };
    let found = usual
        .iter()
        .map(|name| path.join(name))
        .find(|path| path.exists());
    found.unwrap_or_else(|| path.to_owned())
}
