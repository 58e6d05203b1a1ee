//! Provider errors, classified by the remedy: retry, shorten, change the key or the request.

use std::time::Duration;

use rooftree_protocol::{ErrorCode, Problem};

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// Rate limit: wait and retry.
    #[error("the provider asks to slow down")]
    RateLimited {
        /// How long to wait, if the provider says so.
        retry_after: Option<Duration>,
    },
    /// Overload: wait and retry.
    #[error("the provider is overloaded")]
    Overloaded {
        /// How long to wait, if the provider says so.
        retry_after: Option<Duration>,
    },
    /// Shorten the request.
    #[error("the request is too long for the model")]
    TooLong {
        /// The context window, if the provider says so.
        limit: Option<u64>,
    },
    /// Fix the key.
    #[error("the provider refused the key: {0}")]
    Unauthorized(String),
    /// Change the request.
    #[error("the provider refused the request: {0}")]
    Refused(String),
    /// Retry: connection lost, stream cut, server error.
    #[error("the answer broke off: {0}")]
    Broken(String),
    /// A script has no answer; a retry will not help.
    #[error("{0}")]
    Exhausted(String),
    /// Fix the setup: a program is missing or too old.
    #[error("{0}")]
    Unusable(Box<Problem>),
}

impl Error {
    /// Whether the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::RateLimited { .. } | Self::Overloaded { .. } | Self::Broken(_)
        )
    }

    /// The retry delay that the provider asks for.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } | Self::Overloaded { retry_after } => *retry_after,
            _ => None,
        }
    }

    /// The error in words for people.
    pub fn problem(&self) -> Problem {
        let code = match self {
            Self::Unusable(problem) => return Problem::clone(problem),
            Self::RateLimited { .. } | Self::Overloaded { .. } | Self::Broken(_) => {
                ErrorCode::ProviderUnavailable
            }
            Self::TooLong { .. } => ErrorCode::ContextTooLong,
            Self::Unauthorized(_) => ErrorCode::Unauthorized,
            Self::Refused(_) => ErrorCode::ProviderRefused,
            Self::Exhausted(_) => ErrorCode::ScriptExhausted,
        };
        let problem = Problem::new(code, self.to_string());
        match code {
            ErrorCode::Unauthorized => {
                problem.fix("rooftree auth login PROVIDER stores another key")
            }
            _ => problem,
        }
    }
}
