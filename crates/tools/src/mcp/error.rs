//! Errors of MCP servers, distinguished by what the user can do about them.

use std::time::Duration;

/// An error of a server. The message does not name the server; the caller adds its name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Its configuration makes no sense.
    #[error("it is not set up right: {0}")]
    Misconfigured(String),
    /// Its program does not start, or its address cannot be reached.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    /// Its program has to be confined, and nothing here can do that.
    #[error("it was not started: it has to be confined, and nothing here can do that ({0})")]
    Unconfined(String),
    /// It was started and did not complete the handshake in time (timeout).
    #[error("it did not get ready within {} s", .0.as_secs())]
    NotReady(Duration),
    /// Its package has to be downloaded first, and its network access does not permit that.
    #[error("{0}")]
    Unfetched(String),
    /// It requires a login.
    #[error("it wants you to log in")]
    Unauthorized,
    /// It failed a moment ago and is in backoff.
    #[error("it is not running: {why}; it is tried again in {seconds} s")]
    Resting {
        /// How it failed.
        why: String,
        /// How long it is still left alone.
        seconds: u64,
    },
    /// It did not answer in time (timeout), and the call was cancelled.
    #[error("it did not answer within {} s, and was told to stop", .0.as_secs())]
    NoAnswer(Duration),
    /// It went away in the middle of something.
    #[error("it went away: {0}")]
    Gone(String),
    /// It answered that it will not.
    #[error("{0}")]
    Refused(String),
    /// The caller cancelled the request.
    #[error("cancelled")]
    Cancelled,
    /// The file of pinned tools cannot be read or written.
    #[error("{0}")]
    Pins(String),
}
