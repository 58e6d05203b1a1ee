//! Text that a line writes out and another of its commands may run: here-documents, here-strings, and what
//! `echo` and `printf` print.
//!
//! Which text reaches which command is not followed: a pipe, a file or a substitution may carry it.

use rooftree_shell::{
    RedirectKind, ShellCall, ShellEffects, ShellWord, innermost, runs_what_it_reads,
};

/// How the commands of a line read text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TextInterpreter {
    /// As a shell does.
    Shell,
    /// In a language of its own.
    Other,
}

/// How text is read by the commands of a line that run what they read; none if there are none.
pub(super) fn interpreter(deeds: &ShellEffects) -> Option<TextInterpreter> {
    let readers = || {
        deeds
            .calls
            .iter()
            .filter(|call| runs_what_it_reads(call) || is_written(call, deeds))
    };
    let is_other = |call: &ShellCall| innermost(call).name().is_some_and(|name| !is_shell(&name));
    match readers().count() {
        0 => None,
        _ if readers().any(is_other) => Some(TextInterpreter::Other),
        _ => Some(TextInterpreter::Shell),
    }
}

/// Wrappers give what they read to a command as its words, which is how a shell reads it.
fn is_shell(name: &str) -> bool {
    const NAMES: &str = ". ash bash dash doas env eval exec fish ksh mksh nice parallel setsid sh source sudo xargs zsh";
    NAMES.split_ascii_whitespace().any(|known| known == name) || name.ends_with(".sh")
}

/// Whether a call runs a file by its path while the line writes files: it may be that file.
fn is_written(call: &ShellCall, deeds: &ShellEffects) -> bool {
    const WRITING: [&str; 6] = ["cp", "dd", "install", "ln", "mv", "tee"];
    let is_path = innermost(call)
        .program()
        .is_some_and(|program| program.contains('/'));
    let writes = |call: &ShellCall| {
        innermost(call)
            .name()
            .is_some_and(|name| WRITING.contains(&name.as_str()))
    };
    is_path
        && (deeds
            .files
            .iter()
            .any(|file| file.way == RedirectKind::Write)
            || deeds.calls.iter().any(writes))
}

/// The texts in a line: each as it stands, and printed words together as well.
pub(super) fn inline_texts(deeds: &ShellEffects) -> Vec<String> {
    let mut texts: Vec<String> = deeds.texts.iter().map(ShellWord::shape).collect();
    for call in deeds.calls.iter().map(innermost) {
        if !matches!(call.name().as_deref(), Some("echo" | "printf")) {
            continue;
        }
        let words: Vec<String> = call
            .arguments()
            .iter()
            .map(|word| unescaped(&word.shape()))
            .collect();
        texts.push(words.join(" "));
        texts.extend(
            words
                .get(1..)
                .filter(|rest| !rest.is_empty())
                .map(|rest| rest.join(" ")),
        );
        texts.extend(
            words
                .into_iter()
                .filter(|word| word.contains(char::is_whitespace)),
        );
    }
    texts
}

/// A text with the escapes that `printf` and `echo -e` know.
fn unescaped(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let (escaped, length) = escape(after);
        plain.extend(escaped);
        rest = after.get(length..).unwrap_or_default();
    }
    plain + rest
}

/// The character that an escape stands for, and its length after the backslash.
fn escape(after: &str) -> (Option<char>, usize) {
    let digits = |from: usize, most: usize, base: u32| {
        let text = after.get(from..).unwrap_or_default();
        let count = text
            .chars()
            .take(most)
            .take_while(|c| c.is_digit(base))
            .count();
        let value = u32::from_str_radix(text.get(..count).unwrap_or_default(), base).ok();
        (value.and_then(char::from_u32), from + count)
    };
    match after.chars().next() {
        Some('n' | 'r') => (Some('\n'), 1),
        Some('t' | 'v') => (Some('\t'), 1),
        Some('x') => digits(1, 2, 16),
        Some('u') => digits(1, 4, 16),
        Some('0') => digits(0, 4, 8),
        Some('1'..='7') => digits(0, 3, 8),
        Some(other) => (Some(other), other.len_utf8()),
        None => (None, 0),
    }
}
