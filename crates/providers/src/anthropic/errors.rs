//! Classifies error responses: by the vendor's error code first, else by the HTTP status.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rooftree_protocol::Timestamp;
use serde_json::Value;

use super::events::{AnthropicError, AnthropicErrorBody};
use crate::{Error, http::error_response::ErrorResponse};

/// Classifies a response that is not a stream.
pub(super) fn classify_response(refusal: &ErrorResponse) -> Error {
    let failure = refusal
        .json()
        .map(|body: AnthropicErrorBody| body.error)
        .unwrap_or_default();
    let wait = || {
        refusal
            .retry_after()
            .or_else(|| reset(refusal, SystemTime::now()))
    };
    match by_code(&failure, refusal.error_text(&failure.message)) {
        Some(Error::RateLimited { .. }) => Error::RateLimited {
            retry_after: wait(),
        },
        Some(Error::Overloaded { .. }) => Error::Overloaded {
            retry_after: wait(),
        },
        Some(error) => error,
        None => match refusal.classify_status(&failure.message) {
            Error::RateLimited { .. } => Error::RateLimited {
                retry_after: wait(),
            },
            other => other,
        },
    }
}

/// Classifies an error event in the middle of a stream.
pub(super) fn classify_in_stream(failure: &AnthropicError) -> Error {
    let words = failure.message.clone();
    by_code(failure, words.clone()).unwrap_or(Error::Broken(words))
}

fn by_code(failure: &AnthropicError, words: String) -> Option<Error> {
    let AnthropicError {
        r#type,
        message,
        n_ctx,
    } = failure;
    Some(match r#type.as_str() {
        "rate_limit_error" => Error::RateLimited { retry_after: None },
        "overloaded_error" => Error::Overloaded { retry_after: None },
        "authentication_error" | "permission_error" => Error::Unauthorized(words),
        "request_too_large" => Error::TooLong { limit: None },
        // The code llama.cpp uses on this API.
        "exceed_context_size_error" => Error::TooLong { limit: *n_ctx },
        "invalid_request_error" if is_too_long(message) => Error::TooLong {
            limit: limit(message),
        },
        "invalid_request_error" | "billing_error" | "not_found_error" => Error::Refused(words),
        "api_error" | "timeout_error" => Error::Broken(words),
        _ => return None,
    })
}

/// The vendor has no code for a prompt that is too long, only sentences. They are matched at their
/// beginning, because an error may quote any text, these sentences included.
fn is_too_long(message: &str) -> bool {
    const BEGINNINGS: &[&str] = &[
        "prompt is too long",
        "input is too long for requested model",
        "input length and `max_tokens` exceed context limit",
    ];
    let message = message.trim_start().to_ascii_lowercase();
    BEGINNINGS
        .iter()
        .any(|beginning| message.starts_with(beginning))
}

/// Parses the number behind the `>` in "213000 tokens > 200000 maximum".
fn limit(message: &str) -> Option<u64> {
    let (_, behind) = message.split_once('>')?;
    let digits: String = behind
        .trim_start()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

/// Time until the exhausted rate limit resets, from the vendor's own headers.
fn reset(refusal: &ErrorResponse, now: SystemTime) -> Option<Duration> {
    let now = Timestamp(i64::try_from(now.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()?);
    let wait = |limit: &&str| {
        let header = |end: &str| refusal.header(&format!("anthropic-ratelimit-{limit}-{end}"));
        let used_up = header("remaining")? == "0";
        let moment = Value::String(header("reset").filter(|_| used_up)?.to_owned());
        Some(serde_json::from_value::<Timestamp>(moment).ok()?.since(now))
    };
    ["requests", "tokens", "input-tokens", "output-tokens"]
        .iter()
        .filter_map(wait)
        .max()
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

    use super::*;

    fn refusal(status: u16, code: &str, message: &str) -> ErrorResponse {
        let body =
            serde_json::json!({"type": "error", "error": {"type": code, "message": message}});
        ErrorResponse {
            status,
            body: body.to_string(),
            headers: HeaderMap::new(),
        }
    }

    #[test]
    fn a_prompt_that_does_not_fit_is_told_apart_from_other_refusals() {
        let invalid = |message| classify_response(&refusal(400, "invalid_request_error", message));
        assert_eq!(
            invalid("prompt is too long: 213462 tokens > 200000 maximum"),
            Error::TooLong {
                limit: Some(200_000)
            }
        );
        assert_eq!(
            invalid(
                "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease"
            ),
            Error::TooLong {
                limit: Some(200_000)
            }
        );
        for unrelated in [
            "max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens",
            "messages.0: the text `prompt is too long` is not allowed here",
            "tools.3.name: string too long",
            "connect to 127.0.0.1:4290 failed",
            "messages.1.content.0.image.source.base64: image exceeds 5 MB maximum",
        ] {
            assert!(
                matches!(invalid(unrelated), Error::Refused(_)),
                "{unrelated}"
            );
        }
    }

    #[test]
    fn the_code_decides_before_the_status() {
        assert_eq!(
            classify_response(&refusal(400, "overloaded_error", "x")),
            Error::Overloaded { retry_after: None }
        );
        assert_eq!(
            classify_response(&refusal(413, "request_too_large", "x")),
            Error::TooLong { limit: None }
        );
        assert_eq!(
            classify_response(&refusal(500, "api_error", "x")),
            Error::Broken("x".into())
        );
        assert_eq!(
            classify_response(&refusal(418, "tea_error", "x")),
            Error::Refused("x".into())
        );
        let failure = AnthropicError {
            r#type: "new".into(),
            message: "x".into(),
            n_ctx: None,
        };
        assert_eq!(classify_in_stream(&failure), Error::Broken("x".into()));
    }

    #[test]
    fn a_local_server_says_how_much_fits() {
        let body = r#"{"error": {"code": 400, "type": "exceed_context_size_error", "message": "x", "n_ctx": 4096}}"#;
        let refusal = ErrorResponse {
            status: 400,
            body: body.into(),
            ..ErrorResponse::default()
        };
        assert_eq!(
            classify_response(&refusal),
            Error::TooLong { limit: Some(4096) }
        );
    }

    #[test]
    fn a_used_up_limit_says_when_it_is_full_again() {
        let mut refusal = refusal(429, "rate_limit_error", "slow down");
        for (name, value) in [
            ("anthropic-ratelimit-requests-remaining", "12"),
            ("anthropic-ratelimit-requests-reset", "2026-11-15T12:00:00Z"),
            ("anthropic-ratelimit-tokens-remaining", "0"),
            ("anthropic-ratelimit-tokens-reset", "2026-11-15T10:00:07Z"),
        ] {
            refusal.headers.insert(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        let now = httpdate::parse_http_date("Sun, 15 Nov 2026 10:00:00 GMT").unwrap();
        assert_eq!(reset(&refusal, now), Some(Duration::from_secs(7)));
    }
}
