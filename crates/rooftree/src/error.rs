//! The error type of this crate: what failed, why, how to fix it, and whether a retry makes sense.

use std::fmt;

use rooftree_protocol::{ErrorCode, Problem};

/// What every function of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, in words for people and as a code for programs.
///
/// A program that ends with it shows everything there is to know: `Debug` is written for people too.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<ErrorDetails>);

#[derive(Clone, PartialEq, Eq)]
struct ErrorDetails {
    problem: Problem,
    partial: Option<String>,
}

impl Error {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Problem::new(code, message).into()
    }

    /// With what the agent had said until then.
    pub(crate) fn with_partial(self, said: &str) -> Self {
        let partial = Some(said.to_owned()).filter(|said| !said.is_empty());
        Self(Box::new(ErrorDetails { partial, ..*self.0 }))
    }

    /// The situation.
    pub fn code(&self) -> ErrorCode {
        self.0.problem.code
    }

    /// Why it happened, if that is known.
    pub fn cause(&self) -> Option<&str> {
        self.0.problem.cause.as_deref()
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        self.0.problem.fix.as_deref()
    }

    /// What the agent had said before its run ended without being completed.
    pub fn partial(&self) -> Option<&str> {
        self.0.partial.as_deref()
    }

    /// Whether the same may work in a while: limits, overload, network.
    pub fn is_retryable(&self) -> bool {
        use ErrorCode::{InboxFull, ProviderUnavailable, SessionBusy};
        matches!(self.code(), ProviderUnavailable | SessionBusy | InboxFull)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.problem.message)?;
        self.cause().map_or(Ok(()), |cause| write!(f, ": {cause}"))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} [{}]", self.code().number())?;
        self.hint().map_or(Ok(()), |hint| write!(f, "\n  {hint}"))
    }
}

impl std::error::Error for Error {}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self(Box::new(ErrorDetails {
            problem,
            partial: None,
        }))
    }
}

impl From<rooftree_runtime::Error> for Error {
    fn from(error: rooftree_runtime::Error) -> Self {
        error.problem().into()
    }
}

impl From<rooftree_store::Error> for Error {
    fn from(error: rooftree_store::Error) -> Self {
        error.problem().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_why_and_what_to_do() {
        let problem = Problem::new(ErrorCode::Unauthorized, "there is no key")
            .cause("none is set")
            .fix("set one");
        let error = Error::from(problem).with_partial("so far");
        assert_eq!(error.to_string(), "there is no key: none is set");
        assert_eq!(
            format!("{error:?}"),
            "there is no key: none is set [E0401]\n  set one"
        );
        assert_eq!(
            (error.hint(), error.partial()),
            (Some("set one"), Some("so far"))
        );
        assert!(!error.is_retryable());
        assert!(Error::new(ErrorCode::ProviderUnavailable, "later").is_retryable());
    }
}
