//! JSON form of a recorded answer: a whole reply, or the error.

use std::time::Duration;

use rooftree_protocol::{
    Problem, Usage,
    event::{NoticeLevel, ReplyPart, StopReason},
};
use serde::{Deserialize, Serialize};

use crate::{Error, ModelReply, error::UnreachableServer};

/// A recorded answer with its notices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RecordedAnswer {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<RecordedNotice>,
    #[serde(flatten)]
    pub(super) answer: RecordedOutcome,
}

/// A notice emitted during the answer; the journal keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RecordedNotice {
    pub(super) level: NoticeLevel,
    pub(super) code: String,
    pub(super) message: String,
}

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RecordedOutcome {
    Reply {
        parts: Vec<ReplyPart>,
        stop: StopReason,
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        dropped: Vec<String>,
    },
    Failure(RecordedError),
}

/// Error classes as the file names them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum RecordedError {
    RateLimited { retry_after_ms: Option<u64> },
    Overloaded { retry_after_ms: Option<u64> },
    TooLong { limit: Option<u64> },
    Unauthorized { words: String },
    Refused { words: String },
    Broken { words: String },
    Unreachable { server: UnreachableServer },
    Exhausted { words: String },
    Unusable { problem: Problem },
}

impl RecordedOutcome {
    pub(super) fn of_reply(reply: &ModelReply) -> Self {
        let ModelReply {
            parts,
            stop,
            usage,
            request,
            dropped,
        } = reply.clone();
        Self::Reply {
            parts,
            stop,
            usage,
            request,
            dropped,
        }
    }

    pub(super) fn of_error(error: &Error) -> Self {
        let milliseconds = |wait: Option<Duration>| {
            wait.map(|wait| wait.as_millis().try_into().unwrap_or(u64::MAX))
        };
        Self::Failure(match error.clone() {
            Error::RateLimited { retry_after } => RecordedError::RateLimited {
                retry_after_ms: milliseconds(retry_after),
            },
            Error::Overloaded { retry_after } => RecordedError::Overloaded {
                retry_after_ms: milliseconds(retry_after),
            },
            Error::TooLong { limit } => RecordedError::TooLong { limit },
            Error::Unauthorized(words) => RecordedError::Unauthorized { words },
            Error::Refused(words) => RecordedError::Refused { words },
            Error::Broken(words) => RecordedError::Broken { words },
            Error::Unreachable(server) => RecordedError::Unreachable { server: *server },
            Error::Exhausted(words) => RecordedError::Exhausted { words },
            Error::Unusable(problem) => RecordedError::Unusable { problem: *problem },
        })
    }

    pub(super) fn into_result(self) -> Result<ModelReply, Error> {
        match self {
            Self::Reply {
                parts,
                stop,
                usage,
                request,
                dropped,
            } => Ok(ModelReply {
                parts,
                stop,
                usage,
                request,
                dropped,
            }),
            Self::Failure(failure) => Err(failure.into_error()),
        }
    }
}

impl RecordedError {
    fn into_error(self) -> Error {
        let wait = |milliseconds: Option<u64>| milliseconds.map(Duration::from_millis);
        match self {
            Self::RateLimited { retry_after_ms } => Error::RateLimited {
                retry_after: wait(retry_after_ms),
            },
            Self::Overloaded { retry_after_ms } => Error::Overloaded {
                retry_after: wait(retry_after_ms),
            },
            Self::TooLong { limit } => Error::TooLong { limit },
            Self::Unauthorized { words } => Error::Unauthorized(words),
            Self::Refused { words } => Error::Refused(words),
            Self::Broken { words } => Error::Broken(words),
            Self::Unreachable { server } => Error::Unreachable(Box::new(server)),
            Self::Exhausted { words } => Error::Exhausted(words),
            Self::Unusable { problem } => Error::Unusable(Box::new(problem)),
        }
    }
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::ErrorCode;

    use super::*;

    #[test]
    fn every_failure_survives_the_file() {
        let errors = [
            Error::RateLimited {
                retry_after: Some(Duration::from_millis(1_500)),
            },
            Error::Overloaded { retry_after: None },
            Error::TooLong { limit: Some(8_192) },
            Error::Unauthorized("a".into()),
            Error::Refused("b".into()),
            Error::Broken("c".into()),
            Error::Unreachable(Box::new(UnreachableServer {
                address: "http://h:1".into(),
                reason: "g".into(),
                is_final: true,
                fix: "h".into(),
            })),
            Error::Exhausted("d".into()),
            Error::Unusable(Box::new(
                Problem::new(ErrorCode::InvalidConfig, "e").fix("f"),
            )),
        ];
        for error in errors {
            let line = serde_json::to_string(&RecordedOutcome::of_error(&error)).unwrap();
            let read: RecordedOutcome = serde_json::from_str(&line).unwrap();
            assert_eq!(read.into_result().unwrap_err(), error);
        }
    }
}
