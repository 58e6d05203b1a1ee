//! Errors of hooks that gave no answer.

use std::path::PathBuf;

/// Why a hook gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HookError {
    /// It could not be started.
    #[error("it could not be started: {0}")]
    NotStarted(String),
    /// A file that its command names is not what it was, so it was not started.
    #[error(
        "it was not run, because {} is not what it was when this program started; look at it, then run \
         `rooftree trust` if the project brings the hook, and start again",
        .0.display()
    )]
    Changed(PathBuf),
    /// It has to be confined, and nothing here can do that.
    #[error(
        "it was not run, because it has to be confined and nothing here can do that ({0}); install bubblewrap \
         (bwrap), see `rooftree doctor`, or set sandbox.mode to auto"
    )]
    Unconfined(String),
    /// It was ended from elsewhere.
    #[error("it crashed ({0})")]
    Crashed(String),
    /// It took too long and was ended.
    #[error("it did not answer in time")]
    OutOfTime,
    /// A service could not be reached.
    #[error("it could not be asked: {0}")]
    Unreachable(String),
    /// A service answered that it cannot answer.
    #[error("it answered with status {0}")]
    Status(u16),
    /// It printed more than is read.
    #[error("it printed more than 1 MiB")]
    TooMuch,
    /// It said something that has no meaning.
    #[error("what it printed is not understood: {0}")]
    NotUnderstood(String),
    /// It said by its exit code that something went wrong with it.
    #[error("it ended with exit code {code}: {words}")]
    Error {
        /// The code.
        code: i32,
        /// What it wrote to its standard error.
        words: String,
    },
}
