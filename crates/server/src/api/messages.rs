//! Messages of a session: sends one, and shows the conversation page by page.

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    extract::{Path, State},
    http::{HeaderMap, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use rooftree_protocol::{
    AccessScope, BlobId, Command, EventBody, MessageId, Origin, Part, Principal, RunId, RunStatus,
    SessionId, Usage,
    api_paths::SESSION_MESSAGES,
    command::{Address, CommandReply, Delivery},
    context_line::check_context,
    event::RunEnd,
    media_type,
};
use rooftree_runtime::{EventFilter, Subscription};
use rooftree_store::RunFilter;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ApiProblem, ApiState,
    access::RequestPrincipal,
    conversation::{self, ConversationEntry},
    extract::{JsonBody, QueryParameters},
    idempotency::KeyUse,
    page,
    route_table::ApiRoute,
    sessions::{find, find_live},
};

/// The longest time a request waits for an answer.
const MAX_WAIT: Duration = Duration::from_secs(300);
/// The most characters of an idempotency key.
const MAX_KEY: usize = 200;

pub(super) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get(SESSION_MESSAGES, list)
            .needs(AccessScope::Read, "Shows the conversation of a session: messages, replies, calls and their results")
            .query::<ConversationQuery>()
            .answers::<ConversationPage>(200),
        ApiRoute::post(SESSION_MESSAGES, send)
            .needs(AccessScope::Chat, "Sends a message. It is stored when this answers, and worked on in its turn")
            .header("Idempotency-Key", "Sending the same message with the same key again returns the first answer; another message with it is refused")
            .header("Prefer", "`wait=60` waits so many seconds for the answer; after that the run goes on")
            // The inbox knows its keys for ever, and a repeated request may wait for the answer of the run.
            .keys(KeyUse::None)
            .body::<NewMessage>()
            .answers::<AnsweredMessage>(200)
            .answers::<AcceptedPost>(202)
            .fails(&[409]),
    ]
}

/// Which part of a conversation.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ConversationQuery {
    /// Where the page begins: `next` of the page before.
    cursor: Option<String>,
    /// At most so many events are read for the page, up to 200.
    limit: Option<usize>,
}

/// A page of a conversation.
#[derive(Debug, Serialize, JsonSchema)]
struct ConversationPage {
    /// What was said and done, in order.
    messages: Vec<ConversationEntry>,
    /// The number of the session's last event.
    head: u64,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A message to send.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewMessage {
    /// What it says.
    #[serde(default)]
    text: String,
    /// Bytes that were uploaded before.
    #[serde(default)]
    attachments: Vec<AttachedBlob>,
    /// Its turn: `queue` waits, `steer` enters the running conversation, `silent` is read at the next run.
    #[serde(default)]
    delivery: Delivery,
    /// What the sender has in front of him: one `<context …/>` element on one line, kept and shown to the model verbatim.
    #[serde(default)]
    context: Option<String>,
}

/// Bytes that were uploaded before.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AttachedBlob {
    /// Their id.
    blob: String,
    /// What the sender calls them.
    #[serde(default)]
    name: Option<String>,
}

/// A message that is stored and will be handled.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AcceptedPost {
    /// Its id; the first one's if the key was used before.
    message: MessageId,
    /// In which session.
    session: SessionId,
    /// Its place in the lane.
    position: u64,
    /// Whether the key was used before.
    repeated: bool,
}

/// A message and the answer to it.
#[derive(Debug, Serialize, JsonSchema)]
struct AnsweredMessage {
    #[serde(flatten)]
    accepted: AcceptedPost,
    /// The run that answered.
    run: RunId,
    /// How it ended.
    status: RunStatus,
    /// What it says.
    text: String,
    /// Whether its work was checked, and found good.
    #[serde(skip_serializing_if = "Option::is_none")]
    verified: Option<bool>,
    /// What it used.
    usage: Usage,
}

impl AcceptedPost {
    pub(super) fn of(reply: CommandReply) -> Option<Self> {
        match reply {
            CommandReply::Accepted {
                session,
                message,
                position,
                repeated,
            } => Some(Self {
                message,
                session,
                position,
                repeated,
            }),
            _ => None,
        }
    }
}

async fn list(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
    QueryParameters(query): QueryParameters<ConversationQuery>,
) -> Result<Json<ConversationPage>, ApiProblem> {
    let session = find(&state, &who, &id).await?;
    let after: Option<u64> = page::decode(query.cursor.as_deref())?;
    let limit = page::limit(query.limit);
    let queries = state.options.handle.queries(&who);
    let events = queries
        .events(&session.id, after.unwrap_or(0), limit)
        .await?;
    let last = events.last().and_then(|event| event.id);
    let next = last.filter(|last| events.len() == limit && *last < session.head);
    Ok(Json(ConversationPage {
        messages: events.iter().filter_map(conversation::entry).collect(),
        head: session.head,
        next: next.map(|last| page::encode(&last)),
    }))
}

