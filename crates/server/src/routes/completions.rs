//! Handles completion requests to agents, in either API format: one response, or a stream.

mod sse_stream;

use std::sync::Arc;

use axum::{
    Extension, Json,
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use rooftree_protocol::{AuthorizedCaller, Principal, SessionId};
use rooftree_view::OpenInquiry;
use tokio::sync::OwnedSemaphorePermit;

use super::AgentApi;
use crate::{
    agents::model_name,
    answer_stream::{AnswerDetail, AnswerPiece},
    exchange::{
        AgentExchange, AgentRequest, EventSelection, ExchangeEnd, ExchangeStep, RequestedSession,
        ResponseSlot,
    },
    openai::{
        api_format::{ApiFormat, ResponseEnd, ResponseMetadata, ResponseStatus},
        chat,
        errors::ApiError,
        request::{ApiRequest, ResponseMode},
        responses,
    },
    request_body,
};

/// Bytes of one request: an attachment of the usual limit, and what base64 makes of it.
const BODY_BYTES: usize = 32 * 1024 * 1024;
/// Characters of an idempotency key.
const KEY_CHARS: usize = 255;

const SESSION: HeaderName = HeaderName::from_static("x-rooftree-session");
const VERBOSE: HeaderName = HeaderName::from_static("x-rooftree-verbose");
const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// `POST /v1/chat/completions`
pub(super) async fn chat_completions(
    State(api): State<Arc<AgentApi>>,
    Extension(caller): Extension<AuthorizedCaller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    ask_agent(api, caller.principal, (headers, body), &chat::WIRE).await
}

/// `POST /v1/responses`
pub(super) async fn responses(
    State(api): State<Arc<AgentApi>>,
    Extension(caller): Extension<AuthorizedCaller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    ask_agent(api, caller.principal, (headers, body), &responses::WIRE).await
}

async fn ask_agent(
    api: Arc<AgentApi>,
    who: Principal,
    (headers, body): (HeaderMap, Body),
    wire: &'static ApiFormat,
) -> Result<Response, ApiError> {
    // Before the body is read: a request in the queue holds no memory of its own.
    let permit = queue(&api).await?;
    require_json(&headers)?;
    let (detail, key, session) = (detail(&headers)?, key(&headers)?, text(&headers, &SESSION)?);
    let body = request_body::read(&headers, body, BODY_BYTES).await;
    let body = body.map_err(|status| ApiError::body(status, BODY_BYTES))?;
    if api.stopping.is_cancelled() {
        return Err(ApiError::stopping());
    }
    let asked = (wire.read)(&body)?;
    let agents = api.agents.clone();
    let agent = agents
        .exposed(&who, &asked.model)
        .ok_or_else(|| ApiError::no_model(&asked.model))?;
    let model = model_name(&agent);
    let ApiRequest {
        earlier,
        last,
        mode,
        user,
        ignored,
        ..
    } = asked;
    let place = match (session, &user) {
        (Some(session), _) => RequestedSession::Session(session),
        (None, Some(user)) => RequestedSession::User(user.clone()),
        (None, None) => RequestedSession::Anywhere,
    };
    let question = AgentRequest {
        who,
        agent,
        earlier,
        last,
        place,
        key,
        user,
    };
    let hearing = if mode == ResponseMode::Whole {
        EventSelection::Journal
    } else {
        EventSelection::Everything
    };
    let seat = ResponseSlot {
        hearing,
        detail,
        stopping: api.stopping.clone(),
        permit,
    };
    let (created, heartbeat) = (agents.clock.now(), agents.heartbeat);
    let exchange = AgentExchange::begin(agents, question, seat).await?;
    let (session, run) = (exchange.session().clone(), exchange.run().clone());
    let metadata = ResponseMetadata {
        model,
        session,
        run,
        created,
        ignored,
    };
    let session = HeaderValue::from_str(metadata.session.as_str());
    let mut response = match mode {
        ResponseMode::Whole => whole(exchange, metadata, wire).await?,
        mode => {
            sse_stream::stream(exchange, (wire.pieces)(metadata, mode), heartbeat).into_response()
        }
    };
    if let Ok(session) = session {
        response.headers_mut().insert(SESSION, session);
    }
    Ok(response)
}

/// Waits for a permit, first come first served. A short queue takes less than refusing clients that come again at
/// once; how many can wait is limited by the number of connections.
async fn queue(api: &AgentApi) -> Result<OwnedSemaphorePermit, ApiError> {
    let refused = || ApiError::busy(api.agents.at_once);
    if let Ok(permit) = api.seats.clone().try_acquire_owned() {
        return Ok(permit);
    }
    tokio::select! {
        biased;
        permit = api.seats.clone().acquire_owned() => permit.map_err(|_| refused()),
        () = api.stopping.cancelled() => Err(ApiError::stopping()),
        () = api.agents.clock.sleep(api.agents.queue_timeout) => Err(refused()),
    }
}

async fn whole(
    mut exchange: AgentExchange,
    metadata: ResponseMetadata,
    wire: &ApiFormat,
) -> Result<Response, ApiError> {
    let mut told: Vec<AnswerPiece> = Vec::new();
    let status = loop {
        match exchange.next().await {
            ExchangeStep::Told(more) => told.push(more),
            ExchangeStep::Ended(ExchangeEnd::Answered(status, verified)) => {
                break ResponseStatus::Run(status, verified);
            }
            ExchangeStep::Ended(ExchangeEnd::Held(held)) => {
                let is_behind_text = told.iter().any(|told| matches!(told, AnswerPiece::Text(_)));
                told.push(pending_inquiry_text(
                    &held,
                    exchange.session(),
                    is_behind_text,
                ));
                break ResponseStatus::Needs(held.kind(), held.id().to_owned());
            }
            ExchangeStep::Ended(ExchangeEnd::Failed(failure)) => return Err(failure),
        }
    };
    let ending = ResponseEnd {
        status,
        usage: exchange.usage(),
    };
    Ok(Json((wire.whole)(metadata, &told, &ending)).into_response())
}

/// What the person at the client reads when the run waits for an answer that is given elsewhere.
fn pending_inquiry_text(
    held: &OpenInquiry,
    session: &SessionId,
    is_behind_text: bool,
) -> AnswerPiece {
    let before = if is_behind_text { "\n\n" } else { "" };
    let (kind, id, about) = (held.kind(), held.id(), held.about());
    let how = if kind == "permission" {
        "allow"
    } else {
        "answer"
    };
    AnswerPiece::Text(format!(
        "{before}This waits for {kind} {id}: {about}. `rooftree permissions {how} {id}` answers it, and session {session} goes on."
    ))
}

fn require_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let kind = text(headers, &CONTENT_TYPE)?.unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") {
        Ok(())
    } else {
        Err(ApiError::not_json())
    }
}

fn detail(headers: &HeaderMap) -> Result<AnswerDetail, ApiError> {
    match text(headers, &VERBOSE)?.as_deref() {
        None | Some("0") => Ok(AnswerDetail::Answer),
        Some("1") => Ok(AnswerDetail::AnswerAndDeeds),
        Some(_) => Err(ApiError::invalid(VERBOSE.as_str(), "it must be 0 or 1")),
    }
}

fn key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let key = text(headers, &KEY)?;
    match &key {
        Some(key) if !(1..=KEY_CHARS).contains(&key.len()) => Err(ApiError::invalid(
            KEY.as_str(),
            format!("it must have 1 to {KEY_CHARS} characters"),
        )),
        _ => Ok(key),
    }
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, ApiError> {
    let value = headers.get(name).map(HeaderValue::to_str).transpose();
    let value = value.map_err(|_| ApiError::invalid(name.as_str(), "it must be plain text"))?;
    Ok(value.map(|value| value.trim().to_owned()))
}
