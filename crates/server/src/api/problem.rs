//! Errors of the API as `application/problem+json` (RFC 9457): code, cause and fix.

use std::borrow::Cow;

use axum::{
    http::{
        HeaderValue, StatusCode,
        header::{CONTENT_TYPE, RETRY_AFTER},
    },
    response::{IntoResponse, Response},
};
use rooftree_protocol::{AccessScope, ErrorCode, Problem};
use rooftree_runtime::Error;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use super::{agent_types::DefinitionDiagnostic, inquiry_types::AnsweredInquiry};

/// Seconds after which it is worth coming back.
const SOON: u16 = 2;

/// A request that failed. Boxed, because most results are no problem.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct ApiProblem(Box<ProblemDocument>);

impl JsonSchema for ApiProblem {
    fn schema_name() -> Cow<'static, str> {
        ProblemDocument::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        ProblemDocument::json_schema(generator)
    }
}

/// What a client reads of it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "ApiProblem")]
pub(crate) struct ProblemDocument {
    /// Names the kind of problem.
    #[serde(rename = "type")]
    kind: String,
    /// What failed.
    title: String,
    /// The HTTP status.
    status: u16,
    /// The error number people may quote.
    code: String,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// The field that is wrong, as a JSON pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer: Option<String>,
    /// The answer that counts, where a request came second.
    #[serde(skip_serializing_if = "Option::is_none")]
    answered: Option<AnsweredInquiry>,
    /// What is wrong with a definition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    diagnostics: Vec<DefinitionDiagnostic>,
    #[serde(skip)]
    retry_after: Option<u16>,
}

impl ApiProblem {
    /// A problem with this status.
    pub(crate) fn new(status: StatusCode, problem: Problem) -> Self {
        let Problem {
            code,
            message,
            cause,
            fix,
        } = problem;
        Self(Box::new(ProblemDocument {
            kind: format!("urn:rooftree:error:{}", code.number()),
            title: message,
            status: status.as_u16(),
            code: code.number().to_owned(),
            detail: cause,
            hint: fix,
            pointer: None,
            answered: None,
            diagnostics: Vec::new(),
            retry_after: None,
        }))
    }

    /// The same, with the place of the wrong field.
    pub(crate) fn at(mut self, pointer: impl Into<String>) -> Self {
        self.0.pointer = Some(pointer.into());
        self
    }

    /// The same, with the answer that came first.
    pub(crate) fn answered(mut self, answered: Option<AnsweredInquiry>) -> Self {
        self.0.answered = answered;
        self
    }

    /// The same, with what is wrong with a definition.
    pub(crate) fn diagnosed(mut self, diagnostics: Vec<DefinitionDiagnostic>) -> Self {
        self.0.diagnostics = diagnostics;
        self
    }

    /// The HTTP status.
    pub(crate) fn status(&self) -> u16 {
        self.0.status
    }

    /// The same with another status.
    pub(crate) fn with_status(mut self, status: StatusCode) -> Self {
        self.0.status = status.as_u16();
        self
    }

