//! What a model can answer instead of a reply, typed by what one can do about it.

use std::time::Duration;

use rooftree_protocol::{ErrorCode, Problem};

/// Why there is no reply.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// Wait and ask again.
    #[error("the provider asks to slow down")]
    RateLimited {
        /// For how long, if it says.
        retry_after: Option<Duration>,
    },
    /// Wait and ask again.
    #[error("the provider is overloaded")]
    Overloaded {
        /// For how long, if it says.
        retry_after: Option<Duration>,
    },
    /// Make the request shorter.
    #[error("the request is too long for the model")]
    TooLong {
        /// The window, if it says.
        limit: Option<u64>,
    },
    /// Get a key.
    #[error("the provider refused the key: {0}")]
    Unauthorized(String),
    /// Change the request.
    #[error("the provider refused the request: {0}")]
    Refused(String),
    /// Ask again: connection lost, stream cut, server error.
    #[error("the answer broke off: {0}")]
    Broken(String),
    /// A script has no answer; asking again will not help.
    #[error("{0}")]
    Exhausted(String),
    /// Set something up: a program is missing or too old.
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

    /// How long the provider wants us to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } | Self::Overloaded { retry_after } => *retry_after,
            _ => None,
        }
    }

    /// The same in words for people.
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
