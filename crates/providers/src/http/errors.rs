//! Formats network errors below HTTP with their causes, and never with the URL.

use std::{error::Error as _, time::Duration};

use crate::Error;

/// An error and its causes in one line. URLs are left out, because they may contain passwords.
pub(super) fn words(error: &reqwest::Error) -> String {
    let kind = match () {
        () if error.is_timeout() => "timed out",
        () if error.is_connect() => "cannot connect",
        () if error.is_builder() => "the request cannot be built",
        () if error.is_decode() || error.is_body() => "the body cannot be read",
        () => "the request failed",
    };
    let mut words = kind.to_owned();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !words.contains(&text) {
            words.push_str(": ");
            words.push_str(&text);
        }
        source = cause.source();
    }
    words
}

/// Error for a connection that failed or broke.
pub(super) fn network(error: &reqwest::Error) -> Error {
    match error.is_builder() {
        // A retry would not help: a wrong URL, or a key that no header can carry.
        true => Error::Refused(words(error)),
        false => Error::Broken(words(error)),
    }
}

/// Error for an expired timeout.
pub(super) fn timeout_error(what: &str, waited: Duration) -> Error {
    Error::Broken(format!("{what} within {:.0} s", waited.as_secs_f64()))
}
