//! Errors of web requests, in words for the model.

use std::fmt;

use rooftree_protocol::ErrorCode;

use crate::ToolOutput;

/// Why it did not work. The words say what to do instead, and never repeat a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebError {
    pub(crate) code: ErrorCode,
    words: String,
}

impl WebError {
    /// This is nothing that can be asked for.
    pub(crate) fn malformed(words: impl Into<String>) -> Self {
        Self {
            code: ErrorCode::InvalidArguments,
            words: words.into(),
        }
    }

    /// It must not be reached.
    pub(crate) fn forbidden(words: impl Into<String>) -> Self {
        Self {
            code: ErrorCode::ToolDenied,
            words: words.into(),
        }
    }

    /// It was tried and did not work.
    pub(crate) fn failed(words: impl Into<String>) -> Self {
        Self {
            code: ErrorCode::ToolFailed,
            words: words.into(),
        }
    }

    /// As the result of a call.
    pub(crate) fn output(&self) -> ToolOutput {
        ToolOutput::failed(self.code, self.words.clone())
    }
}

impl fmt::Display for WebError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}
