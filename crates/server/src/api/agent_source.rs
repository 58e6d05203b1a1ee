//! Reads and writes the source of an agent's definition, a row of the store or a Markdown file, guarded by its etag.

use axum::http::{HeaderMap, StatusCode, header::IF_MATCH};
use rooftree_protocol::{AgentDefinition, DefinitionLevel, ErrorCode, Principal, Problem};
use rooftree_runtime::{
    AgentChange, AgentChangeOutcome, AuditedFileChange,
    definitions::{Diagnostic, Severity},
};
use rooftree_store::{AgentRow, blob_id};

use super::{ApiProblem, ApiState, agent_types::DefinitionDiagnostic};

/// What an agent's definition is written in.
pub(super) enum AgentSource {
    /// A row that was made here.
    Row(Box<AgentRow>),
    /// A Markdown file.
    File(String),
    /// Something that is not changed here.
    Fixed,
}

impl AgentSource {
    /// Names what it is now.
    pub(super) fn etag(&self) -> Option<String> {
        match self {
            Self::Row(row) => Some(format!("\"r{}\"", row.revision)),
            Self::File(text) => Some(format!("\"{}\"", blob_id(text.as_bytes()))),
            Self::Fixed => None,
        }
    }
}

/// Where the definition that counts is written.
pub(super) async fn source(
    state: &ApiState,
    who: &Principal,
    definition: &AgentDefinition,
) -> Result<AgentSource, ApiProblem> {
    let is_markdown = |path: &&std::path::PathBuf| path.extension().is_some_and(|end| end == "md");
    let level = definition.source.level;
    if level == DefinitionLevel::Api {
        let rows = state.options.handle.queries(who).api_agents().await?;
        let name = definition.name.to_lowercase();
        let row = rows.into_iter().find(|row| row.name == name);
        return Ok(row.map_or(AgentSource::Fixed, |row| AgentSource::Row(Box::new(row))));
    }
    let is_file = matches!(level, DefinitionLevel::User | DefinitionLevel::Project);
    match definition.source.path.as_ref().filter(is_markdown) {
        Some(path) if is_file => match tokio::fs::read_to_string(path).await {
            Ok(text) => Ok(AgentSource::File(text)),
            Err(_) => Ok(AgentSource::Fixed),
        },
        _ => Ok(AgentSource::Fixed),
    }
}

/// Invariant: nothing is changed that is not as the caller has read it.
pub(super) fn check_etag(
    source: &AgentSource,
    headers: &HeaderMap,
    name: &str,
) -> Result<(), ApiProblem> {
    let Some(etag) = source.etag() else {
        return Ok(());
    };
    let given = headers.get(IF_MATCH).and_then(|given| given.to_str().ok());
    match given {
        Some(given) if given.split(',').any(|one| one.trim() == etag) => Ok(()),
        Some(_) => Err(
            ApiProblem::conflict(format!("{name} was changed meanwhile"))
                .with_status(StatusCode::PRECONDITION_FAILED),
        ),
        None => {
            let problem = Problem::new(ErrorCode::InvalidArguments, "this needs If-Match")
                .fix(format!("GET /agents/{name} tells the etag to send"));
            Err(ApiProblem::new(StatusCode::PRECONDITION_REQUIRED, problem))
        }
    }
}

pub(super) async fn write_row(
    state: &ApiState,
    who: &Principal,
    row: &AgentRow,
    text: Option<String>,
) -> Result<(), ApiProblem> {
    let change = AgentChange {
        name: row.name.clone(),
        text,
        expected: Some(row.revision),
    };
    match state.options.handle.change_agent(who, change).await? {
        AgentChangeOutcome::Changed(_) => Ok(()),
        AgentChangeOutcome::Differs(_) => Err(ApiProblem::conflict(format!(
            "{} was changed meanwhile",
            row.name
        ))
        .with_status(StatusCode::PRECONDITION_FAILED)),
        AgentChangeOutcome::Invalid(found) => Err(invalid(&found)),
    }
}

/// Replaces the file, if the text defines the agent it belongs to.
pub(super) async fn write_file(
    state: &ApiState,
    who: &Principal,
    definition: &AgentDefinition,
    text: &str,
) -> Result<(), ApiProblem> {
    let Some(path) = definition.source.path.clone() else {
        return Err(fixed(definition));
    };
    let loaded = state
        .options
        .definitions
        .parse(&path, text, definition.source.level);
    let is_error = |found: &Diagnostic| found.severity == Severity::Error;
    let names = loaded.definitions.first().map(|found| found.name.clone());
    if loaded.diagnostics.iter().any(is_error) || names.as_ref() != Some(&definition.name) {
        return Err(invalid(&loaded.diagnostics));
    }
    let change = AuditedFileChange {
        action: "agent.write",
        subject: path.display().to_string(),
    };
    let (catalog, text) = (state.options.catalog.clone(), text.to_owned());
    let write = async move {
        let write = move || catalog.write_agent_file(&path, &text);
        let written = tokio::task::spawn_blocking(write).await;
        written.unwrap_or_else(|error| Err(Problem::new(ErrorCode::StoreFailed, error.to_string())))
    };
    let written = state.options.handle.change_files(who, change, write);
    Ok(written.await?)
}

pub(super) fn fixed(definition: &AgentDefinition) -> ApiProblem {
    let message = format!("{} is not changed here", definition.name);
    let problem = Problem::new(ErrorCode::Conflict, message)
        .cause("it comes with the program, from settings or from a file that is not Markdown")
        .fix("make an agent of your own that extends it: POST /agents");
    ApiProblem::new(StatusCode::CONFLICT, problem)
}

pub(super) fn invalid(found: &[Diagnostic]) -> ApiProblem {
    let problem = Problem::new(
        ErrorCode::InvalidConfig,
        "the text is not a definition that can be used",
    );
    let cause = found.first().map(|first| first.message.clone());
    let problem = Problem { cause, ..problem };
    ApiProblem::from(problem)
        .at("/text")
        .diagnosed(diagnosed(found))
}

pub(super) fn diagnosed(found: &[Diagnostic]) -> Vec<DefinitionDiagnostic> {
    found.iter().map(DefinitionDiagnostic::from).collect()
}
