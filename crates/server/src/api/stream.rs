//! The event stream over many sessions: `POST /stream` opens one, `PATCH /stream/{stream}` changes it.
//!
//! `rooftree-stream` makes the frames. Closing a stream cancels nothing.

mod registry;
mod reply_html;

use std::{collections::VecDeque, convert::Infallible, sync::Arc};

use axum::{
    Json,
    body::{Body, Bytes},
    extract::{Path, State},
    http::{
        HeaderName, HeaderValue, StatusCode,
        header::{CACHE_CONTROL, CONTENT_TYPE},
    },
    response::{IntoResponse, Response},
};
use futures::{Stream, stream};
use rooftree_protocol::{
    AccessScope, AuthorizedCaller, ErrorCode, Principal, Problem,
    api_paths::{STREAM, STREAM_ONE},
};
use rooftree_stream::{EventStream, StreamSetup};
use rooftree_view::{StreamFrame, StreamLimits, StreamPatch, StreamRequest, StreamTopic};

pub(crate) use self::registry::StreamRegistry;
use self::{registry::StreamPlace, reply_html::ReplyRenderer};
use super::{
    ApiProblem, ApiState, access::RequestCaller, extract::JsonBody, idempotency::KeyUse,
    route_table::ApiRoute,
};

/// What a stream may hold.
pub(super) const LIMITS: StreamLimits = StreamLimits {
    sessions: 64,
    streams: 8,
};
/// The most streams of one server.
const MAX_STREAMS: usize = 2_000;
/// The most cursors of sessions below the watched ones.
const MAX_CURSORS: usize = 1_024;

pub(super) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::post(STREAM, open)
            .needs(
                AccessScope::Read,
                "Streams the events of sessions and the rows of topics",
            )
            .body::<StreamRequest>()
            .streams(),
        ApiRoute::patch(STREAM_ONE, change)
            .needs(
                AccessScope::Read,
                "Adds sessions and topics to an open stream and removes them",
            )
            .body::<StreamPatch>()
            .keys(KeyUse::None)
            .answers::<StreamLimits>(200),
    ]
}

async fn open(
    State(state): State<Arc<ApiState>>,
    RequestCaller(caller): RequestCaller,
    JsonBody(request): JsonBody<StreamRequest>,
) -> Result<Response, ApiProblem> {
    let stream = begin(&state, caller, request)?;
    Ok(respond(stream))
}

/// Opens a stream for a caller, within the limits.
pub(super) fn begin(
    state: &Arc<ApiState>,
    caller: AuthorizedCaller,
    request: StreamRequest,
) -> Result<OpenStream, ApiProblem> {
    check_size(request.sessions.len(), &request)?;
    check_topics(&caller, request.topics.keys())?;
    let place = state.streams.admit(&caller.principal)?;
    let (place, changes) = place;
    let setup = StreamSetup {
        handle: state.options.handle.clone(),
        clock: state.options.clock.clone(),
        who: caller.principal,
        name: place.name.clone(),
        boot: state.streams.boot().to_owned(),
        limits: LIMITS,
        changes,
        stopping: state.stopping.clone(),
    };
    Ok(OpenStream {
        renderer: request.html.then(|| ReplyRenderer::new(state.html.clone())),
        ready: VecDeque::new(),
        stream: EventStream::new(setup, request),
        _place: place,
    })
}

/// A stream and its place among those that are counted.
pub(super) struct OpenStream {
    stream: EventStream,
    /// Makes HTML, if that was asked for.
    renderer: Option<ReplyRenderer>,
    /// Frames that follow the last one.
    ready: VecDeque<StreamFrame>,
    _place: StreamPlace,
}

impl OpenStream {
    async fn next(&mut self) -> Option<StreamFrame> {
        if let Some(frame) = self.ready.pop_front() {
            return Some(frame);
        }
        let frame = self.stream.next().await?;
        if let Some(renderer) = &mut self.renderer {
            self.ready = renderer.after(&frame);
        }
        Some(frame)
    }
}

fn check_size(sessions: usize, request: &StreamRequest) -> Result<(), ApiProblem> {
    let below = request.sessions.values();
    let below: usize = below
        .map(|start| start.cursor().below.map_or(0, |below| below.len()))
        .sum();
    if sessions > LIMITS.sessions || below > MAX_CURSORS {
        let message = format!(
            "a stream holds at most {} sessions, and {MAX_CURSORS} cursors below them",
            LIMITS.sessions
        );
        return Err(ApiProblem::invalid(message).at("/sessions"));
    }
    Ok(())
}

/// Connectors need the scope that their list needs.
fn check_topics<'a>(
    caller: &AuthorizedCaller,
    mut topics: impl Iterator<Item = &'a StreamTopic>,
) -> Result<(), ApiProblem> {
    let has_connectors = topics.any(|topic| *topic == StreamTopic::Connectors);
    if has_connectors && !caller.scopes.allow(AccessScope::Admin) {
        return Err(ApiProblem::missing_scope(AccessScope::Admin).at("/topics"));
    }
    Ok(())
}

async fn change(
    State(state): State<Arc<ApiState>>,
    RequestCaller(caller): RequestCaller,
    Path(stream): Path<String>,
    JsonBody(patch): JsonBody<StreamPatch>,
) -> Result<Json<StreamLimits>, ApiProblem> {
    check_topics(&caller, patch.topics.keys())?;
    if patch.add.len() > LIMITS.sessions {
        let message = format!("a stream holds at most {} sessions", LIMITS.sessions);
        return Err(ApiProblem::invalid(message).at("/add"));
    }
    if state.streams.change(&caller.principal, &stream, patch) {
        Ok(Json(LIMITS))
    } else {
        let problem = Problem::new(
            ErrorCode::SessionNotFound,
            format!("there is no open stream {}", shortened(&stream)),
        );
        Err(ApiProblem::new(
            StatusCode::NOT_FOUND,
            problem.fix("open one with POST /api/v1/stream; its name is in the first frame"),
        ))
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(64).collect()
}

/// The identity that limits on streams count by.
fn counted_by(who: &Principal) -> String {
    who.token.clone().unwrap_or_else(|| who.person.clone())
}

/// The stream as a response that proxies do not buffer.
pub(super) fn respond(stream: OpenStream) -> Response {
    let body = Body::from_stream(frames(stream));
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
    response
}

fn frames(open: OpenStream) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold(open, |mut open| async {
        loop {
            let frame = open.next().await?;
            // A frame that cannot be written as JSON is none that a client could read.
            if let Ok(text) = frame.encode() {
                return Some((Ok(Bytes::from(text)), open));
            }
        }
    })
}
