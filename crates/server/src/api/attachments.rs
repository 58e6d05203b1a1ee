//! Attachments: takes bytes for messages, and serves stored bytes to those who may see them.

use std::sync::Arc;

use axum::{
    Json,
    body::Body,
    extract::{Path, State},
    http::{
        HeaderMap, HeaderName, HeaderValue, StatusCode,
        header::{
            CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
            X_CONTENT_TYPE_OPTIONS,
        },
    },
    response::{IntoResponse, Response},
};
use rooftree_protocol::{
    AccessScope, BlobId, ErrorCode,
    api_paths::{ATTACHMENTS, BLOB},
    media_type,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ApiProblem, ApiState,
    access::RequestPrincipal,
    extract::{QueryParameters, read_body},
    route_table::ApiRoute,
    sessions::find,
};

/// The most bytes of an attachment.
const MAX_ATTACHMENT: usize = 20 << 20;
/// Media types that a browser shows and that cannot run anything in it.
const SHOWN: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/// The media type of everything else.
const BYTES: &str = "application/octet-stream";

pub(super) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::post(ATTACHMENTS, upload)
            .needs(AccessScope::Chat, "Uploads bytes, of at most 20 MiB, for a message to attach")
            .raw_body(BYTES)
            .answers::<UploadedBlob>(201),
        ApiRoute::get(BLOB, download)
            .needs(AccessScope::Read, "Reads stored bytes: those the caller uploaded, or those that the session in the query names")
            .query::<BlobQuery>()
            .answers_raw(200, BYTES)
            .answers_raw(200, "image/png")
            .answers_raw(200, "image/jpeg")
            .answers_raw(200, "image/gif")
            .answers_raw(200, "image/webp"),
    ]
}

/// Bytes that are stored.
#[derive(Debug, Serialize, JsonSchema)]
struct UploadedBlob {
    /// Their id, which messages name.
    blob: BlobId,
    /// What they are, by how they begin.
    media_type: String,
    /// How many.
    bytes: u64,
}

/// Where bytes are named.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct BlobQuery {
    /// The session whose events name them.
    session: Option<String>,
}

async fn upload(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<UploadedBlob>), ApiProblem> {
    let bytes = read_body(&headers, body, MAX_ATTACHMENT).await?.to_vec();
    if bytes.is_empty() {
        return Err(ApiProblem::invalid("there is nothing to keep"));
    }
    let (media_type, length) = (media_type(&bytes).to_owned(), bytes.len() as u64);
    let blob = state.options.handle.upload(&who, bytes).await?;
    let uploaded = UploadedBlob {
        blob,
        media_type,
        bytes: length,
    };
    Ok((StatusCode::CREATED, Json(uploaded)))
}

/// Invariant: no answer here can run in a page of this server: only pictures have a type of their own, the type is not
/// guessed, and everything else is a download.
async fn download(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
    QueryParameters(query): QueryParameters<BlobQuery>,
) -> Result<Response, ApiProblem> {
    let missing = || {
        let message = format!("there is nothing called {id} for this caller");
        ApiProblem::not_found(ErrorCode::TaskNotFound, message)
    };
    let blob = BlobId::parse(&id).map_err(|_| missing())?;
    let session = match &query.session {
        Some(session) => Some(find(&state, &who, session).await?.id),
        None => None,
    };
    let queries = state.options.handle.queries(&who);
    let bytes = queries.visible_blob(&blob, session.as_ref()).await?;
    let bytes = bytes.ok_or_else(missing)?;
    let found = media_type(&bytes);
    let shown = SHOWN.into_iter().find(|shown| *shown == found);
    let disposition = if shown.is_some() {
        "inline"
    } else {
        "attachment"
    };
    let headers: [(HeaderName, HeaderValue); 5] = [
        (
            CONTENT_TYPE,
            HeaderValue::from_static(shown.unwrap_or(BYTES)),
        ),
        (CONTENT_DISPOSITION, HeaderValue::from_static(disposition)),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (
            CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("default-src 'none'; sandbox"),
        ),
        // Its id is its content.
        (
            CACHE_CONTROL,
            HeaderValue::from_static("private, max-age=31536000, immutable"),
        ),
    ];
    Ok((headers, bytes).into_response())
}
