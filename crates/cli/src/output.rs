//! Writes results to standard output. A closed pipe ends the writing, not the program.

use std::{
    borrow::Cow,
    io::{self, IsTerminal, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use rooftree_protocol::{ErrorCode, Problem};
use serde::Serialize;

use crate::{
    environment::Environment,
    terminal::{
        sanitize::{clean, with_colours, with_colours_kept},
        width, wrap,
    },
};

/// Whether the reader of standard output is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StdoutReader {
    There,
    /// The pipe is closed, as after `| head`: nothing more needs to be written.
    Gone,
}

/// Whether text is written exactly as it is.
static RAW: AtomicBool = AtomicBool::new(false);

/// From now on text is written exactly as it is: the person asked for that with `--raw`.
pub fn set_raw() {
    RAW.store(true, Ordering::Relaxed);
}

/// Whether text is written exactly as it is.
pub fn is_raw() -> bool {
    RAW.load(Ordering::Relaxed)
}

/// Writes a piece of a result at once. Invariant: a terminal obeys nothing of it but colours, also behind a
/// pipe (`| tee log`) and from a file (`> log; cat log`), unless raw text was asked for.
pub fn write(text: &str) -> Result<StdoutReader, Problem> {
    let mut out = io::stdout().lock();
    let shown = match (is_raw(), out.is_terminal()) {
        (true, _) => Cow::from(text),
        (false, true) => Cow::from(with_colours(text)),
        (false, false) => Cow::from(with_colours_kept(text)),
    };
    match out.write_all(shown.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(StdoutReader::There),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(StdoutReader::Gone),
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
pub fn print_note(environment: &Environment, text: &str) {
    if !environment.everywhere.quiet {
        // A write fails only if standard error is closed; then the note cannot be shown.
        let text = clean(text);
        let text = if io::stderr().is_terminal() {
            wrap::rows(&text, width().saturating_sub(1).max(1)).join("\n")
        } else {
            text
        };
        let _ = writeln!(io::stderr(), "{text}");
    }
}

/// One value as one line of JSON.
pub fn json_line(value: &impl Serialize) -> Result<String, Problem> {
    serde_json::to_string(value)
        .map(|text| escape_control_chars(&text) + "\n")
        .map_err(not_json)
}

/// One value as JSON that people can read too.
pub fn json_page(value: &impl Serialize) -> Result<String, Problem> {
    serde_json::to_string_pretty(value)
        .map(|text| escape_control_chars(&text) + "\n")
        .map_err(not_json)
}

/// The same JSON with what terminals obey written as `\u202e`: the value stays what it is.
pub fn escape_control_chars(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '\u{7f}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            other => out.push(other),
        }
    }
    out
}

fn not_json(error: serde_json::Error) -> Problem {
    Problem::new(ErrorCode::Internal, "cannot spell the result as JSON").cause(error.to_string())
}
