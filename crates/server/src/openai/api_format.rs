//! The API formats (Chat Completions, Responses): what they share, and how each is parsed and answered.

use rooftree_protocol::{RunId, RunStatus, SessionId, Timestamp, Usage};
use serde_json::{Map, Value};

use super::{
    errors::ApiError,
    request::{ApiRequest, ResponseMode},
};
use crate::answer_stream::AnswerPiece;

/// One API format.
pub(crate) struct ApiFormat {
    pub(crate) read: fn(&[u8]) -> Result<ApiRequest, ApiError>,
    /// Writes a whole response.
    pub(crate) whole: fn(ResponseMetadata, &[AnswerPiece], &ResponseEnd) -> Value,
    /// Makes the encoder of a streamed response.
    pub(crate) pieces: fn(ResponseMetadata, ResponseMode) -> Box<dyn StreamEncoder>,
}

/// Writes an answer as it comes: the beginning, what is told, then one of the ends.
pub(crate) trait StreamEncoder: Send {
    fn begin(&mut self) -> Vec<SseFrame>;
    fn told(&mut self, told: &AnswerPiece) -> Vec<SseFrame>;
    fn end(&mut self, ending: &ResponseEnd) -> Vec<SseFrame>;
    fn fail(&mut self, failure: &ApiError) -> Vec<SseFrame>;
}

/// One server-sent event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SseFrame {
    pub(crate) name: Option<String>,
    pub(crate) data: String,
}

/// What all pieces of one answer have in common.
#[derive(Clone, Debug)]
pub(crate) struct ResponseMetadata {
    pub(crate) model: String,
    pub(crate) session: SessionId,
    pub(crate) run: RunId,
    pub(crate) created: Timestamp,
    /// Fields of the request that had no effect.
    pub(crate) ignored: Vec<String>,
}

/// How an answer ended.
#[derive(Debug)]
pub(crate) struct ResponseEnd {
    pub(crate) status: ResponseStatus,
    pub(crate) usage: Usage,
}

/// Why it ended, as far as that is an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResponseStatus {
    /// How the run ended, and whether its work was verified.
    Run(RunStatus, Option<bool>),
    /// A request must be answered first: `permission` or `question`, and its id.
    Needs(&'static str, String),
}

impl ResponseStatus {
    /// A run that is cut off by a limit of its own is an answer that is too short.
    pub(crate) fn is_truncated(&self) -> bool {
        use RunStatus::{Budget, MaxTurns, TimedOut, Truncated};
        matches!(self, Self::Run(MaxTurns | Budget | TimedOut | Truncated, _))
    }

    fn name(&self) -> String {
        match self {
            Self::Run(status, _) => status.to_string(),
            Self::Needs("permission", _) => "needs_permission".into(),
            Self::Needs(..) => "needs_answer".into(),
        }
    }
}

impl ResponseMetadata {
    /// The answer's name: the run's, as this wire begins names.
    pub(crate) fn id(&self, prefix: &str) -> String {
        let run = self.run.as_str();
        format!("{prefix}{}", run.strip_prefix(RunId::PREFIX).unwrap_or(run))
    }

    pub(crate) fn seconds(&self) -> i64 {
        self.created.0.div_euclid(1_000)
    }

    /// What only we say. Clients of OpenAI leave fields alone that they do not know.
    pub(crate) fn extension(&self, status: &ResponseStatus) -> Value {
        let mut more = Map::new();
        more.insert("status".into(), status.name().into());
        if let ResponseStatus::Needs(kind, id) = status {
            more.insert((*kind).into(), id.as_str().into());
        }
        if let ResponseStatus::Run(_, Some(verified)) = status {
            more.insert("verified".into(), (*verified).into());
        }
        more.insert("session".into(), self.session.as_str().into());
        more.insert("run".into(), self.run.as_str().into());
        if !self.ignored.is_empty() {
            more.insert("ignored".into(), self.ignored.clone().into());
        }
        Value::Object(more)
    }
}

/// The same object with one more field, or another value in it.
pub(super) fn with(mut object: Value, name: &str, value: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(name.into(), value);
    }
    object
}
