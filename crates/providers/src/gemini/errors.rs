//! Classifies error responses: by the vendor's status word first, else by the HTTP status.

use std::time::Duration;

use serde_json::Value;

use super::events::{GeminiError, GeminiErrorBody};
use crate::{Error, http::error_response::ErrorResponse};

/// Classifies a response that is not a stream.
pub(super) fn classify_response(refusal: &ErrorResponse) -> Error {
    let failure = match refusal.json() {
        Some(
            GeminiErrorBody::One { error }
            | GeminiErrorBody::List([super::events::GeminiErrorItem { error }]),
        ) => error,
        None => GeminiError::default(),
    };
    let words = refusal.error_text(&failure.message);
    by_word(&failure, refusal.retry_after(), words)
        .unwrap_or_else(|| refusal.classify_status(&failure.message))
}

/// Classifies an error event in the middle of a stream.
pub(super) fn classify_in_stream(failure: &GeminiError) -> Error {
    let words = failure.message.clone();
    by_word(failure, None, words.clone()).unwrap_or_else(|| {
        let refusal = ErrorResponse {
            status: failure.code,
            ..ErrorResponse::default()
        };
        if failure.code < 400 {
            Error::Broken(words)
        } else {
            refusal.classify_status(&words)
        }
    })
}

fn by_word(failure: &GeminiError, wait: Option<Duration>, words: String) -> Option<Error> {
    let retry_after = wait.or_else(|| delay(&failure.details));
    Some(match failure.status.as_str() {
        "RESOURCE_EXHAUSTED" => Error::RateLimited { retry_after },
        "UNAVAILABLE" => Error::Overloaded { retry_after },
        "UNAUTHENTICATED" | "PERMISSION_DENIED" => Error::Unauthorized(words),
        "INVALID_ARGUMENT" if has_reason(&failure.details, "API_KEY_INVALID") => {
            Error::Unauthorized(words)
        }
        "INVALID_ARGUMENT" if is_too_long(&failure.message) => Error::TooLong {
            limit: limit(&failure.message),
        },
        "INVALID_ARGUMENT"
        | "FAILED_PRECONDITION"
        | "NOT_FOUND"
        | "OUT_OF_RANGE"
        | "UNIMPLEMENTED" => Error::Refused(words),
        "INTERNAL" | "DEADLINE_EXCEEDED" | "ABORTED" | "CANCELLED" | "UNKNOWN" | "DATA_LOSS" => {
            Error::Broken(words)
        }
        _ => return None,
    })
}

/// The vendor has no code for a prompt that is too long, only this sentence. It is matched at its
/// beginning and further on, because an error may quote any text.
fn is_too_long(message: &str) -> bool {
    let message = message.trim_start();
    message.starts_with("The input token count")
        && message.contains("exceeds the maximum number of tokens")
}

/// The last number of the sentence, in parentheses or not.
fn limit(message: &str) -> Option<u64> {
    let (_, behind) = message.split_once("tokens allowed")?;
    let digits: String = behind
        .chars()
        .skip_while(|letter| !letter.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

/// The `retryDelay` of a `RetryInfo`: seconds with an `s` behind them.
fn delay(details: &[Value]) -> Option<Duration> {
    let delay = details
        .iter()
        .find_map(|detail| detail.get("retryDelay")?.as_str())?;
    let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn has_reason(details: &[Value], reason: &str) -> bool {
    details
        .iter()
        .any(|detail| detail.get("reason").is_some_and(|found| found == reason))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(status: u16, word: &str, message: &str, details: Value) -> ErrorResponse {
        let body = json!({"error": {"code": status, "message": message, "status": word, "details": details}});
        ErrorResponse {
            status,
            body: body.to_string(),
            ..ErrorResponse::default()
        }
    }

    #[test]
    fn a_prompt_that_does_not_fit_is_told_apart_from_other_refusals() {
        let invalid =
            |message| classify_response(&refusal(400, "INVALID_ARGUMENT", message, json!([])));
        for message in [
            "The input token count (1091639) exceeds the maximum number of tokens allowed (1048576).",
            "The input token count exceeds the maximum number of tokens allowed 1048576.",
        ] {
            assert_eq!(
                invalid(message),
                Error::TooLong {
                    limit: Some(1_048_576)
                },
                "{message}"
            );
        }
        for unrelated in [
            "Unable to submit request because it has a maxOutputTokens value of 99999",
            "tool text: `The input token count exceeds the maximum number of tokens`",
            "Request contains an invalid argument.",
        ] {
            assert!(
                matches!(invalid(unrelated), Error::Refused(_)),
                "{unrelated}"
            );
        }
    }

    #[test]
    fn the_body_says_how_long_to_wait() {
        let info = json!([
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure"},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "38.5s"},
        ]);
        assert_eq!(
            classify_response(&refusal(429, "RESOURCE_EXHAUSTED", "quota", info)),
            Error::RateLimited {
                retry_after: Some(Duration::from_millis(38_500))
            }
        );
    }

    #[test]
    fn a_wrong_key_is_not_a_wrong_request() {
        let info = json!([{"reason": "API_KEY_INVALID"}]);
        let error = classify_response(&refusal(
            400,
            "INVALID_ARGUMENT",
            "API key not valid.",
            info,
        ));
        assert_eq!(error, Error::Unauthorized("API key not valid.".into()));
    }

    #[test]
    fn a_refusal_in_a_list_is_read() {
        let body = json!([{"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}])
            .to_string();
        let refusal = ErrorResponse {
            status: 503,
            body,
            ..ErrorResponse::default()
        };
        assert_eq!(
            classify_response(&refusal),
            Error::Overloaded { retry_after: None }
        );
    }
}
