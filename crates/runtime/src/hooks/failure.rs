//! Why a hook gave no answer.

/// Why a hook gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It could not be started.
    #[error("it could not be started: {0}")]
    NotStarted(String),
    /// It was ended from elsewhere.
    #[error("it crashed ({0})")]
    Crashed(String),
    /// It took too long and was ended.
    #[error("it did not answer in time")]
    OutOfTime,
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
