//! Errors of workspaces: what was attempted, what the system said.

use std::{io, path::Path};

use rooftree_protocol::{ErrorCode, Problem};

/// Turns what the system said into a problem that names what was attempted and where.
pub(super) fn at<'a>(attempt: &'a str, path: &'a Path) -> impl FnOnce(io::Error) -> Problem + 'a {
    move |error| failed(format!("{attempt} {}", path.display())).cause(error.to_string())
}

/// Something could not be done.
pub(super) fn failed(message: impl Into<String>) -> Problem {
    Problem::new(ErrorCode::ToolFailed, message)
}

/// Another process keeps changing the file that is to be changed.
pub(super) fn keeps_changing(path: &Path) -> Problem {
    failed(format!("apply the changes to {}", path.display()))
        .cause("the file is being changed by someone else at the same time")
        .fix("apply again when no process writes to it")
}
