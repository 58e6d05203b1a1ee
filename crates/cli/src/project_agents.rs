//! Loads the agents that can be used here, with their context: built in, the user's, the project's, command line.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use rooftree_protocol::{DefinitionLevel, ErrorCode, Limits, PermissionMode, Problem};
use rooftree_runtime::{
    ContextWatcher, Definitions, Hooks, SystemClock,
    definitions::{
        DefinitionDocument, DefinitionLibrary, Diagnostic, DocumentSyntax, LoaderContext,
        ProjectTrust, SearchDirs, Severity, TrustRecheck,
    },
};
use rooftree_tools::{ToolInfo, declarations};

use crate::{
    configured_models::ConfiguredModels,
    environment::{Environment, variable},
    hooks,
    human_format::place,
    settings::Settings,
    terminal::{run_text::counted, sanitize::clean_line},
    trust::{
        self, TrustStatus,
        content::{brought, from},
    },
};

/// Files that are named when they are not used; more are counted.
const MOST_NAMED: usize = 20;

/// Said where a folder's guard hooks are switched off because it has changed.
pub const GUARDS_OFF: &str = "hooks of this folder that guard tools are off until you trust it again, so nothing goes \
                          beyond permission mode `ask` meanwhile";

/// The agents that can be used here, with their project context, hooks and permission ceiling.
pub struct ProjectAgents {
    pub definitions: Definitions,
    pub project_context: ContextWatcher,
    /// Hooks that run before and after tool calls and at other points.
    pub hooks: Hooks,
    /// What people should know before anything runs.
    pub remarks: Vec<String>,
    /// The widest permission mode that may be used here: where a guard of the project is switched off, people are asked.
    pub widest_mode: Option<PermissionMode>,
    /// What is wrong in the document that was typed.
    wrong: Vec<String>,
}

impl ProjectAgents {
    /// The built-in agents alone, without files, hooks and settings.
    pub fn builtin() -> Self {
        Self {
            definitions: Definitions::builtin(),
            project_context: ContextWatcher::default(),
            hooks: Hooks::default(),
            remarks: Vec::new(),
            widest_mode: None,
            wrong: Vec::new(),
        }
    }

    /// All of them. `typed` is what `--agents` says: a file, or JSON.
    pub fn find(
        environment: &Environment,
        settings: &Settings,
        models: &Arc<ConfiguredModels>,
        typed: Option<&str>,
    ) -> Result<Self, Problem> {
        let mut library = library(environment, settings, models);
        let typed = typed
            .map(|typed| typed_document(environment, typed))
            .transpose()?;
        library.documents.extend(typed.clone());
        let bytes = Limits::default().instruction_bytes;
        let project_context = ContextWatcher::watching(
            library.places.clone(),
            library.recheck.clone(),
            bytes,
            Arc::new(SystemClock),
        );
        let mut remarks = project_context.current().remarks.clone();
        remarks.extend(untrusted(environment, &library.places));
        let mut found = hooks::find(environment, settings, &library.places)?;
        // What they run must still be what is trusted: another agent may be at work here.
        let brings = found
            .hooks
            .hooks
            .iter()
            .any(|hook| hook.level == DefinitionLevel::Project);
        if brings && trust::of(environment, &library.places) == ProjectTrust::Missing {
            found.without_projects();
        }
        remarks.extend(found.remarks);
        let widest_mode =
            has_inactive_guards(environment, &library.places).then_some(PermissionMode::Ask);
        let definitions = Definitions::reading(library, Arc::new(SystemClock));
        let said = match &typed {
            Some(typed) => typed_diagnostics(&definitions, &typed.path)?,
            None => Vec::new(),
        };
        remarks.extend(said.iter().map(Diagnostic::one_line));
        let wrong = said
            .iter()
            .filter(|found| found.severity == Severity::Error)
            .map(Diagnostic::one_line)
            .collect();
        remarks.extend(unusable(&definitions, typed.map(|typed| typed.path)));
        remarks.extend(hiding_builtin(&definitions));
        if widest_mode.is_some() {
            remarks.push(GUARDS_OFF.to_owned());
        }
        Ok(Self {
            definitions,
            project_context,
            hooks: found.hooks,
            remarks,
            widest_mode,
            wrong,
        })
    }

