//! Provider errors, classified by the remedy: retry, shorten, change the key or the request.

use std::time::Duration;

use rooftree_protocol::{ErrorCode, Problem};
use serde::{Deserialize, Serialize};

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
    /// The server cannot be reached: nothing was sent.
    #[error("cannot reach {}: {}", .0.address, .0.reason)]
    Unreachable(Box<UnreachableServer>),
    /// A script has no answer; a retry will not help.
    #[error("{0}")]
    Exhausted(String),
    /// Fix the setup: a program is missing or too old.
    #[error("{0}")]
    Unusable(Box<Problem>),
}

/// A server to which no connection could be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreachableServer {
    /// Scheme, host and port of its URL.
    pub address: String,
    /// Why, in words.
    pub reason: String,
    /// Whether a retry cannot help: the machine itself refuses, or the host name does not exist.
    pub is_final: bool,
    /// What to do about it.
    pub fix: String,
}

impl Error {
    /// Whether the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::RateLimited { .. } | Self::Overloaded { .. } | Self::Broken(_) => true,
            Self::Unreachable(server) => !server.is_final,
            _ => false,
        }
    }

    /// The retry delay that the provider asks for.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } | Self::Overloaded { retry_after } => *retry_after,
            _ => None,
        }
    }

    /// The error in words for people, with what to do about a key of this provider.
    pub fn problem_of(&self, provider: &str) -> Problem {
        let problem = self.problem();
        if !matches!(self, Self::Unauthorized(_)) || !Self::takes_key(provider) {
            return problem;
        }
        problem.fix(format!(
            "rooftree auth list   shows where the key is from; a variable goes before a stored key\n\
             rooftree auth login {provider}   stores another"
        ))
    }

    /// Whether a key of this provider can be stored.
    fn takes_key(provider: &str) -> bool {
        let has_none = ["scripted", "external"].contains(&provider);
        !has_none && !provider.ends_with("-cli") && !provider.starts_with("demo")
    }

    /// The error in words for people.
    pub fn problem(&self) -> Problem {
        let code = match self {
            Self::Unusable(problem) => return Problem::clone(problem),
            Self::RateLimited { .. }
            | Self::Overloaded { .. }
            | Self::Broken(_)
            | Self::Unreachable(_) => ErrorCode::ProviderUnavailable,
            Self::TooLong { .. } => ErrorCode::ContextTooLong,
            Self::Unauthorized(_) => ErrorCode::Unauthorized,
            Self::Refused(_) => ErrorCode::ProviderRefused,
            Self::Exhausted(_) => ErrorCode::ScriptExhausted,
        };
        let problem = Problem::new(code, self.to_string());
        match self {
            Self::Unauthorized(_) => problem.fix("rooftree auth login PROVIDER stores another key"),
            Self::Unreachable(server) => problem.fix(server.fix.clone()),
            _ => problem,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_key_names_the_provider_whose_key_it_is() {
        let fix = |provider: &str| {
            let error = Error::Unauthorized("invalid x-api-key".into());
            error.problem_of(provider).fix.unwrap_or_default()
        };
        assert!(fix("anthropic").contains("rooftree auth login anthropic"));
        assert!(fix("anthropic").contains("rooftree auth list"));
        for without_key in ["scripted", "codex-cli", "external"] {
            assert!(!fix(without_key).contains(without_key), "{without_key}");
        }
    }
}
