//! Writes results to standard output. A reader who goes away ends the writing, not the program.

use std::{
    borrow::Cow,
    io::{self, IsTerminal, Write},
};

use rooftree_protocol::{ErrorCode, Problem};
use serde::Serialize;

use crate::{
    environment::Environment,
    terminal::clean::{clean, with_colours},
};

/// Whether anybody still reads what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    There,
    /// The pipe is closed, as after `| head`: nothing more needs to be written.
    Gone,
}

/// Writes a piece of a result at once. On a terminal nothing of it is obeyed but colours; a file or a
/// program gets it as it is.
pub fn write(text: &str) -> Result<Reader, Problem> {
    let mut out = io::stdout().lock();
    let shown = if out.is_terminal() { Cow::from(with_colours(text)) } else { Cow::from(text) };
    match out.write_all(shown.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(Reader::There),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(Problem::new(ErrorCode::StoreFailed, "cannot write the result")
            .cause(format!("standard output: {error}"))
            .fix("make room where it goes, or send it somewhere else; what was done is kept in the session")),
    }
}

/// Writes a whole result.
pub fn print(text: &str) -> Result<(), Problem> {
    write(text).map(|_| ())
}

/// Says something beside the result, unless only the result is wanted.
pub fn mention(environment: &Environment, text: &str) {
    if !environment.everywhere.quiet {
        // Nobody reads standard error any more: there is nobody left to tell.
        let _ = writeln!(io::stderr(), "{}", clean(text));
    }
}

/// One value as one line of JSON.
pub fn json_line(value: &impl Serialize) -> Result<String, Problem> {
    serde_json::to_string(value).map(|text| text + "\n").map_err(not_json)
}

/// One value as JSON that people can read too.
pub fn json_page(value: &impl Serialize) -> Result<String, Problem> {
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(not_json)
}

fn not_json(error: serde_json::Error) -> Problem {
    Problem::new(ErrorCode::Internal, "cannot spell the result as JSON").cause(error.to_string())
}