async fn send(
    State(state): State<Arc<ApiState>>,
    RequestPrincipal(who): RequestPrincipal,
    Path(id): Path<String>,
    headers: HeaderMap,
    JsonBody(new): JsonBody<NewMessage>,
) -> Result<Response, ApiProblem> {
    let session = find_live(&state, &who, &id).await?;
    if let Some(context) = &new.context {
        check_context(context)
            .map_err(|problem| ApiProblem::new(StatusCode::BAD_REQUEST, problem).at("/context"))?;
    }
    let key = idempotency_key(&who, &headers)?;
    let wait = preferred_wait(&headers).filter(|_| new.delivery == Delivery::Queue);
    let (handle, has_key) = (&state.options.handle, key.is_some());
    let command = Command::Post {
        to: Address::Id {
            id: session.id.clone(),
        },
        parts: parts(&state, &who, &session.id, new.text, new.attachments).await?,
        origin: Origin::User,
        key,
        delivery: new.delivery,
        context: new.context,
    };
    let sent = handle.send(&who, command).await;
    let reply = sent.map_err(|error| {
        let problem = error.problem();
        let is_key = has_key && problem.code == rooftree_protocol::ErrorCode::InvalidArguments;
        let failed = ApiProblem::from(problem);
        // The only thing that can be wrong with a message in itself is that its key was used for another one.
        if is_key {
            failed.with_status(StatusCode::CONFLICT)
        } else {
            failed
        }
    })?;
    let Some(accepted) = AcceptedPost::of(reply) else {
        return Err(ApiProblem::conflict("the message was not accepted"));
    };
    let Some(wait) = wait else {
        return Ok((StatusCode::ACCEPTED, Json(accepted)).into_response());
    };
    let run = RunId::derived_from(accepted.message.as_str());
    let filter = EventFilter {
        session: session.id,
        after: session.head,
    };
    let events = handle.subscribe(&who, filter);
    let applied = [("preference-applied", wait_applied(wait))];
    Ok(match ended(&state, &who, &run, events, wait).await {
        Some(end) => {
            let answered = AnsweredMessage {
                accepted,
                run,
                status: end.status,
                text: end.text,
                verified: end.verified,
                usage: end.usage,
            };
            (StatusCode::OK, applied, Json(answered)).into_response()
        }
        None => (StatusCode::ACCEPTED, applied, Json(accepted)).into_response(),
    })
}

/// How the run ends, if it does within the time. Closing the connection does not stop it.
async fn ended(
    state: &ApiState,
    who: &Principal,
    run: &RunId,
    mut events: Subscription,
    wait: Duration,
) -> Option<RunEnd> {
    // A repeated message may have been answered before.
    let filter = RunFilter {
        run: Some(run.clone()),
        limit: 1,
        ..RunFilter::default()
    };
    let known = state.options.handle.queries(who).runs(filter).await.ok()?;
    let known = known.into_iter().next().and_then(|row| row.ended);
    if let Some(EventBody::RunCompleted(end)) = known.map(|event| event.body) {
        return Some(end);
    }
    let end = async {
        loop {
            let event = events.next().await.ok()?;
            if event.run.as_ref() == Some(run)
                && let EventBody::RunCompleted(end) = &event.body
            {
                return Some(end.clone());
            }
        }
    };
    tokio::select! {
        end = end => end,
        () = state.options.clock.sleep(wait) => None,
        () = state.stopping.cancelled() => None,
    }
}

/// The parts of a message: its text, then what is attached.
pub(super) async fn parts(
    state: &ApiState,
    who: &Principal,
    session: &SessionId,
    text: String,
    attachments: Vec<AttachedBlob>,
) -> Result<Vec<Part>, ApiProblem> {
    let mut parts = Vec::new();
    if !text.is_empty() {
        parts.push(Part::text(text));
    }
    for (number, attached) in attachments.into_iter().enumerate() {
        let at = format!("/attachments/{number}/blob");
        let missing = || {
            let message = format!("{} was not uploaded by you", attached.blob);
            ApiProblem::invalid(message).at(&at)
        };
        let blob = BlobId::parse(&attached.blob).map_err(|_| missing())?;
        let queries = state.options.handle.queries(who);
        let bytes = queries.visible_blob(&blob, Some(session)).await?;
        let bytes = bytes.ok_or_else(missing)?;
        let (media_type, length) = (media_type(&bytes).to_owned(), bytes.len() as u64);
        parts.push(if media_type.starts_with("image/") {
            Part::Image {
                blob,
                media_type,
                bytes: length,
            }
        } else {
            Part::File {
                blob,
                name: attached.name.unwrap_or_else(|| "attachment".into()),
                media_type,
                bytes: length,
            }
        });
    }
    if parts.is_empty() {
        return Err(ApiProblem::invalid("a message says something or has attachments").at("/text"));
    }
    Ok(parts)
}

/// The key of the inbox for a key of this person: those of others are other keys.
fn idempotency_key(who: &Principal, headers: &HeaderMap) -> Result<Option<String>, ApiProblem> {
    let Some(key) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    let key = key.to_str().ok().map(str::trim);
    match key.filter(|key| !key.is_empty() && key.len() <= MAX_KEY) {
        Some(key) => Ok(Some(format!("http:{}:{key}", who.person))),
        None => {
            let message = format!("an Idempotency-Key has 1 to {MAX_KEY} visible characters");
            Err(ApiProblem::invalid(message))
        }
    }
}

/// How long the client would wait for the answer (RFC 7240).
fn preferred_wait(headers: &HeaderMap) -> Option<Duration> {
    let preferences = headers.get_all("prefer").into_iter();
    let words = preferences.filter_map(|value| value.to_str().ok());
    let mut words = words
        .flat_map(|value| value.split([',', ';']))
        .map(str::trim);
    let seconds = words.find_map(|word| {
        let (name, value) = word.split_once('=')?;
        let value = value.trim().trim_matches('"');
        name.trim().eq_ignore_ascii_case("wait").then_some(value)
    })?;
    let seconds = Duration::from_secs(seconds.parse().ok()?);
    Some(seconds.min(MAX_WAIT)).filter(|seconds| !seconds.is_zero())
}

fn wait_applied(wait: Duration) -> HeaderValue {
    let value = HeaderValue::from_str(&format!("wait={}", wait.as_secs()));
    value.unwrap_or_else(|_| HeaderValue::from_static("wait"))
}
