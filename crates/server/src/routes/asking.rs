//! Asks an agent as a model is asked, whichever way: one answer, or a stream of its pieces.

mod pieces;

use std::sync::Arc;

use axum::{
    Json,
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use rooftree_protocol::SessionId;

use super::{Reception, body};
use crate::{
    agents::named,
    exchange::{Ended, Exchange, Hearing, Place, Question, Seat, Step},
    openai::{
        asked::{Asked, Manner},
        chat,
        failure::Failure,
        responses,
        wire::{Ending, Letterhead, Status, Wire},
    },
    telling::{Detail, Held, Told},
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
    State(reception): State<Arc<Reception>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Failure> {
    answer(reception, headers, body, &chat::WIRE).await
}

/// `POST /v1/responses`
pub(super) async fn responses(
    State(reception): State<Arc<Reception>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Failure> {
    answer(reception, headers, body, &responses::WIRE).await
}

async fn answer(
    reception: Arc<Reception>,
    headers: HeaderMap,
    body: Body,
    wire: &'static Wire,
) -> Result<Response, Failure> {
    // Before the body is read: what waits for a seat has no memory of its own.
    let permit = reception.seats.clone().try_acquire_owned();
    let permit = permit.map_err(|_| Failure::busy(reception.agents.at_once))?;
    refuse_no_json(&headers)?;
    let (detail, key, session) = (detail(&headers)?, key(&headers)?, text(&headers, &SESSION)?);
    let body = body::read(&headers, body, BODY_BYTES).await;
    let body = body.map_err(|status| Failure::body(status, BODY_BYTES))?;
    if reception.stopping.is_cancelled() {
        return Err(Failure::stopping());
    }
    let asked = (wire.read)(&body)?;
    let agents = reception.agents.clone();
    let agent = agents.exposed(&asked.model).ok_or_else(|| Failure::no_model(&asked.model))?;
    let model = named(&agent);
    let Asked { earlier, last, manner, user, ignored, .. } = asked;
    let place = match (session, &user) {
        (Some(session), _) => Place::Session(session),
        (None, Some(user)) => Place::User(user.clone()),
        (None, None) => Place::Anywhere,
    };
    let question = Question { agent, earlier, last, place, key, user };
    let hearing = if manner == Manner::Whole { Hearing::Journal } else { Hearing::Everything };
    let seat = Seat { hearing, detail, stopping: reception.stopping.clone(), permit };
    let (created, heartbeat) = (agents.clock.now(), agents.heartbeat);
    let exchange = Exchange::begin(agents, question, seat).await?;
    let (session, run) = (exchange.session().clone(), exchange.run().clone());
    let letterhead = Letterhead { model, session, run, created, ignored };
    let session = HeaderValue::from_str(letterhead.session.as_str());
    let mut response = match manner {
        Manner::Whole => whole(exchange, letterhead, wire).await?,
        manner => pieces::stream(exchange, (wire.pieces)(letterhead, manner), heartbeat).into_response(),
    };
    if let Ok(session) = session {
        response.headers_mut().insert(SESSION, session);
    }
    Ok(response)
}

async fn whole(mut exchange: Exchange, letterhead: Letterhead, wire: &Wire) -> Result<Response, Failure> {
    let mut told: Vec<Told> = Vec::new();
    let status = loop {
        match exchange.next().await {
            Step::Told(more) => told.push(more),
            Step::Ended(Ended::Answered(status, verified)) => break Status::Run(status, verified),
            Step::Ended(Ended::Held(held)) => {
                let is_behind_text = told.iter().any(|told| matches!(told, Told::Text(_)));
                told.push(in_words(&held, exchange.session(), is_behind_text));
                break Status::Needs(held.kind, held.id);
            }
            Step::Ended(Ended::Failed(failure)) => return Err(failure),
        }
    };
    let ending = Ending { status, usage: exchange.usage() };
    Ok(Json((wire.whole)(letterhead, &told, &ending)).into_response())
}

/// What the person at the client reads when the run waits for an answer that is given elsewhere.
fn in_words(held: &Held, session: &SessionId, is_behind_text: bool) -> Told {
    let before = if is_behind_text { "\n\n" } else { "" };
    let Held { kind, id, about, .. } = held;
    let how = if *kind == "permission" { "allow" } else { "answer" };
    Told::Text(format!(
        "{before}This waits for {kind} {id}: {about}. `rooftree permissions {how} {id}` answers it, and session {session} goes on."
    ))
}

fn refuse_no_json(headers: &HeaderMap) -> Result<(), Failure> {
    let kind = text(headers, &CONTENT_TYPE)?.unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") { Ok(()) } else { Err(Failure::not_json()) }
}

fn detail(headers: &HeaderMap) -> Result<Detail, Failure> {
    match text(headers, &VERBOSE)?.as_deref() {
        None | Some("0") => Ok(Detail::Answer),
        Some("1") => Ok(Detail::AnswerAndDeeds),
        Some(_) => Err(Failure::invalid(VERBOSE.as_str(), "it must be 0 or 1")),
    }
}

fn key(headers: &HeaderMap) -> Result<Option<String>, Failure> {
    let key = text(headers, &KEY)?;
    match &key {
        Some(key) if !(1..=KEY_CHARS).contains(&key.len()) => {
            Err(Failure::invalid(KEY.as_str(), format!("it must have 1 to {KEY_CHARS} characters")))
        }
        _ => Ok(key),
    }
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, Failure> {
    let value = headers.get(name).map(HeaderValue::to_str).transpose();
    let value = value.map_err(|_| Failure::invalid(name.as_str(), "it must be plain text"))?;
    Ok(value.map(|value| value.trim().to_owned()))
}
