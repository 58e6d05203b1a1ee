//! Failure classes of answers of the Telegram Bot API: what a status and its description mean for a retry.

use std::time::Duration;

use serde_json::Value;

use crate::{FailureClass, SendError};

/// Descriptions of status 400 that say the chat, topic or message is gone.
const GONE: &[&str] = &[
    "chat not found",
    "user not found",
    "message to edit not found",
    "message to be replied not found",
    "replied message not found",
    "message thread not found",
    "topic_deleted",
    "topic_id_invalid",
    "message_id_invalid",
    "peer_id_invalid",
    "query is too old",
    "query id is invalid",
    "upgraded to a supergroup",
    "invalid file_id",
    "wrong file_id",
];

/// Descriptions of status 400 that say the bot may not do it.
const FORBIDDEN: &[&str] = &[
    "not enough rights",
    "have no rights",
    "need administrator rights",
    "chat_write_forbidden",
    "chat_restricted",
    "topic_closed",
    "user_is_blocked",
    "message can't be edited",
];

/// The failure that an answer with `ok: false` tells.
pub(super) fn of(method: &str, status: u16, body: &Value) -> SendError {
    let code = body.get("error_code").and_then(Value::as_u64);
    let code = code
        .and_then(|code| u16::try_from(code).ok())
        .unwrap_or(status);
    let description = body.get("description").and_then(Value::as_str);
    let description: String = description
        .unwrap_or("no description")
        .chars()
        .take(200)
        .collect();
    let parameter = |name: &str| {
        body.get("parameters")
            .and_then(|all| all.get(name)?.as_i64())
    };
    let message = format!("Telegram refused {method} ({code}): {description}");
    let mut error = SendError::new(class(code, &description), message);
    let seconds = parameter("retry_after").and_then(|seconds| u64::try_from(seconds).ok());
    error.retry_after = seconds.map(Duration::from_secs);
    error.moved_to = parameter("migrate_to_chat_id").map(|chat| chat.to_string());
    error
}

fn class(code: u16, description: &str) -> FailureClass {
    let description = description.to_lowercase();
    let has = |list: &[&str]| list.iter().any(|words| description.contains(words));
    match code {
        // A token of a wrong form is a path that does not exist.
        401 | 404 => FailureClass::Auth,
        403 => FailureClass::Permission,
        409 => FailureClass::Conflict,
        429 => FailureClass::RateLimit,
        400 if has(GONE) => FailureClass::NotFound,
        400 if has(FORBIDDEN) => FailureClass::Permission,
        500.. => FailureClass::Transient,
        _ => FailureClass::InvalidPayload,
    }
}

/// The failure that an answer without JSON tells: it is from a proxy in between, or broken.
pub(super) fn without_json(method: &str, status: u16) -> SendError {
    let class = match status {
        401 | 404 => FailureClass::Auth,
        403 | 407 => FailureClass::Permission,
        413 => FailureClass::InvalidPayload,
        429 => FailureClass::RateLimit,
        503 => FailureClass::Transient,
        // A gateway that lost the answer, too: the request may have been carried out.
        _ => FailureClass::Unknown,
    };
    SendError::new(
        class,
        format!("the answer to {method} was status {status} without JSON"),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_has_the_class_that_says_what_can_be_done() {
        use FailureClass::{
            Auth, Conflict, InvalidPayload, NotFound, Permission, RateLimit, Transient,
        };
        let cases = [
            (401, "Unauthorized", Auth),
            (404, "Not Found", Auth),
            (403, "Forbidden: bot was blocked by the user", Permission),
            (400, "Bad Request: can't parse entities", InvalidPayload),
            (400, "Bad Request: message is too long", InvalidPayload),
            (400, "Bad Request: chat not found", NotFound),
            (400, "Bad Request: message thread not found", NotFound),
            (400, "Bad Request: TOPIC_CLOSED", Permission),
            (
                400,
                "Bad Request: not enough rights to send text messages",
                Permission,
            ),
            (
                409,
                "Conflict: terminated by other getUpdates request",
                Conflict,
            ),
            (413, "Request Entity Too Large", InvalidPayload),
            (429, "Too Many Requests: retry after 7", RateLimit),
            (502, "Bad Gateway", Transient),
        ];
        for (code, description, class) in cases {
            let body = json!({"ok": false, "error_code": code, "description": description});
            assert_eq!(of("sendMessage", code, &body).class, class, "{description}");
        }
    }

    #[test]
    fn flood_control_says_how_long_to_wait() {
        let body = json!({"ok": false, "error_code": 429, "description": "x", "parameters": {"retry_after": 7}});
        let error = of("sendMessage", 429, &body);
        assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
    }
}
