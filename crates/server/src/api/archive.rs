//! Exports a session with all its events and bytes, and makes a session out of an exported one. Searches in sessions.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use rooftree_protocol::{
    AccessScope, BlobId, Command, Event, Session, SessionId,
    api_paths::{SEARCH, SESSION_EXPORT, SESSION_IMPORT},
    command::ExportedSession,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ApiProblem, ApiState,
    access::{RequestCaller, RequestPrincipal},
    extract::{JsonBody, MAX_ARCHIVE, QueryParameters},
    page,
    route_table::ApiRoute,
    sessions::{checked_name, directory, find, session_after},
};

pub(super) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get(SESSION_EXPORT, export)
            .needs(AccessScope::Read, "Exports a session with all its events and the bytes they name")
            .answers::<SessionExport>(200),
        ApiRoute::post(SESSION_IMPORT, import)
            .needs(AccessScope::Chat, "Makes a session out of an exported one; rights, models and directories in it are ignored")
            .body::<SessionImport>()
            .large_body(MAX_ARCHIVE)
            .answers::<Session>(201)
            .fails(&[409]),
        ApiRoute::get(SEARCH, search)
            .needs(AccessScope::Read, "Finds messages and replies that contain words, best first")
            .query::<SessionSearchQuery>()
            .answers::<SessionSearchPage>(200),
    ]
}

/// A session with all that belongs to it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct SessionExport {
    /// Its metadata.
    session: Session,
    /// Its events, in order.
    events: Vec<Event>,
    /// The bytes that its events name.
    #[serde(default)]
    blobs: Vec<ExportedBlob>,
}

/// Bytes of an exported session.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ExportedBlob {
    /// Their id.
    blob: BlobId,
    /// The bytes in base64; absent if the store has lost them.
    base64: Option<String>,
}

/// An exported session to be imported.
#[derive(Debug, Deserialize, JsonSchema)]
struct SessionImport {
    #[serde(flatten)]
    export: SessionExport,
    /// What to call it; what it was called, or a name like it, if absent.
    #[serde(default)]
    name: Option<String>,
    /// The directory its tools work in; the server's own if absent.
    #[serde(default)]
    cwd: Option<PathBuf>,
}

/// What to search for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SessionSearchQuery {
    /// The words.
    q: String,
    /// At most this many, up to 200.
    #[serde(default)]
    limit: Option<usize>,
}

/// Where words were found.
#[derive(Debug, Serialize, JsonSchema)]
struct SessionSearchPage {
    /// The places, best first.
    hits: Vec<FoundPassage>,
}

/// A place where words were found.
#[derive(Debug, Serialize, JsonSchema)]
struct FoundPassage {
    /// In which session.
    session: SessionId,
    /// Of which agent.
    agent: String,
    /// What the session is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// At which event.
    event: u64,
    /// The words and what is around them, the hit between `[` and `]`.
    snippet: String,
}

async fn export(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
) -> Result<Json<SessionExport>, ApiProblem> {
    let session = find(&state, &who, &id).await?;
    let queries = state.options.handle.queries(&who);
    let mut events = queries.journal(&session, 0).await?;
    // An event that was stored before a secret was known must not leave the machine.
    state.options.handle.redact(&mut events);
    let mut blobs = Vec::new();
    for blob in named_blobs(&events) {
        let bytes = queries.blob(&blob).await?;
        let base64 = bytes.map(|bytes| STANDARD.encode(bytes));
        blobs.push(ExportedBlob { blob, base64 });
    }
    Ok(Json(SessionExport {
        session,
        events,
        blobs,
    }))
}

/// The ids of all bytes that events name.
fn named_blobs(events: &[Event]) -> BTreeSet<BlobId> {
    let blobs = events.iter().flat_map(|event| event.body.blobs());
    blobs.cloned().collect()
}

async fn import(
    State(state): State<Arc<ApiState>>,
    RequestCaller(caller): RequestCaller,
    JsonBody(import): JsonBody<SessionImport, MAX_ARCHIVE>,
) -> Result<(StatusCode, Json<Session>), ApiProblem> {
    let SessionExport {
        session,
        events,
        blobs,
    } = import.export;
    let mut bytes = Vec::new();
    for (number, blob) in blobs.into_iter().enumerate() {
        let Some(base64) = blob.base64 else { continue };
        bytes.push(STANDARD.decode(base64).map_err(|error| {
            ApiProblem::invalid(format!("it is not base64: {error}"))
                .at(format!("/blobs/{number}/base64"))
        })?);
    }
    let archive = ExportedSession {
        session,
        events,
        blobs: bytes,
    };
    let command = Command::Import {
        archive: Box::new(archive),
        cwd: directory(&state, &caller, import.cwd)?,
        name: checked_name(import.name)?,
    };
    let imported = session_after(&state, &caller.principal, command).await?;
    Ok((StatusCode::CREATED, Json(imported)))
}

async fn search(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    QueryParameters(query): QueryParameters<SessionSearchQuery>,
) -> Result<Json<SessionSearchPage>, ApiProblem> {
    let queries = state.options.handle.queries(&who);
    let found = queries.search(&query.q, page::limit(query.limit)).await?;
    let hits = found.into_iter().map(|hit| FoundPassage {
        session: hit.session.id,
        agent: hit.session.agent,
        name: hit.session.name,
        event: hit.event,
        snippet: hit.snippet,
    });
    Ok(Json(SessionSearchPage {
        hits: hits.collect(),
    }))
}
