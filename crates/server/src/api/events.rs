//! The events of one session: a page of JSON, or a stream that `Last-Event-ID` continues.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json,
    extract::{Path, State},
    http::{HeaderMap, HeaderName, header::ACCEPT},
    response::{IntoResponse, Response},
};
use rooftree_protocol::{AccessScope, Event, EventBody, SessionId, api_paths::SESSION_EVENTS};
use rooftree_view::{SessionStart, StreamCursor, StreamRequest, matches_type};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ApiProblem, ApiState, access::RequestCaller, extract::QueryParameters, route_table::ApiRoute,
    sessions, stream,
};

/// Events on a page if no number is given.
const PAGE: usize = 200;
/// The most on a page.
const MAX_PAGE: usize = 1_000;

pub(super) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get(SESSION_EVENTS, events)
            .needs(
                AccessScope::Read,
                "Reads the events of a session, as a page or as a stream",
            )
            .query::<EventQuery>()
            .answers::<EventPage>(200)
            .streams(),
    ]
}

/// Which events to read.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct EventQuery {
    /// Only those with a higher number.
    after: Option<u64>,
    /// Only those with a lower number; the last ones before it. Not for a stream.
    before: Option<u64>,
    /// At most this many. Not for a stream.
    limit: Option<usize>,
    /// Only of these types, separated by commas; `run.*` means all that begin with `run.`.
    types: Option<String>,
    /// For a stream: the sessions that it delegates to are part of it.
    tree: Option<bool>,
    /// Whether replies are given as HTML too.
    html: Option<bool>,
}

/// One page of events.
#[derive(Debug, Serialize, JsonSchema)]
struct EventPage {
    /// The events, in order.
    events: Vec<Event>,
    /// The number of the last event of the journal.
    head: u64,
    /// The last number on this page, to continue with as `after`; null after the last page.
    next: Option<u64>,
    /// The HTML of each reply on this page, by the number of its `message.completed`, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<BTreeMap<u64, String>>,
}

async fn events(
    State(state): State<Arc<ApiState>>,
    RequestCaller(caller): RequestCaller,
    Path(session): Path<String>,
    QueryParameters(query): QueryParameters<EventQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiProblem> {
    let session = sessions::find(&state, &caller.principal, &session).await?;
    let types = query.types.as_deref().unwrap_or_default().split(',');
    let types = types.map(str::trim).filter(|text| !text.is_empty());
    let types: Vec<String> = types.map(str::to_owned).collect();
    if wants_stream(&headers) {
        let after = last_event_id(&headers, &session.id)?.or(query.after);
        let cursor = StreamCursor {
            after: Some(after.unwrap_or(0)),
            tree: query.tree.unwrap_or(false),
            ..StreamCursor::default()
        };
        let start = SessionStart::Detailed(cursor);
        let request = StreamRequest {
            sessions: BTreeMap::from([(session.id, start)]),
            types,
            html: query.html.unwrap_or(false),
            ..StreamRequest::default()
        };
        return Ok(stream::respond(stream::begin(&state, caller, request)?));
    }
    let limit = query.limit.unwrap_or(PAGE).clamp(1, MAX_PAGE);
    let after = match query.before {
        // Numbers have no gaps.
        Some(before) => before.saturating_sub(1).saturating_sub(limit as u64),
        None => query.after.unwrap_or(0),
    };
    let queries = state.options.handle.queries(&caller.principal);
    let mut events = queries.events(&session.id, after, limit).await?;
    events.retain(|event| {
        query
            .before
            .is_none_or(|before| event.id.is_none_or(|id| id < before))
    });
    let last = events.last().and_then(|event| event.id);
    let next = last.filter(|last| *last < session.head);
    events.retain(|event| matches_type(&types, event.body.name()));
    let html = query.html.unwrap_or(false);
    let html = html.then(|| {
        events
            .iter()
            .filter_map(|event| reply_html(&state, event))
            .collect()
    });
    let page = EventPage {
        html,
        events,
        head: session.head,
        next,
    };
    Ok(Json(page).into_response())
}

/// The number of a reply, and its HTML; none if the event is no reply with text.
fn reply_html(state: &ApiState, event: &Event) -> Option<(u64, String)> {
    match &event.body {
        EventBody::MessageCompleted(reply) if !reply.text.is_empty() => {
            Some((event.id?, state.html.html(&reply.text).as_ref().to_owned()))
        }
        _ => None,
    }
}

fn wants_stream(headers: &HeaderMap) -> bool {
    let accepts = headers.get_all(ACCEPT).iter();
    accepts
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.contains("text/event-stream"))
}

/// The cursor that a client sends after a cut: `118`, or `ses_…:118` as frames have it.
fn last_event_id(headers: &HeaderMap, session: &SessionId) -> Result<Option<u64>, ApiProblem> {
    let Some(value) = headers.get(HeaderName::from_static("last-event-id")) else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default();
    let number = text
        .strip_prefix(session.as_str())
        .and_then(|rest| rest.strip_prefix(':'))
        .unwrap_or(text);
    number.parse().map(Some).map_err(|_| {
        ApiProblem::invalid("`Last-Event-ID` must be the id of a frame of this session")
    })
}
