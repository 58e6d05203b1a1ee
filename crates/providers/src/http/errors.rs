//! Says what went wrong below HTTP, down to its cause, and never with the URL.

use std::{error::Error as _, time::Duration};

use crate::Error;

/// An error and its causes in one line. URLs may hold passwords and stay out.
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

/// No connection, or one that broke.
pub(super) fn network(error: &reqwest::Error) -> Error {
    match error.is_builder() {
        // Asking again would not build it either: a wrong URL, or a key no header can carry.
        true => Error::Refused(words(error)),
        false => Error::Broken(words(error)),
    }
}

/// Nothing came for too long.
pub(super) fn timeout_error(what: &str, waited: Duration) -> Error {
    Error::Broken(format!("{what} within {:.0} s", waited.as_secs_f64()))
}
