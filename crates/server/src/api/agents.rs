//! Agents: lists, shows, checks, makes, changes and removes them.
//!
//! Agents made here are rows of the store. Those of Markdown files are changed in the file, with an entry in the audit
//! log before and after. Both need the revision that was read, so that no client overwrites what it has not seen.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{CONTENT_TYPE, ETAG},
    },
    response::{IntoResponse, Response},
};
use rooftree_protocol::{
    AccessScope, AgentDefinition, ErrorCode, Principal,
    api_paths::{AGENT, AGENT_EFFECTIVE, AGENT_FILE, AGENT_VALIDATE, AGENTS},
};
use rooftree_runtime::{
    AgentChange, AgentChangeOutcome,
    definitions::{Diagnostic, LoadedDefinitions, Severity, written},
};

use super::{
    ApiProblem, ApiState,
    access::RequestPrincipal,
    agent_source::{
        AgentSource, check_etag, diagnosed, fixed, invalid, source, write_file, write_row,
    },
    agent_types::{
        AgentCheck, AgentDetail, AgentItem, AgentList, AgentText, NewAgent, without_secrets,
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
