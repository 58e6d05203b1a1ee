//! Agents: lists, shows, checks, makes, changes and removes them.
//!
//! Agents made here are rows of the store. Those of Markdown files are changed in the file, with an entry in the audit
//! log before and after. Both need the revision that was read, so that nobody overwrites what he has not seen.

use std::{path::Path as FilePath, sync::Arc};

use axum::{
    Json,
    extract::{Path, State},
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{CONTENT_TYPE, ETAG, IF_MATCH},
    },
    response::{IntoResponse, Response},
};
use rooftree_protocol::{
    AccessScope, AgentDefinition, DefinitionLevel, ErrorCode, Principal, Problem,
    api_paths::{AGENT, AGENT_EFFECTIVE, AGENT_FILE, AGENT_VALIDATE, AGENTS},
};
use rooftree_runtime::{
    AgentChange, AgentChangeOutcome, AuditedFileChange,
    definitions::{Diagnostic, LoadedDefinitions, Severity, written},
};
use rooftree_store::{AgentRow, blob_id};

use super::{
    ApiProblem, ApiState,
    access::RequestPrincipal,
    agent_types::{
        AgentCheck, AgentDetail, AgentItem, AgentList, AgentText, DefinitionDiagnostic, NewAgent,
        without_secrets,
    },
    extract::JsonBody,
    route_table::ApiRoute,
};
use crate::catalog::EffectiveAgentReport;

pub(super) fn routes() -> Vec<ApiRoute> {
    let (read, admin) = (AccessScope::Read, AccessScope::Admin);
    let etag = "The etag of the definition that was read";
    vec![
        ApiRoute::get(AGENTS, list)
            .needs(read, "Lists agents")
            .answers::<AgentList>(200),
        ApiRoute::post(AGENTS, create)
            .needs(admin, "Makes an agent; it can be used at once")
            .body::<NewAgent>()
            .answers::<AgentDetail>(201)
            .fails(&[409]),
        ApiRoute::post(AGENT_VALIDATE, validate)
            .needs(admin, "Checks the text of a definition without keeping it")
            .body::<NewAgent>()
            .answers::<AgentCheck>(200),
        ApiRoute::get(AGENT, show)
            .needs(read, "Shows one agent")
            .answers::<AgentDetail>(200),
        ApiRoute::put(AGENT, change)
            .needs(
                admin,
                "Changes an agent made here, or the Markdown file it is in",
            )
            .header("If-Match", etag)
            .body::<AgentText>()
            .answers::<AgentDetail>(200)
            .fails(&[409, 412, 428]),
        ApiRoute::delete(AGENT, remove)
            .needs(
                admin,
                "Removes an agent made here; what it hid counts again",
            )
            .header("If-Match", etag)
            .answers_nothing(204)
            .fails(&[409, 412, 428]),
        ApiRoute::get(AGENT_EFFECTIVE, effective)
            .needs(
                read,
                "Shows tools, model and limits of an agent, each with its reason",
            )
            .answers::<EffectiveAgentReport>(200),
        ApiRoute::get(AGENT_FILE, file)
            .needs(
                admin,
                "Exports the definition of an agent as a Markdown file",
            )
            .answers_raw(200, "text/markdown"),
    ]
}

/// What an agent's definition is written in.
enum AgentSource {
    /// A row that was made here.
    Row(Box<AgentRow>),
    /// A Markdown file.
    File(String),
    /// Something that is not changed here.
    Fixed,
}

impl AgentSource {
    /// Names what it is now.
    fn etag(&self) -> Option<String> {
        match self {
            Self::Row(row) => Some(format!("\"r{}\"", row.revision)),
            Self::File(text) => Some(format!("\"{}\"", blob_id(text.as_bytes()))),
            Self::Fixed => None,
        }
    }
}

async fn list(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
) -> Json<AgentList> {
    let agents = state.options.definitions.iter();
    let agents = agents.filter(|agent| who.may_use(&agent.name));
    let agents = agents.map(|agent| AgentItem::from(&*agent)).collect();
    Json(AgentList { agents })
}

async fn show(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(name): Path<String>,
) -> Result<Response, ApiProblem> {
    shown(&state, &who, &name, StatusCode::OK).await
}

async fn effective(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(name): Path<String>,
) -> Result<Json<EffectiveAgentReport>, ApiProblem> {
    let definition = find(&state, &who, &name)?;
    Ok(Json(state.options.catalog.effective(&definition)))
}

async fn file(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(name): Path<String>,
) -> Result<Response, ApiProblem> {
    let definition = find(&state, &who, &name)?;
    let text = match source(&state, &who, &definition).await? {
        AgentSource::Row(row) => row.text,
        AgentSource::File(text) => text,
        AgentSource::Fixed => written(&definition),
    };
    let kind = HeaderValue::from_static("text/markdown; charset=utf-8");
    Ok(([(CONTENT_TYPE, kind)], text).into_response())
}

