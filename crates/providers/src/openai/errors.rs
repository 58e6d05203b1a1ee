//! Classifies errors by status and body, for OpenAI and compatible vendors.
//!
//! Codes decide first, then the status; the message only where vendors give no code, and
//! only phrases that name the context window. `max_tokens` or a number such as 429 in a text mean nothing.

mod error_codes;
mod retry_after;

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use self::{
    error_codes::{
        BAD_KEY, BROKEN, FILTERED, NO_CREDIT, OVERLOADED, SLOW_DOWN, TOO_LONG, number_after,
        window_in, window_phrase,
    },
    retry_after::{reset, wait_in},
};
use crate::{Error, http::error_response::ErrorResponse};

/// An error body in the vendors' forms: an object, a nested object, or only a text.
#[derive(Debug, Default, Deserialize)]
pub(super) struct OpenAiErrorBody {
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    message: Option<Value>,
    #[serde(default)]
    detail: Option<Value>,
    #[serde(default)]
    code: Option<Value>,
    #[serde(default, rename = "type")]
    kind: Option<String>,
}

/// The parsed facts about an error.
#[derive(Debug, Default, PartialEq)]
pub(super) struct OpenAiError {
    /// Absent for errors in the middle of a stream.
    pub(super) status: Option<u16>,
    /// The vendor's code and type, in lower case.
    pub(super) codes: Vec<String>,
    /// The message.
    pub(super) message: String,
    /// The context window, if the body has it as a number.
    pub(super) limit: Option<u64>,
    /// The retry delay from the headers.
    pub(super) retry_after: Option<Duration>,
}

impl OpenAiError {
    /// Parses a body. Anything that is not JSON is taken as the message.
    pub(super) fn read(status: Option<u16>, body: &str) -> Self {
        let mut failure = Self {
            status,
            ..Self::default()
        };
        match serde_json::from_str::<OpenAiErrorBody>(body) {
            Ok(parsed) => failure.fill(parsed),
            Err(_) => failure.message = body.trim().chars().take(500).collect(),
        }
        if status.is_none_or(|status| status < 300) {
            failure.status = failure.status_in_codes();
        }
        if failure.message.is_empty() {
            failure.message = status.map_or("no reason given".into(), |status| {
                format!("status {status}")
            });
        }
        failure
    }

    /// Parses a response that is not a stream.
    pub(super) fn from_response(refusal: &ErrorResponse) -> Self {
        let mut failure = Self::read(Some(refusal.status), &refusal.body);
        failure.message = refusal.error_text(&failure.message);
        failure.retry_after = refusal.retry_after().or_else(|| reset(refusal));
        failure
    }

    /// Parses an error object from the middle of a stream.
    pub(super) fn from_stream(error: Value) -> Self {
        let mut failure = Self::default();
        failure.fill(OpenAiErrorBody {
            error: Some(error),
            ..OpenAiErrorBody::default()
        });
        failure.status = failure.status_in_codes();
        failure.retry_after = wait_in(&failure.message);
        if failure.message.is_empty() {
            failure.message = "no reason given".into();
        }
        failure
    }

    /// A numeric code is the status of the vendor's own upstream.
    fn status_in_codes(&self) -> Option<u16> {
        self.codes
            .iter()
            .filter_map(|code| code.parse().ok())
            .find(|code| (400..600).contains(code))
    }

    fn fill(&mut self, body: OpenAiErrorBody) {
        self.codes.extend(body.kind.map(|kind| kind.to_lowercase()));
        self.codes.extend(body.code.as_ref().and_then(plain));
        match body.error {
            Some(Value::Object(inner)) => {
                self.codes.extend(
                    ["code", "type"]
                        .iter()
                        .filter_map(|key| inner.get(*key))
                        .filter_map(plain),
                );
                self.limit = inner.get("n_ctx").and_then(Value::as_u64);
                if inner
                    .get("metadata")
                    .and_then(|metadata| metadata.get("flagged_input"))
                    .is_some()
                {
                    self.codes.push("moderation".into());
                }
                self.message = inner
                    .get("message")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned();
            }
            Some(Value::String(text)) => self.message = text,
            _ => {}
        }
        if self.message.is_empty() {
            let words = body
                .message
                .or(body.detail)
                .filter(|words| !words.is_null());
            self.message = words
                .map(|words| words.as_str().map_or(words.to_string(), str::to_owned))
                .unwrap_or_default();
        }
    }

    /// The classified error.
    pub(super) fn error(self) -> Error {
        if let Some(limit) = self.too_long() {
            return Error::TooLong { limit };
        }
        let Self {
            status,
            message,
            retry_after,
            ..
        } = &self;
        let (message, retry_after) = (message.clone(), *retry_after);
        if self.says(NO_CREDIT) || self.says(BAD_KEY) || *status == Some(402) {
            Error::Unauthorized(message)
        } else if self.says(FILTERED) {
            Error::Refused(message)
        } else if self.says(OVERLOADED) {
            Error::Overloaded { retry_after }
        } else if self.says(SLOW_DOWN) {
            Error::RateLimited { retry_after }
        } else {
            match status {
                Some(401 | 403) => Error::Unauthorized(message),
                Some(429) => Error::RateLimited { retry_after },
                Some(498 | 503 | 529) => Error::Overloaded { retry_after },
                Some(408 | 409 | 425) => Error::Broken(message),
                Some(400..500) => Error::Refused(message),
                None if self.is_our_fault() => Error::Refused(message),
                _ => Error::Broken(message),
            }
        }
    }

