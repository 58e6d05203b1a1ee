//! The agents of this place, and what they find around them: built in, the user's, the project's, typed.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use rooftree_protocol::{Level, Limits, Problem};
use rooftree_runtime::{
    Clock, Definitions, Hooks, Surroundings, SystemClock,
    definitions::{Diagnostic, Document, Knowledge, Library, Places, Severity, Syntax, Trust},
};
use rooftree_tools::{Processes, SemanticSearch, Tool};

use crate::{
    assemble,
    environment::{Environment, variable},
    hooks,
    minds::Minds,
    servers,
    settings::Settings,
    terminal::wording::counted,
    trust,
    web::Online,
    wording::place,
};

/// Everybody who lives here.
pub struct Household {
    pub definitions: Definitions,
    pub surroundings: Arc<Surroundings>,
    /// Who is asked before and after everything.
    pub hooks: Hooks,
    /// What people should know before anything runs.
    pub remarks: Vec<String>,
}

impl Household {
    /// All of them. `typed` is what `--agents` says: a file, or JSON.
    pub fn find(
        environment: &Environment,
        settings: &Settings,
        minds: &Arc<Minds>,
        typed: Option<&str>,
    ) -> Result<Self, Problem> {
        let mut library = library(environment, settings, minds);
        let typed = typed.map(|typed| typed_document(environment, typed)).transpose()?;
        library.documents.extend(typed.clone());
        let surroundings = Surroundings::read(&library.places, Limits::default().instruction_bytes);
        let mut remarks = surroundings.remarks.clone();
        remarks.extend(untrusted(&library));
        let found = hooks::find(environment, settings, &library.places)?;
        remarks.extend(found.remarks);
        let definitions = Definitions::reading(library, Arc::new(SystemClock));
        if let Some(typed) = typed {
            refuse_wrong(&definitions.diagnostics(), &typed.path)?;
        }
        remarks.extend(unusable(&definitions));
        remarks.extend(hiding_builtin(&definitions));
        Ok(Self { definitions, surroundings: Arc::new(surroundings), hooks: found.hooks, remarks })
    }
}

/// Where to look, and what is known about models, tools and variables.
pub fn library(environment: &Environment, settings: &Settings, minds: &Arc<Minds>) -> Library {
    let places = places(environment);
    let trust = trust::of(environment, &places);
    let minds = minds.clone();
    let knowledge = Knowledge {
        naming: Arc::new(move |name| Ok(minds.resolve(name)?.choice)),
        tools: tool_names(),
        variables: Arc::new(variable),
    };
    Library { places: places.trusted(trust), knowledge, documents: settings.agents.clone() }
}

/// The places around the working directory. With a home of its own for the program, what other
/// programs keep in the user's home is left alone.
pub fn places(environment: &Environment) -> Places {
    let home = variable("HOME").filter(|_| variable("ROOFTREE_HOME").is_none()).map(PathBuf::from);
    Places::around(&environment.cwd, environment.settings.parent().map(Path::to_owned), home)
}

/// What a project brings that needs trust to be used.
pub fn brought(places: &Places) -> Vec<PathBuf> {
    let places = places.clone().trusted(Trust::Missing);
    let mut found = hooks::brought(&places);
    found.extend(Surroundings::untrusted(&places));
    found.extend(servers::project_files(&places));
    found.extend(Library { places, ..Library::default() }.untrusted());
    found
}

fn untrusted(library: &Library) -> Option<String> {
    let settings = library.documents.iter().filter(|document| document.level == Level::Project);
    let mut found: Vec<String> = settings.map(|document| place(&document.path)).collect();
    if library.places.trust == Trust::Given {
        return None;
    }
    let root = library.places.root()?;
    let brought = brought(&library.places);
    found.extend(brought.iter().map(|path| path.strip_prefix(root).unwrap_or(path).display().to_string()));
    let more = found.len().saturating_sub(3);
    found.truncate(3);
    let shown = found.join(", ");
    let shown = if more > 0 { format!("{shown} and {more} more") } else { shown };
    (!shown.is_empty()).then(|| {
        format!("this folder is not trusted, so {shown} is not used; rooftree trust, or --trust for once, changes that")
    })
}

fn unusable(definitions: &Definitions) -> Option<String> {
    let diagnostics = definitions.diagnostics();
    let mut broken: Vec<&PathBuf> = diagnostics
        .iter()
        .filter(|found| found.severity == Severity::Error)
        .map(|found| &found.path)
        .collect();
    broken.dedup();
    (!broken.is_empty()).then(|| {
        format!(
            "{} cannot be used; rooftree agents validate says why",
            counted(broken.len() as u64, "agent file")
        )
    })
}

/// Somebody who types the name of a built-in agent should know that another one answers.
fn hiding_builtin(definitions: &Definitions) -> Vec<String> {
    let hidden = definitions.hidden();
    let hidden = hidden.iter().filter(|hidden| hidden.what.source.level == Level::Builtin);
    hidden
        .map(|hidden| {
            let path = hidden.by.source.path.as_deref().map(place).unwrap_or_default();
            let name = &hidden.what.name;
            format!(
                "agent `{name}` is the one of {path}; builtin/{name} is the one that comes with the program"
            )
        })
        .collect()
}

fn refuse_wrong(diagnostics: &[Diagnostic], path: &Path) -> Result<(), Problem> {
    let wrong = diagnostics.iter().filter(|found| found.path == path && found.severity == Severity::Error);
    let wrong: Vec<String> = wrong.map(ToString::to_string).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    let message = format!("{} cannot be used", path.display());
    Err(Problem::new(rooftree_protocol::ErrorCode::InvalidConfig, message).cause(wrong.join("\n")))
}

/// What `--agents` says: JSON if it begins like that, else a file.
fn typed_document(environment: &Environment, typed: &str) -> Result<Document, Problem> {
    let level = Level::Config;
    if typed.trim_start().starts_with(['{', '[']) {
        return Ok(Document { path: "--agents".into(), text: typed.into(), syntax: Syntax::Json, level });
    }
    let path = environment.cwd.join(typed);
    let text = fs::read_to_string(&path).map_err(|error| {
        Problem::new(
            rooftree_protocol::ErrorCode::InvalidArguments,
            format!("cannot read {}", path.display()),
        )
        .cause(error.to_string())
        .fix("--agents takes a TOML or JSON file, or JSON itself")
    })?;
    let syntax = if path.extension().is_some_and(|end| end == "toml") { Syntax::Toml } else { Syntax::Json };
    Ok(Document { path, text, syntax, level })
}

fn tool_names() -> Arc<[Vec<String>]> {
    let processes = Arc::new(Processes::new(|| SystemClock.entropy()));
    let tools = assemble::tools(&processes, SemanticSearch::new(None), Online::default());
    let names = |tool: &Arc<dyn Tool>| {
        let aliases = tool.aliases().iter().map(|alias| (*alias).to_owned());
        std::iter::once(tool.spec().name.clone()).chain(aliases).collect()
    };
    tools.iter().map(names).collect()
}