async fn validate(
    State(state): State<Arc<ApiState>>,
    JsonBody(NewAgent { name, text }): JsonBody<NewAgent>,
) -> Json<AgentCheck> {
    let LoadedDefinitions {
        mut definitions,
        diagnostics,
    } = state.options.handle.check_agent(&name, &text);
    let is_error = |found: &Diagnostic| found.severity == Severity::Error;
    Json(AgentCheck {
        valid: !definitions.is_empty() && !diagnostics.iter().any(is_error),
        diagnostics: diagnosed(&diagnostics),
        definition: definitions.pop().map(|found| without_secrets(&found)),
    })
}

async fn create(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    JsonBody(NewAgent { name, text }): JsonBody<NewAgent>,
) -> Result<Response, ApiProblem> {
    let change = AgentChange {
        name: name.clone(),
        text: Some(text),
        expected: None,
    };
    match state.options.handle.change_agent(&who, change).await? {
        AgentChangeOutcome::Changed(_) => shown(&state, &who, &name, StatusCode::CREATED).await,
        AgentChangeOutcome::Differs(_) => {
            let message = format!("an agent {name} was made before");
            Err(ApiProblem::conflict(message).at("/name"))
        }
        AgentChangeOutcome::Invalid(found) => Err(invalid(&found)),
    }
}

async fn change(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(name): Path<String>,
    headers: HeaderMap,
    JsonBody(AgentText { text }): JsonBody<AgentText>,
) -> Result<Response, ApiProblem> {
    let definition = find(&state, &who, &name)?;
    let source = source(&state, &who, &definition).await?;
    check_etag(&source, &headers, &name)?;
    match source {
        AgentSource::Row(row) => write_row(&state, &who, &row, Some(text)).await?,
        AgentSource::File(_) => write_file(&state, &who, &definition, &text).await?,
        AgentSource::Fixed => return Err(fixed(&definition)),
    }
    shown(&state, &who, &name, StatusCode::OK).await
}

async fn remove(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, ApiProblem> {
    let definition = find(&state, &who, &name)?;
    let source = source(&state, &who, &definition).await?;
    check_etag(&source, &headers, &name)?;
    let AgentSource::Row(row) = source else {
        return Err(fixed(&definition));
    };
    write_row(&state, &who, &row, None).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The agent with this name, if the caller's token is for it.
fn find(state: &ApiState, who: &Principal, name: &str) -> Result<Arc<AgentDefinition>, ApiProblem> {
    let found = state.options.definitions.find(name)?;
    if !who.may_use(&found.name) {
        let message = format!("there is no agent {name} for this token");
        return Err(ApiProblem::not_found(ErrorCode::AgentNotFound, message));
    }
    Ok(found)
}

async fn shown(
    state: &ApiState,
    who: &Principal,
    name: &str,
    status: StatusCode,
) -> Result<Response, ApiProblem> {
    let definition = find(state, who, name)?;
    let source = source(state, who, &definition).await?;
    let etag = source.etag();
    let header = etag
        .as_deref()
        .and_then(|etag| HeaderValue::from_str(etag).ok());
    let detail = AgentDetail {
        definition: without_secrets(&definition),
        editable: etag.is_some(),
        etag,
    };
    let mut response = (status, Json(detail)).into_response();
    if let Some(etag) = header {
        response.headers_mut().insert(ETAG, etag);
    }
    Ok(response)
}

/// Where the definition that counts is written.
async fn source(
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
fn check_etag(source: &AgentSource, headers: &HeaderMap, name: &str) -> Result<(), ApiProblem> {
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

async fn write_row(
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

/// Writes the file beside and renames it, so that a reader finds the old text or the new one.
async fn write_file(
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
    let write = replace_file(&path, text);
    let written = state.options.handle.change_files(who, change, write);
    Ok(written.await?)
}

async fn replace_file(path: &FilePath, text: &str) -> Result<(), Problem> {
    let beside = path.with_extension("md.new");
    let failed = |error: std::io::Error| {
        let message = format!("cannot write {}", path.display());
        Problem::new(ErrorCode::StoreFailed, message).cause(error.to_string())
    };
    tokio::fs::write(&beside, text).await.map_err(failed)?;
    tokio::fs::rename(&beside, path).await.map_err(failed)
}

fn fixed(definition: &AgentDefinition) -> ApiProblem {
    let message = format!("{} is not changed here", definition.name);
    let problem = Problem::new(ErrorCode::Conflict, message)
        .cause("it comes with the program, from settings or from a file that is not Markdown")
        .fix("make an agent of your own that extends it: POST /agents");
    ApiProblem::new(StatusCode::CONFLICT, problem)
}

fn invalid(found: &[Diagnostic]) -> ApiProblem {
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

fn diagnosed(found: &[Diagnostic]) -> Vec<DefinitionDiagnostic> {
    found.iter().map(DefinitionDiagnostic::from).collect()
}
