//! Shell command lines: the grammar of bash, and what a line would do if it ran.
//!
//! `parse` gives the tree or says that it does not understand. `Deeds` is what a line does: every
//! simple command in it, wherever it hides, and the files it writes. Nothing here knows rules.

mod cursor;
mod deeds;
mod named;
mod outside;
mod parser;
mod standing;
mod tree;
mod variables;

pub use deeds::{Access, Call, Deeds};
pub use named::{Named, Names, Role, Start, runs_what_it_reads};
pub use outside::reads_outside;
use parser::Parser;
pub use standing::{Standing, standing, unwrapped};
pub use tree::{Assignment, Command, Compound, Piece, Redirect, Script, Simple, Way, Word};

/// Longer lines are not understood.
pub const LONGEST: usize = 64 * 1024;

/// Why a line is not understood, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// In words.
    pub why: &'static str,
    /// After how many bytes.
    pub at: usize,
}

/// A line that is understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// Its tree.
    pub script: Script,
    /// What in it has an outcome that its text does not tell.
    pub doubts: Vec<&'static str>,
}

/// Reads a command line as bash does. Never panics; takes time linear in its length.
pub fn parse(text: &str) -> Result<Parsed, Refusal> {
    if text.len() > LONGEST {
        return Err(Refusal { why: "it is too long", at: LONGEST });
    }
    // Bash drops NUL, and a carriage return looks like a line end to people only.
    if let Some(at) = text.find(|c: char| c == '\0' || (c.is_control() && !matches!(c, '\n' | '\t'))) {
        return Err(Refusal { why: "it contains a control character", at });
    }
    let mut parser = Parser::new(text, 0);
    let script = parser.all()?;
    Ok(Parsed { script, doubts: parser.doubts })
}

/// Whether a line surely changes nothing and reaches nobody: every command in it only looks, and no
/// file is written.
pub fn only_looks(text: &str) -> bool {
    Deeds::of(text).is_ok_and(|deeds| {
        !deeds.calls.is_empty()
            && deeds.doubts.is_empty()
            && deeds.calls.iter().all(looks)
            && deeds.files.iter().all(Access::is_harmless)
            // Git heeds the settings of the repository it is in, and another one is not the user's.
            && !(deeds.moves() && deeds.runs_git())
    })
}

/// Whether a line calls tools of the agent that runs it.
pub fn calls_tools(text: &str) -> bool {
    let is_own = |call: &Call| innermost(call).name().as_deref() == Some("rooftree");
    Deeds::of(text).is_ok_and(|deeds| deeds.calls.iter().any(is_own))
}

/// Whether one command only looks, by itself or behind a wrapper.
pub fn looks(call: &Call) -> bool {
    standing(&innermost(call)) == Standing::Looks
}

/// What is left when the wrappers that pass a command on are taken away. Who wraps more often than
/// anybody needs is taken for a wrapper, which can run anything.
pub fn innermost(call: &Call) -> Call {
    const WRAPPERS: usize = 8;
    let mut inner = call.clone();
    for _ in 0..WRAPPERS {
        match unwrapped(&inner) {
            Some(next) => inner = next,
            None => break,
        }
    }
    inner
}

/// For a fuzzer: any bytes, all of the module, no panic.
pub fn fuzz(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(deeds) = Deeds::of(&text) {
        for call in &deeds.calls {
            let _ = (standing(call), innermost(call), call.shown());
        }
    }
    let _ = (only_looks(&text), reads_outside(&text));
}
