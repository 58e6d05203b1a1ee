//! Environment variables that may be set without changing what programs do.

use super::syntax_tree::ShellAssignment;

/// Variables that affect output only, and not what is run.
const HARMLESS: [&str; 13] = [
    "CI",
    "CLICOLOR",
    "COLUMNS",
    "DEBUG",
    "FORCE_COLOR",
    "LANG",
    "LC_ALL",
    "LINES",
    "NODE_ENV",
    "NO_COLOR",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TZ",
];

/// Whether a variable is the script's own business. By custom those are in small letters, or one letter.
pub(super) fn is_private(name: &str) -> bool {
    let is_small = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let is_heeded = name.starts_with('_')
        || name.ends_with("_proxy")
        || matches!(name, "histchars" | "auto_resume");
    let is_letter = name.len() == 1 && name.chars().all(|c| c.is_ascii_alphabetic());
    is_letter || (name.len() > 1 && name.chars().all(is_small) && !is_heeded)
}

/// Whether a program may be given this without another reason to ask.
pub(super) fn is_harmless(assignment: &ShellAssignment) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/=,:+".contains(c);
    let is_tame =
        |text: String| text.chars().all(is_plain) && !text.starts_with('/') && !text.contains("..");
    HARMLESS.contains(&assignment.name.as_str())
        && assignment
            .values
            .iter()
            .all(|value| value.literal().is_some_and(is_tame))
}