    fn says(&self, codes: &[&str]) -> bool {
        self.codes.iter().any(|code| codes.contains(&code.as_str()))
    }

    /// Whether the request is at fault, for an error in a stream, which has no status.
    fn is_our_fault(&self) -> bool {
        !self.says(BROKEN)
            && self
                .codes
                .iter()
                .any(|code| code.starts_with("invalid_") || code.starts_with("unsupported_"))
    }

    /// Whether the request is too long, and the context window as far as it is named.
    fn too_long(&self) -> Option<Option<u64>> {
        if self.says(TOO_LONG) || self.status == Some(413) {
            return Some(self.limit.or_else(|| window_in(&self.message)));
        }
        // A single request above the limit per minute: waiting does not help, shortening does.
        if self.says(&["rate_limit_exceeded"]) && self.message.starts_with("Request too large for")
        {
            return Some(number_after(&self.message, "Limit "));
        }
        let may_be = matches!(self.status, None | Some(400 | 422));
        (may_be && window_phrase(&self.message).is_some()).then(|| window_in(&self.message))
    }
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.to_lowercase()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(status: u16, body: &str) -> Error {
        OpenAiError::read(Some(status), body).error()
    }

    #[test]
    fn too_long_is_found_in_every_vendors_words_and_nowhere_else() {
        let too_long = [
            (
                400,
                r#"{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
                None,
            ),
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 5000","type":"BadRequestError","code":400}}"#,
                Some(4096),
            ),
            (
                400,
                r#"{"object":"error","message":"This model's maximum context length is 32,768 tokens.","type":"BadRequestError","code":400}"#,
                Some(32768),
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}"#,
                Some(8192),
            ),
            (
                400,
                r#"{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 500000 tokens."}"#,
                Some(131_072),
            ),
            (413, "Payload Too Large", None),
            (
                429,
                r#"{"error":{"message":"Request too large for gpt-x in organization org on tokens per min (TPM): Limit 30000, Requested 40000.","type":"tokens","code":"rate_limit_exceeded"}}"#,
                Some(30000),
            ),
        ];
        for (status, body, limit) in too_long {
            assert_eq!(class(status, body), Error::TooLong { limit }, "{body}");
        }
        let unrelated = [
            (
                400,
                r#"{"error":{"message":"max_tokens is too large: 200000. This model supports at most 16384 completion tokens","type":"invalid_request_error","code":"invalid_value"}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"could not reach http://host:429/context","type":"invalid_request_error"}}"#,
            ),
            (
                404,
                r#"{"error":{"message":"no model with maximum context length 8","code":"model_not_found"}}"#,
            ),
        ];
        for (status, body) in unrelated {
            assert!(matches!(class(status, body), Error::Refused(_)), "{body}");
        }
    }

    #[test]
    fn codes_come_before_the_status() {
        let quota = r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#;
        assert!(matches!(class(429, quota), Error::Unauthorized(_)));
        let busy = r#"{"error":{"message":"busy","type":"engine_overloaded_error"}}"#;
        assert_eq!(class(429, busy), Error::Overloaded { retry_after: None });
        let flagged =
            r#"{"error":{"code":403,"message":"flagged","metadata":{"flagged_input":"x"}}}"#;
        assert!(matches!(class(403, flagged), Error::Refused(_)));
        let filter = r#"{"error":{"message":"filtered","code":"content_filter"}}"#;
        assert!(matches!(class(400, filter), Error::Refused(_)));
    }

    #[test]
    fn the_status_decides_when_no_code_does() {
        assert!(matches!(class(401, ""), Error::Unauthorized(text) if text == "status 401"));
        assert!(matches!(class(402, "{}"), Error::Unauthorized(_)));
        assert!(matches!(class(404, "<html>"), Error::Refused(text) if text == "<html>"));
        assert_eq!(class(429, "slow"), Error::RateLimited { retry_after: None });
        assert_eq!(class(503, ""), Error::Overloaded { retry_after: None });
        assert_eq!(class(529, ""), Error::Overloaded { retry_after: None });
        assert!(matches!(class(500, ""), Error::Broken(_)));
        assert!(matches!(class(408, ""), Error::Broken(_)));
    }

    #[test]
    fn what_is_told_in_a_stream_is_classed_like_an_answer() {
        let told = |value: Value| OpenAiError::from_stream(value).error();
        assert_eq!(
            told(serde_json::json!({"code": "rate_limit_exceeded", "message": "x"})),
            Error::RateLimited { retry_after: None }
        );
        assert_eq!(
            told(serde_json::json!({"code": 503, "message": "x"})),
            Error::Overloaded { retry_after: None }
        );
        assert!(matches!(
            told(serde_json::json!({"code": 502, "message": "x"})),
            Error::Broken(_)
        ));
        assert!(matches!(
            told(serde_json::json!({"code": "server_error", "message": "x"})),
            Error::Broken(_)
        ));
        assert!(matches!(
            told(serde_json::json!({"code": "invalid_image", "message": "x"})),
            Error::Refused(_)
        ));
        assert_eq!(
            told(serde_json::json!({"code": "context_length_exceeded", "message": ""})),
            Error::TooLong { limit: None }
        );
    }
}
