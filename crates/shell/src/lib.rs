//! Shell command lines: a bash parser, and the effects a line would have if it ran.
//!
//! [`parse`] returns the syntax tree ([`ShellScript`]) or a [`ShellParseError`]. [`ShellEffects`] lists what a line
//! does: every simple command in it ([`ShellCall`]), however nested, and the files it writes. [`classify`] says of a
//! command whether it only looks ([`CommandClass`]). Nothing here knows permission rules or runs anything.
//!
//! ```
//! use rooftree_shell::{ShellEffects, is_read_only_line};
//!
//! assert!(is_read_only_line("git log | head -3"));
//! assert!(!is_read_only_line("git log > out.txt"));
//! assert_eq!(ShellEffects::of("cd a && ls").map(|effects| effects.calls.len()), Ok(2));
//! ```

mod classify;
mod cursor;
mod effects;
mod named_files;
mod parser;
mod syntax_tree;
mod untrusted_output;
mod variables;

pub use classify::{CommandClass, classify, unwrapped};
pub use effects::{ShellCall, ShellEffects, ShellFileAccess};
pub use named_files::{NamedFile, NamedFileRole, NamedFiles, PathStart, runs_what_it_reads};
use parser::ShellParser;
pub use syntax_tree::{
    CompoundCommand, RedirectKind, ShellAssignment, ShellCommand, ShellRedirect, ShellScript,
    ShellWord, SimpleCommand, WordPiece,
};
pub use untrusted_output::reads_outside;

/// Maximum length of a line; longer lines are not parsed.
pub const LONGEST: usize = 64 * 1024;

/// Parse error: the reason and the position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShellParseError {
    /// In words.
    pub why: &'static str,
    /// After how many bytes.
    pub at: usize,
}

/// A parsed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedScript {
    /// Its tree.
    pub script: ShellScript,
    /// Parts whose outcome its text does not determine.
    pub doubts: Vec<&'static str>,
}

/// Parses a command line as bash does. Never panics; takes time linear in its length.
pub fn parse(text: &str) -> Result<ParsedScript, ShellParseError> {
    if text.len() > LONGEST {
        return Err(ShellParseError {
            why: "it is too long",
            at: LONGEST,
        });
    }
    // Bash drops NUL, and a carriage return looks like a line end to people only.
    if let Some(at) =
        text.find(|c: char| c == '\0' || (c.is_control() && !matches!(c, '\n' | '\t')))
    {
        return Err(ShellParseError {
            why: "it contains a control character",
            at,
        });
    }
    let mut parser = ShellParser::new(text, 0);
    let script = parser.all()?;
    Ok(ParsedScript {
        script,
        doubts: parser.doubts,
    })
}

/// Whether a line is certainly read-only and makes no connection: every command in it only looks, and no file is
/// written.
pub fn is_read_only_line(text: &str) -> bool {
    ShellEffects::of(text).is_ok_and(|deeds| {
        !deeds.calls.is_empty()
            && deeds.doubts.is_empty()
            && deeds.calls.iter().all(is_read_only_call)
            && deeds.files.iter().all(ShellFileAccess::is_harmless)
            // Git heeds the settings of the repository it is in, and another one is not the user's.
            && !(deeds.moves() && deeds.runs_git())
    })
}

/// Whether a line calls tools of the agent that runs it.
pub fn calls_tools(text: &str) -> bool {
    let is_own = |call: &ShellCall| innermost(call).name().as_deref() == Some("rooftree");
    ShellEffects::of(text).is_ok_and(|deeds| deeds.calls.iter().any(is_own))
}

/// Whether one command only looks, by itself or behind a wrapper.
pub fn is_read_only_call(call: &ShellCall) -> bool {
    classify(&innermost(call)) == CommandClass::Looks
}

/// Strips the wrappers that pass a command on (`env`, `nice`). After the maximum nesting depth the rest is left as a
/// wrapper, which counts as able to run anything.
pub fn innermost(call: &ShellCall) -> ShellCall {
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
    if let Ok(deeds) = ShellEffects::of(&text) {
        for call in &deeds.calls {
            let _ = (classify(call), innermost(call), call.shown());
        }
    }
    let _ = (is_read_only_line(&text), reads_outside(&text));
}
