//! Builds the request to an external agent: the user's messages since its last answer.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use rooftree_protocol::{Part, message::text_of};
use serde::Serialize;

use super::{callback_token::CallbackKey, events::digest_of};
use crate::{Error, MediaBytes, ModelMessage, ModelRequest};

/// The body of the POST.
#[derive(Serialize)]
struct ExternalRequestBody<'a> {
    session: &'a str,
    agent: &'a str,
    message: ExternalMessage<'a>,
    idempotency_key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    callback_url: Option<&'a str>,
}

#[derive(Serialize)]
struct ExternalMessage<'a> {
    text: String,
    parts: Vec<ExternalMessagePart<'a>>,
}

#[derive(Serialize)]
struct ExternalMessagePart<'a> {
    #[serde(flatten)]
    part: &'a Part,
    /// Base64 of an image or a file, if its bytes are available.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<String>,
}

/// The key of a request. It is derived from the session and the conversation alone, so that a
/// retry, in this process or in the next one, has the same key.
pub(super) fn callback_key(request: &ModelRequest) -> CallbackKey {
    let spelled: Vec<Vec<u8>> = request
        .messages
        .iter()
        .map(|message| spell_out(message))
        .collect();
    let conversation = spelled.iter().map(Vec::as_slice);
    let key = digest_of(
        [request.session.as_str().as_bytes()]
            .into_iter()
            .chain(conversation),
    );
    CallbackKey {
        session: request.session.clone(),
        key,
    }
}

/// A message as bytes that differ if the message does.
fn spell_out(message: &ModelMessage) -> Vec<u8> {
    let spelled = match message {
        ModelMessage::User(parts) => serde_json::to_vec(&("user", parts)),
        ModelMessage::Assistant { parts, .. } => serde_json::to_vec(&("assistant", parts)),
        ModelMessage::Results(results) => serde_json::to_vec(&("results", results)),
    };
    // Plain data with string keys always serializes.
    spelled.unwrap_or_default()
}

/// The body of the POST. Fails without anything new from the user.
pub(super) fn body(
    request: &ModelRequest,
    key: &str,
    callback_url: Option<&str>,
) -> Result<Vec<u8>, Error> {
    let parts = new_parts(&request.messages);
    if parts.is_empty() {
        let words = "an external agent cannot go on with tool calls that another model made";
        return Err(Error::Refused(words.into()));
    }
    let texts: Vec<Part> = parts.iter().map(|part| (*part).clone()).collect();
    let body = ExternalRequestBody {
        session: request.session.as_str(),
        agent: &request.agent,
        message: ExternalMessage {
            text: text_of(&texts),
            parts: parts
                .into_iter()
                .map(|part| shown(part, &request.media))
                .collect(),
        },
        idempotency_key: key,
        callback_url,
    };
    serde_json::to_vec(&body).map_err(|error| Error::Refused(error.to_string()))
}

/// The parts of user messages since the last answer.
fn new_parts(messages: &[Arc<ModelMessage>]) -> Vec<&Part> {
    let is_answer =
        |message: &Arc<ModelMessage>| matches!(**message, ModelMessage::Assistant { .. });
    let start = messages.iter().rposition(is_answer).map_or(0, |at| at + 1);
    let new = messages
        .iter()
        .skip(start)
        .filter_map(|message| match &**message {
            ModelMessage::User(parts) => Some(parts),
            _ => None,
        });
    new.flatten().collect()
}

fn shown<'a>(part: &'a Part, media: &MediaBytes) -> ExternalMessagePart<'a> {
    let data = match part {
        Part::Image { blob, .. } | Part::File { blob, .. } => {
            media.get(blob).map(|bytes| STANDARD.encode(bytes))
        }
        _ => None,
    };
    ExternalMessagePart { part, data }
}