    /// Adds to the problem of an unknown agent what is wrong in the document that may have meant to define it.
    pub fn explain_unknown(&self, problem: Problem) -> Problem {
        if problem.code == ErrorCode::AgentNotFound && !self.wrong.is_empty() {
            let before = problem.cause.iter().map(String::as_str);
            let causes: Vec<&str> = before
                .chain(self.wrong.iter().map(String::as_str))
                .collect();
            return problem.clone().cause(causes.join("\n"));
        }
        problem
    }
}

/// Where to look, and what is known about models, tools and variables.
pub fn library(
    environment: &Environment,
    settings: &Settings,
    models: &Arc<ConfiguredModels>,
) -> DefinitionLibrary {
    let places = places(environment);
    let trust = trust::of(environment, &places);
    let models = models.clone();
    let loader_context = LoaderContext {
        model_resolver: Arc::new(move |name| Ok(models.resolve(name)?.choice)),
        tools: tool_names(),
        variables: Arc::new(variable),
    };
    let ask: Arc<dyn Fn() -> ProjectTrust + Send + Sync> = Arc::new({
        let (environment, places) = (environment.clone(), places.clone());
        move || trust::of(&environment, &places)
    });
    let recheck = TrustRecheck {
        ask: Some(ask),
        files: vec![trust::file(environment)],
    };
    DefinitionLibrary {
        places: places.trusted(trust),
        loader_context,
        documents: settings.agents.clone(),
        recheck,
    }
}

/// The places around the working directory. With a home of its own for the program, what other
/// programs keep in the user's home is left alone.
pub fn places(environment: &Environment) -> SearchDirs {
    let home = variable("HOME")
        .filter(|_| variable("ROOFTREE_HOME").is_none())
        .map(PathBuf::from);
    SearchDirs::around(
        &environment.cwd,
        environment.settings.parent().map(Path::to_owned),
        home,
    )
}

/// Whether the folder was trusted, has changed, and brings hooks that can refuse a tool call and are not asked now.
fn has_inactive_guards(environment: &Environment, places: &SearchDirs) -> bool {
    places.trust == ProjectTrust::Missing
        && matches!(trust::status(environment, places), TrustStatus::Changed(_))
        && hooks::of_project(places)
            .iter()
            .any(|hook| hook.point.is_gate())
}

/// What is not used, and why: all of it is named.
fn untrusted(environment: &Environment, places: &SearchDirs) -> Option<String> {
    if places.trust == ProjectTrust::Given {
        return None;
    }
    let root = places.root()?;
    let mut found: Vec<String> = brought(places)
        .iter()
        .map(|path| clean_line(&from(root, path)))
        .collect();
    if found.is_empty() {
        return None;
    }
    let more = found.len().saturating_sub(MOST_NAMED);
    found.truncate(MOST_NAMED);
    let mut named = found.join(", ");
    if more > 0 {
        named = format!("{named} and {more} more");
    }
    Some(match trust::status(environment, places) {
        TrustStatus::Changed(changes) => {
            let changes: Vec<String> = changes
                .iter()
                .map(|change| clean_line(&change.path))
                .collect();
            format!(
                "this folder has changed since you trusted it ({}), so {named} is not used; \
                 rooftree trust --show, then rooftree trust, or --trust for once, changes that",
                changes.join(", ")
            )
        }
        _ => format!(
            "this folder is not trusted, so {named} is not used; rooftree trust, or --trust for once, changes that"
        ),
    })
}

