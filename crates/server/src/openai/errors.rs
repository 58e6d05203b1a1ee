//! API errors in the JSON shape every OpenAI client parses.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
};
use rooftree_protocol::{AccessScope, ErrorCode, Problem};
use serde_json::{Value, json};

/// Seconds after which it is worth coming back.
const SOON: u16 = 5;

/// A request that is not answered as it was meant to be.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: String,
    /// The field that is wrong.
    param: Option<String>,
    message: String,
    again: RetryAdvice,
}

/// Whether the client should try again by itself. OpenAI's own do so after any 5xx, 429 and 409
/// unless they are told not to, and a run that has begun must not begin again because it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RetryAdvice {
    AsItLikes,
    After(u16),
    Never,
}

impl ApiError {
    fn new(status: StatusCode, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            status,
            code: code.into(),
            param: None,
            message: message.into(),
            again: RetryAdvice::AsItLikes,
        }
    }

    /// A field that cannot be used as it is.
    pub(crate) fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        let failure = Self::new(StatusCode::BAD_REQUEST, "invalid_value", message);
        Self {
            param: Some(param.into()),
            ..failure
        }
    }

    /// A body that cannot be understood at all.
    pub(crate) fn unreadable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_json", message)
    }

    /// No token, or a wrong one.
    pub(crate) fn unauthorized() -> Self {
        let message = "this needs a token with the scope `chat` as `Authorization: Bearer TOKEN`; \
                       `rooftree token create NAME --scope chat` makes one";
        Self::new(StatusCode::UNAUTHORIZED, "invalid_api_key", message)
    }

    /// A token that may do something else.
    pub(crate) fn missing_scope(scope: AccessScope) -> Self {
        let message = format!(
            "this needs a token with the scope `{scope}`; `rooftree token create NAME --scope {scope}` makes one"
        );
        Self::new(StatusCode::FORBIDDEN, "missing_scope", message)
    }

    /// Too many wrong tokens came from this address.
    pub(crate) fn locked(seconds: u16) -> Self {
        let message = format!("too many wrong tokens came from this address; wait {seconds} s");
        let failure = Self::new(StatusCode::TOO_MANY_REQUESTS, "locked_out", message);
        Self {
            again: RetryAdvice::After(seconds),
            ..failure
        }
    }

    /// Called by a name that is not ours: what a page does that was led here by its own DNS.
    pub(crate) fn misdirected(host: &str) -> Self {
        let message = format!(
            "`{host}` is no name of this server; call it by its address or as localhost, or start it with --host NAME"
        );
        Self::new(StatusCode::MISDIRECTED_REQUEST, "unknown_host", message)
    }

    /// Sent by a page of another site.
    pub(crate) fn foreign_page() -> Self {
        let message = "pages of other sites may not ask this server; ask from a program";
        Self::new(StatusCode::FORBIDDEN, "cross_origin", message)
    }

    /// No such agent, or one that is not to be reached: the two look the same.
    pub(crate) fn no_model(name: &str) -> Self {
        let name: String = name.chars().take(100).collect();
        let message = format!("there is no model `{name}`; GET /v1/models lists those there are");
        let failure = Self::new(StatusCode::NOT_FOUND, "model_not_found", message);
        Self {
            param: Some("model".into()),
            ..failure
        }
    }

    /// No such URL.
    pub(crate) fn no_route() -> Self {
        let message = "there is GET /v1/models, POST /v1/chat/completions and POST /v1/responses";
        Self::new(StatusCode::NOT_FOUND, "unknown_url", message)
    }

    /// A session that is not one of this agent's.
    pub(crate) fn no_session(name: &str) -> Self {
        let message = format!("there is no session `{name}` of this agent");
        let failure = Self::new(StatusCode::NOT_FOUND, "session_not_found", message);
        Self {
            param: Some("x-rooftree-session".into()),
            ..failure
        }
    }

    /// A body of another kind.
    pub(crate) fn not_json() -> Self {
        let message = "the body must be JSON, and say so: `Content-Type: application/json`";
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            message,
        )
    }

    /// A body that is too large, or too slow.
    pub(crate) fn body(status: StatusCode, most: usize) -> Self {
        match status {
            StatusCode::REQUEST_TIMEOUT => {
                Self::new(status, "request_timeout", "the body did not come in time")
            }
            _ => Self::new(
                status,
                "request_too_large",
                format!("a request has at most {most} bytes"),
            ),
        }
    }

    /// As many are answered as can be at once.
    pub(crate) fn busy(most: usize) -> Self {
        let message = format!("{most} requests are being answered, which is the limit");
        let failure = Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "rate_limit_exceeded",
            message,
        );
        Self {
            again: RetryAdvice::After(SOON),
            ..failure
        }
    }

    /// The server ends, before anything was begun.
    pub(crate) fn stopping() -> Self {
        let failure = Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "shutting_down",
            "the server is shutting down",
        );
        Self {
            again: RetryAdvice::After(SOON),
            ..failure
        }
    }

    /// The server ends in the middle of an answer that goes on without the client.
    pub(crate) fn stopping_midway() -> Self {
        let message = "the server is shutting down; the session goes on when it starts again";
        let failure = Self::new(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", message);
        Self {
            again: RetryAdvice::Never,
            ..failure
        }
    }

    /// The server ends and has stopped the run.
    pub(crate) fn stopped_with_us() -> Self {
        let message =
            "the server is shutting down and has stopped the run; what it had done is not undone";
        let failure = Self::new(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", message);
        Self {
            again: RetryAdvice::Never,
            ..failure
        }
    }

    /// A defect of ours.
    pub(crate) fn unexpected() -> Self {
        let message = "the message was answered with something else";
        let failure = Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message);
        Self {
            again: RetryAdvice::Never,
            ..failure
        }
    }

    /// The request was not accepted.
    pub(crate) fn refused(problem: &Problem) -> Self {
        let (status, again) = match problem.code {
            ErrorCode::InvalidArguments => (StatusCode::BAD_REQUEST, RetryAdvice::AsItLikes),
            ErrorCode::SessionNotFound | ErrorCode::AgentNotFound => {
                (StatusCode::NOT_FOUND, RetryAdvice::AsItLikes)
            }
            ErrorCode::InboxFull => (StatusCode::TOO_MANY_REQUESTS, RetryAdvice::After(SOON)),
            ErrorCode::StoreFailed => (StatusCode::SERVICE_UNAVAILABLE, RetryAdvice::After(SOON)),
            ErrorCode::Cancelled => return Self::stopping(),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, RetryAdvice::Never),
        };
        Self {
            again,
            ..Self::new(status, error_code_name(problem.code), in_words(problem))
        }
    }

    /// The agent was at work and did not get to the end.
    pub(crate) fn failed(problem: &Problem) -> Self {
        let (status, code) = match problem.code {
            ErrorCode::ContextTooLong => {
                (StatusCode::BAD_REQUEST, "context_length_exceeded".into())
            }
            ErrorCode::Cancelled => (StatusCode::CONFLICT, "cancelled".into()),
            ErrorCode::ProviderUnavailable => (
                StatusCode::SERVICE_UNAVAILABLE,
                error_code_name(problem.code),
            ),
            ErrorCode::Unauthorized | ErrorCode::ProviderRefused => {
                (StatusCode::BAD_GATEWAY, error_code_name(problem.code))
            }
            _ => (
                StatusCode::INTERNAL_SERVER_ERROR,
                error_code_name(problem.code),
            ),
        };
        Self {
            again: RetryAdvice::Never,
            ..Self::new(status, code, in_words(problem))
        }
    }

    /// What a client reads, also in the middle of a stream.
    pub(crate) fn body_value(&self) -> Value {
        json!({"error": {"message": self.message, "type": self.kind(), "param": self.param, "code": self.code}})
    }

    /// The same where only this much is said.
    pub(crate) fn short_value(&self) -> Value {
        json!({"code": self.code, "message": self.message})
    }

    fn kind(&self) -> &'static str {
        match self.status {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::FORBIDDEN | StatusCode::MISDIRECTED_REQUEST => "permission_error",
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body_value())).into_response();
        let headers = response.headers_mut();
        match self.again {
            RetryAdvice::AsItLikes => {}
            RetryAdvice::After(seconds) => {
                headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
            }
            RetryAdvice::Never => {
                headers.insert("x-should-retry", HeaderValue::from_static("false"));
            }
        }
        response
    }
}

fn error_code_name(code: ErrorCode) -> String {
    serde_json::to_value(code)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}

fn in_words(problem: &Problem) -> String {
    let more = [problem.cause.as_deref(), problem.fix.as_deref()];
    let more = more.into_iter().flatten().map(|words| format!("; {words}"));
    std::iter::once(problem.message.clone())
        .chain(more)
        .collect()
}
