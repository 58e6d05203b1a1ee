//! Bodies of Telegram requests that send: text with entities, inline buttons, replies, topics.

use serde_json::{Map, Value, json};

use super::LONGEST_BUTTON_DATA;
use crate::{Button, ChatPlace, FailureClass, OutboundPart, PartBody, SendError};

/// The general topic of a forum: messages are sent to it without a topic, the sign of typing with it.
const GENERAL_TOPIC: i64 = 1;

/// Whether formatting is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Formatting {
    Kept,
    Dropped,
}

/// The body of `sendMessage`.
pub(super) fn message(
    to: &ChatPlace,
    part: &OutboundPart,
    formatting: Formatting,
) -> Result<Value, SendError> {
    let mut fields = place(to, part)?;
    text(&mut fields, part, formatting)?;
    Ok(Value::Object(fields))
}

/// The body of `editMessageText`.
pub(super) fn edit(
    to: &ChatPlace,
    message: &str,
    part: &OutboundPart,
    formatting: Formatting,
) -> Result<Value, SendError> {
    let mut fields = Map::new();
    fields.insert("chat_id".to_owned(), chat(&to.chat)?);
    fields.insert("message_id".to_owned(), json!(number(message, "message")?));
    text(&mut fields, part, formatting)?;
    // Without it the buttons stay.
    fields.insert("reply_markup".to_owned(), keyboard(&part.buttons)?);
    Ok(Value::Object(fields))
}

/// The body of `sendChatAction`.
pub(super) fn typing(to: &ChatPlace) -> Result<Value, SendError> {
    let mut body = json!({"chat_id": chat(&to.chat)?, "action": "typing"});
    if let (Some(thread), Some(fields)) = (&to.thread, body.as_object_mut()) {
        fields.insert(
            "message_thread_id".to_owned(),
            json!(number(thread, "topic")?),
        );
    }
    Ok(body)
}

/// Where a message goes and how, without what it holds.
pub(super) fn place(to: &ChatPlace, part: &OutboundPart) -> Result<Map<String, Value>, SendError> {
    let mut fields = Map::new();
    fields.insert("chat_id".to_owned(), chat(&to.chat)?);
    let thread = to.thread.as_deref().map(|thread| number(thread, "topic"));
    if let Some(thread) = thread
        .transpose()?
        .filter(|thread| *thread != GENERAL_TOPIC)
    {
        fields.insert("message_thread_id".to_owned(), json!(thread));
    }
    if let Some(message) = &to.reply_to {
        let message = number(message, "message")?;
        let reply = json!({"message_id": message, "allow_sending_without_reply": true});
        fields.insert("reply_parameters".to_owned(), reply);
    }
    if part.silent {
        fields.insert("disable_notification".to_owned(), json!(true));
    }
    if !part.buttons.is_empty() {
        fields.insert("reply_markup".to_owned(), keyboard(&part.buttons)?);
    }
    Ok(fields)
}

fn text(
    fields: &mut Map<String, Value>,
    part: &OutboundPart,
    formatting: Formatting,
) -> Result<(), SendError> {
    let PartBody::Text { text, format } = &part.body else {
        return Err(invalid("a file cannot replace a text"));
    };
    fields.insert("text".to_owned(), json!(text));
    if !format.is_empty() && formatting == Formatting::Kept {
        fields.insert("entities".to_owned(), json!(format.0));
    }
    let preview = json!({"is_disabled": true});
    fields.insert("link_preview_options".to_owned(), preview);
    Ok(())
}

fn keyboard(rows: &[Vec<Button>]) -> Result<Value, SendError> {
    let button = |button: &Button| {
        if button.data.is_empty() || button.data.len() > LONGEST_BUTTON_DATA {
            return Err(invalid("the data of a button must have 1 to 64 bytes"));
        }
        Ok(json!({"text": button.label, "callback_data": button.data}))
    };
    let row = |row: &Vec<Button>| row.iter().map(button).collect::<Result<Vec<_>, _>>();
    let rows = rows.iter().map(row).collect::<Result<Vec<_>, _>>()?;
    Ok(json!({"inline_keyboard": rows}))
}

/// A chat is a number, or the public name of a channel or group with `@`.
fn chat(chat: &str) -> Result<Value, SendError> {
    match chat.parse::<i64>() {
        Ok(number) => Ok(json!(number)),
        Err(_) if chat.starts_with('@') => Ok(json!(chat)),
        Err(_) => Err(SendError::new(
            FailureClass::NotFound,
            "a chat of Telegram is a number, or a public name with @",
        )),
    }
}

fn number(text: &str, what: &str) -> Result<i64, SendError> {
    text.parse().map_err(|_| {
        let words = format!("the {what} of a Telegram chat is a number");
        SendError::new(FailureClass::NotFound, words)
    })
}

fn invalid(words: &str) -> SendError {
    SendError::new(FailureClass::InvalidPayload, words)
}

/// At most so many characters.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(most.saturating_sub(1)).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forum(thread: &str) -> ChatPlace {
        ChatPlace {
            chat: "-100".to_owned(),
            thread: Some(thread.to_owned()),
            reply_to: Some("5".to_owned()),
            group: true,
        }
    }

    #[test]
    fn the_general_topic_is_named_only_for_typing() {
        let part = OutboundPart::text("a");
        let general = message(&forum("1"), &part, Formatting::Kept).unwrap();
        assert_eq!(general.get("message_thread_id"), None);
        let other = message(&forum("7"), &part, Formatting::Kept).unwrap();
        assert_eq!(other["message_thread_id"], 7);
        assert_eq!(other["reply_parameters"]["message_id"], 5);
        assert_eq!(typing(&forum("1")).unwrap()["message_thread_id"], 1);
    }

    #[test]
    fn an_edit_without_buttons_removes_them_and_long_button_data_is_refused() {
        let mut part = OutboundPart::text("a");
        let body = edit(&forum("7"), "3", &part, Formatting::Kept).unwrap();
        assert_eq!(body["reply_markup"], json!({"inline_keyboard": []}));
        let data = "x".repeat(65);
        part.buttons = vec![vec![Button {
            label: "Yes".to_owned(),
            data,
        }]];
        let error = message(&forum("7"), &part, Formatting::Kept).unwrap_err();
        assert_eq!(error.class, FailureClass::InvalidPayload);
    }

    #[test]
    fn text_never_has_a_parse_mode() {
        let body = message(&forum("1"), &OutboundPart::text("*a*"), Formatting::Kept).unwrap();
        assert_eq!(body.get("parse_mode"), None);
    }
}