/// What cannot be used, besides the file that was typed and is reported in full.
fn unusable(definitions: &Definitions, typed: Option<PathBuf>) -> Option<String> {
    let diagnostics = definitions.diagnostics();
    let mut broken: Vec<&PathBuf> = diagnostics
        .iter()
        .filter(|found| found.severity == Severity::Error)
        .map(|found| &found.path)
        .filter(|path| Some(*path) != typed.as_ref())
        .collect();
    broken.dedup();
    (!broken.is_empty()).then(|| {
        format!(
            "{} cannot be used; rooftree agents validate says why",
            counted(broken.len() as u64, "agent file")
        )
    })
}

/// Remarks about definitions that hide a built-in agent of the same name.
fn hiding_builtin(definitions: &Definitions) -> Vec<String> {
    let hidden = definitions.hidden();
    let hidden = hidden
        .iter()
        .filter(|hidden| hidden.what.source.level == DefinitionLevel::Builtin);
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

/// What is to be said about the document that was typed. One wrong entry hides no other; a document without any usable
/// agent is an error.
fn typed_diagnostics(definitions: &Definitions, path: &Path) -> Result<Vec<Diagnostic>, Problem> {
    let mut found = definitions.diagnostics();
    found.retain(|found| found.path == path);
    let has_errors = found.iter().any(|found| found.severity == Severity::Error);
    let is_used = definitions
        .iter()
        .any(|definition| definition.source.path.as_deref() == Some(path));
    if has_errors && !is_used {
        let wrong: Vec<String> = found.iter().map(ToString::to_string).collect();
        let message = format!("{} cannot be used", path.display());
        return Err(Problem::new(ErrorCode::InvalidConfig, message)
            .cause(wrong.join("\n"))
            .fix("write {\"NAME\": {\"description\": \"…\", \"prompt\": \"…\"}}; rooftree agents validate FILE checks a file"));
    }
    Ok(found)
}

/// What `--agents` says: JSON if it begins like that, else a file.
pub fn typed_document(
    environment: &Environment,
    typed: &str,
) -> Result<DefinitionDocument, Problem> {
    let level = DefinitionLevel::Config;
    if typed.trim_start().starts_with(['{', '[']) {
        return Ok(DefinitionDocument {
            path: "--agents".into(),
            text: typed.into(),
            syntax: DocumentSyntax::Json,
            level,
        });
    }
    let path = environment.cwd.join(typed);
    let text = fs::read_to_string(&path).map_err(|error| {
        Problem::new(
            ErrorCode::InvalidArguments,
            format!("cannot read {}", path.display()),
        )
        .cause(error.to_string())
        .fix("--agents takes a TOML or JSON file, or JSON itself")
    })?;
    let syntax = if path.extension().is_some_and(|end| end == "toml") {
        DocumentSyntax::Toml
    } else {
        DocumentSyntax::Json
    };
    Ok(DefinitionDocument {
        path,
        text,
        syntax,
        level,
    })
}

/// The names of all tools, from their declarations: to make the tools takes longer than all else here.
fn tool_names() -> Arc<[Vec<String>]> {
    let names = |info: &'static ToolInfo| {
        let names = std::iter::once(info.name).chain(info.aliases.iter().copied());
        names.map(str::to_owned).collect()
    };
    declarations().map(names).collect()
}

#[cfg(test)]
mod tests {
    use rooftree_runtime::assembly::known_tools;

    use super::*;

    #[test]
    fn p_5_the_names_of_tools_are_known_without_making_them() {
        let mut known: Vec<Vec<String>> = known_tools()
            .iter()
            .map(|tool| {
                let aliases = tool.aliases().iter().map(|alias| (*alias).to_owned());
                std::iter::once(tool.spec().name.clone())
                    .chain(aliases)
                    .collect()
            })
            .collect();
        let mut declared = tool_names().to_vec();
        known.sort();
        declared.sort();
        assert_eq!(declared, known);
    }
}
