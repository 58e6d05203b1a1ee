//! Bodies of Discord requests that send: text, buttons, replies; a message of an agent mentions no person.

use serde_json::{Value, json};

use super::{LARGEST_UPLOAD, LONGEST_TEXT};
use crate::{
    Button, ChatPlace, FailureClass, OutboundPart, PartBody, SendError, signature::short_digest,
};

const LONGEST_BUTTON_DATA: usize = 100;
const LONGEST_LABEL: usize = 80;
const MOST_IN_A_ROW: usize = 5;
/// No previews of links; no sound.
const NO_PREVIEWS: u64 = 1 << 2;
const SILENT: u64 = 1 << 12;

/// The channel of a place: a thread is one of its own.
pub(super) fn channel(to: &ChatPlace) -> Result<&str, SendError> {
    let channel = to.thread.as_deref().unwrap_or(&to.chat);
    number(channel, "channel")?;
    Ok(channel)
}

/// An id of Discord, which stands in paths.
pub(super) fn number<'id>(id: &'id str, what: &str) -> Result<&'id str, SendError> {
    if !id.is_empty() && id.len() <= 20 && id.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(id);
    }
    Err(SendError::new(
        FailureClass::NotFound,
        format!("a {what} of Discord is a number"),
    ))
}

/// The body of a message; with a key Discord takes it once within some minutes.
pub(super) fn message(
    to: &ChatPlace,
    part: &OutboundPart,
    key: Option<&str>,
) -> Result<Value, SendError> {
    let flags = if part.silent {
        NO_PREVIEWS | SILENT
    } else {
        NO_PREVIEWS
    };
    let mut body = content(part)?;
    let mut set = |name: &str, value: Value| {
        if let Some(fields) = body.as_object_mut() {
            fields.insert(name.to_owned(), value);
        }
    };
    set("flags", json!(flags));
    if let Some(key) = key {
        set("nonce", json!(nonce(key)));
        set("enforce_nonce", json!(true));
    }
    if let Some(message) = &to.reply_to {
        let message = number(message, "message")?;
        set(
            "message_reference",
            json!({"message_id": message, "fail_if_not_exists": false}),
        );
    }
    Ok(body)
}

/// What a message holds, for sending and for editing.
pub(super) fn content(part: &OutboundPart) -> Result<Value, SendError> {
    let text = match &part.body {
        PartBody::Text { text, .. } => text,
        PartBody::File(file) if file.bytes.len() as u64 > LARGEST_UPLOAD => {
            return Err(invalid(
                "the file is larger than 10 MB, which is the most a bot may send",
            ));
        }
        PartBody::File(file) => &file.caption,
    };
    if text.encode_utf16().count() > LONGEST_TEXT {
        return Err(invalid("the text is longer than 2,000"));
    }
    let components = part
        .buttons
        .iter()
        .map(|row| self::row(row))
        .collect::<Result<Vec<_>, _>>()?;
    if components.len() > MOST_IN_A_ROW {
        return Err(invalid(
            "a message of Discord has at most five rows of buttons",
        ));
    }
    Ok(json!({"content": text, "components": components, "allowed_mentions": {"parse": []}}))
}

fn row(buttons: &[Button]) -> Result<Value, SendError> {
    if buttons.len() > MOST_IN_A_ROW {
        return Err(invalid("a row of Discord has at most five buttons"));
    }
    let button = |button: &Button| {
        if button.data.is_empty() || button.data.len() > LONGEST_BUTTON_DATA {
            return Err(invalid("the data of a button must have 1 to 100 bytes"));
        }
        let label: String = button.label.chars().take(LONGEST_LABEL).collect();
        Ok(json!({"type": 2, "style": 2, "label": label, "custom_id": button.data}))
    };
    let buttons = buttons.iter().map(button).collect::<Result<Vec<_>, _>>()?;
    Ok(json!({"type": 1, "components": buttons}))
}

/// Discord takes 25 characters.
pub(super) fn nonce(key: &str) -> String {
    short_digest(&[key.as_bytes()]).chars().take(25).collect()
}

fn invalid(words: &str) -> SendError {
    SendError::new(FailureClass::InvalidPayload, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_mentions_nobody_and_has_its_buttons() {
        let to = ChatPlace {
            chat: "50".to_owned(),
            thread: Some("60".to_owned()),
            reply_to: Some("7".to_owned()),
            group: true,
        };
        let mut part = OutboundPart::text("@everyone <@5>");
        part.buttons = vec![vec![Button {
            label: "Yes".to_owned(),
            data: "p:1:y".to_owned(),
        }]];
        let body = message(&to, &part, Some("k")).unwrap();
        assert_eq!(body["allowed_mentions"], json!({"parse": []}));
        assert_eq!(body["components"][0]["components"][0]["custom_id"], "p:1:y");
        assert_eq!(body["message_reference"]["message_id"], "7");
        assert_eq!(body["nonce"].as_str().map(str::len), Some(25));
        assert_eq!(channel(&to).unwrap(), "60");
    }

    #[test]
    fn what_discord_would_refuse_is_refused_before() {
        let to = ChatPlace {
            chat: "../1".to_owned(),
            thread: None,
            reply_to: None,
            group: false,
        };
        assert!(channel(&to).is_err());
        assert!(content(&OutboundPart::text("👍".repeat(1_001))).is_err());
        assert!(content(&OutboundPart::text("👍".repeat(1_000))).is_ok());
        let mut part = OutboundPart::text("a");
        part.buttons = vec![vec![Button {
            label: "x".to_owned(),
            data: "y".repeat(101),
        }]];
        assert!(content(&part).is_err());
    }
}
