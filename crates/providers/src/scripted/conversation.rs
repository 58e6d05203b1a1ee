//! Reads from a request what a script's conditions need: texts, reply count, the message that began the exchange.

use std::borrow::Cow;

use rooftree_protocol::{Part, message::text_of};

use crate::{ModelMessage, ModelRequest};

/// How many replies of the model are in the conversation.
pub(crate) fn replies(request: &ModelRequest) -> u32 {
    let count = request
        .messages
        .iter()
        .filter(|message| is_reply(message))
        .count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Whether the model itself wrote this.
pub(crate) fn is_reply(message: &ModelMessage) -> bool {
    matches!(message, ModelMessage::Assistant { .. })
}

/// The text of a message to the model; all results of one turn together. Empty for its own replies.
pub(crate) fn text(message: &ModelMessage) -> Cow<'_, str> {
    match message {
        ModelMessage::User(parts) => parts_text(parts),
        ModelMessage::Results(results) => match results.as_slice() {
            [only] => parts_text(&only.content),
            several => several
                .iter()
                .map(|result| result.text())
                .collect::<Vec<_>>()
                .join("\n")
                .into(),
        },
        ModelMessage::Assistant { .. } => Cow::Borrowed(""),
    }
}

/// The text of some parts, borrowed in the usual case of a single one.
pub(crate) fn parts_text(parts: &[Part]) -> Cow<'_, str> {
    match parts {
        [Part::Text { text }] => Cow::Borrowed(text),
        _ => Cow::Owned(text_of(parts)),
    }
}

/// The text of the newest message.
pub(crate) fn last_text(request: &ModelRequest) -> Cow<'_, str> {
    request
        .messages
        .last()
        .map_or(Cow::Borrowed(""), |message| text(message))
}

/// The newest user message that `begins` accepts, and the turn that is asked for, counted from it.
pub(crate) fn exchange(
    request: &ModelRequest,
    begins: impl Fn(&str) -> bool,
) -> Option<(Cow<'_, str>, u32)> {
    let mut turn = 1;
    for message in request.messages.iter().rev() {
        match message.as_ref() {
            ModelMessage::Assistant { .. } => turn += 1,
            ModelMessage::Results(_) => {}
            ModelMessage::User(parts) => {
                let text = parts_text(parts);
                if begins(&text) {
                    return Some((text, turn));
                }
            }
        }
    }
    None
}

/// How many replies were given to messages that `counts` accepts.
pub(crate) fn replies_to(request: &ModelRequest, counts: impl Fn(&str) -> bool) -> u32 {
    let answered = request.messages.iter().zip(request.messages.iter().skip(1));
    let answered = answered
        .filter(|(asked, reply)| is_reply(reply) && !is_reply(asked) && counts(&text(asked)));
    u32::try_from(answered.count()).unwrap_or(u32::MAX)
}