    /// Something that is not there, or not for this caller.
    pub(crate) fn not_found(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, Problem::new(code, message))
    }

    /// Something changed meanwhile, or was decided before.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        let problem = Problem::new(ErrorCode::Conflict, message);
        Self::new(StatusCode::CONFLICT, problem)
    }

    /// The first request with this idempotency key is not answered yet.
    pub(crate) fn in_flight() -> Self {
        let problem =
            Self::conflict("the first request with this Idempotency-Key is being carried out");
        problem.with_retry(SOON)
    }

    /// A request was carried out before, and its answer is not there any more.
    pub(crate) fn carried_out(is_secret: bool) -> Self {
        let cause = if is_secret {
            "its answer holds a secret, which is shown once and not stored"
        } else {
            "its answer is too large to be stored"
        };
        let problem = Problem::new(ErrorCode::Conflict, "the request was carried out before");
        Self::new(StatusCode::CONFLICT, problem.cause(cause))
    }

    /// Something that can be done no more.
    pub(crate) fn gone(message: impl Into<String>) -> Self {
        let problem = Problem::new(ErrorCode::InteractionUnavailable, message);
        Self::new(StatusCode::GONE, problem)
    }

    fn with_retry(mut self, seconds: u16) -> Self {
        self.0.retry_after = Some(seconds);
        self
    }

    /// Something in the request that is not well-formed.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        let problem = Problem::new(ErrorCode::InvalidArguments, message);
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, problem)
    }

    /// Parameters after `?` that cannot be read.
    pub(crate) fn invalid_query(what: &str) -> Self {
        let why = what
            .strip_prefix("Failed to deserialize query string: ")
            .unwrap_or(what);
        let message = "the query does not have the expected shape";
        let problem = Problem::new(ErrorCode::InvalidArguments, message).cause(why);
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, problem)
    }

    /// A token or cookie that is not good, or not any more.
    pub(crate) fn wrong_credential() -> Self {
        let message = "the access token or login is wrong, was revoked, or has ended";
        let problem = Problem::new(ErrorCode::Unauthorized, message).fix(
            "`rooftree token create NAME` makes a token, `rooftree person link` logs a browser in",
        );
        Self::new(StatusCode::UNAUTHORIZED, problem)
    }

    pub(crate) fn unauthorized() -> Self {
        let problem = Problem::new(ErrorCode::Unauthorized, "this needs an access token")
            .fix("send `Authorization: Bearer TOKEN`; `rooftree token create NAME` makes one");
        Self::new(StatusCode::UNAUTHORIZED, problem)
    }

    pub(crate) fn missing_scope(scope: AccessScope) -> Self {
        let message = format!("this needs a token with the scope `{scope}`");
        let problem = Problem::new(ErrorCode::ToolDenied, message)
            .fix(format!("rooftree token create NAME --scope {scope}"));
        Self::new(StatusCode::FORBIDDEN, problem)
    }

    pub(crate) fn foreign() -> Self {
        let message = "the request comes from a page of another site, or calls this server by an unknown name";
        let problem = Problem::new(ErrorCode::ToolDenied, message)
            .fix("call it by its address, as localhost, or by a name given with --host");
        Self::new(StatusCode::FORBIDDEN, problem)
    }

    pub(crate) fn misdirected() -> Self {
        let problem = Problem::new(
            ErrorCode::ToolDenied,
            "the request asks for a name that is not one of this server's",
        )
        .fix("call it by its address, as localhost, or by the name in --public-url or --host");
        Self::new(StatusCode::MISDIRECTED_REQUEST, problem)
    }

    /// A cookie without proof that our own page sent the request.
    pub(crate) fn forged() -> Self {
        let message =
            "a request with a cookie changes something only if a page of this server sent it";
        let problem = Problem::new(ErrorCode::ToolDenied, message)
            .cause("it has no `Origin`, no `Sec-Fetch-Site: same-origin` and no `X-Rooftree-CSRF`, or its body is no JSON")
            .fix("send `Content-Type: application/json` and the `csrf` of GET /api/v1/me; programs use a token");
        Self::new(StatusCode::FORBIDDEN, problem)
    }

    /// The token of the environment, which is for `/v1` alone.
    pub(crate) fn chat_token() -> Self {
        let message = "ROOFTREE_SERVER_TOKEN is good for /v1 alone";
        let problem = Problem::new(ErrorCode::Unauthorized, message)
            .fix("rooftree token create NAME --scope chat");
        Self::new(StatusCode::UNAUTHORIZED, problem)
    }

    /// Too many wrong credentials came from this address.
    pub(crate) fn locked(seconds: u16) -> Self {
        let message = "too many wrong tokens or links came from this address";
        let problem = Problem::new(ErrorCode::LimitReached, message).fix(format!(
            "wait {seconds} s; those who are logged in are not affected"
        ));
        Self::new(StatusCode::TOO_MANY_REQUESTS, problem).with_retry(seconds)
    }

    /// A link that is unknown, used or expired: the three look the same.
    pub(crate) fn no_link() -> Self {
        let message = "this link is used, has expired, or never was one";
        let problem = Problem::new(ErrorCode::Unauthorized, message)
            .fix("`rooftree person link` makes another one");
        Self::new(StatusCode::UNAUTHORIZED, problem)
    }

    pub(crate) fn no_route() -> Self {
        let problem = Problem::new(ErrorCode::InvalidArguments, "there is no such path")
            .fix("GET /api/openapi.json lists the paths");
        Self::new(StatusCode::NOT_FOUND, problem)
    }

    pub(crate) fn method_not_allowed() -> Self {
        let problem = Problem::new(
            ErrorCode::InvalidArguments,
            "this path does not have this method",
        )
        .fix("GET /api/openapi.json lists the methods of each path");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, problem)
    }

    pub(crate) fn stopping() -> Self {
        let problem = Problem::new(ErrorCode::Cancelled, "the server is shutting down");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, problem).with_retry(SOON)
    }

    /// A limit of the server is reached.
    pub(crate) fn busy(message: impl Into<String>) -> Self {
        let problem = Problem::new(ErrorCode::LimitReached, message);
        Self::new(StatusCode::TOO_MANY_REQUESTS, problem).with_retry(SOON)
    }
}

impl From<Problem> for ApiProblem {
    fn from(problem: Problem) -> Self {
        Self::new(status(problem.code), problem)
    }
}

impl From<Error> for ApiProblem {
    fn from(error: Error) -> Self {
        error.problem().into()
    }
}

impl From<rooftree_store::Error> for ApiProblem {
    fn from(error: rooftree_store::Error) -> Self {
        error.problem().into()
    }
}

/// The status of a problem that names none.
fn status(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::InvalidArguments | ErrorCode::InvalidConfig => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorCode::SessionNotFound
        | ErrorCode::AgentNotFound
        | ErrorCode::TaskNotFound
        | ErrorCode::ToolNotFound => StatusCode::NOT_FOUND,
        ErrorCode::Unauthorized => StatusCode::UNAUTHORIZED,
        ErrorCode::ToolDenied | ErrorCode::ToolNotAllowed => StatusCode::FORBIDDEN,
        ErrorCode::SessionBusy | ErrorCode::Conflict | ErrorCode::InteractionUnavailable => {
            StatusCode::CONFLICT
        }
        ErrorCode::InboxFull | ErrorCode::LimitReached => StatusCode::TOO_MANY_REQUESTS,
        ErrorCode::StoreFailed | ErrorCode::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl IntoResponse for ApiProblem {
    fn into_response(self) -> Response {
        let body = serde_json::to_string(&self).unwrap_or_default();
        let status =
            StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, body).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        let soon = matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
        );
        if let Some(seconds) = self.0.retry_after.or(soon.then_some(SOON)) {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}
