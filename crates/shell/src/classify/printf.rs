//! The format of bash's own `printf`: `%n` assigns the number of characters so far to any variable.

use super::ShellWord;

/// Whether a call of `printf` with these words only prints.
///
/// `-v` and `%n` assign. A format that is known only when it runs may hold `%n`, which needs an argument
/// that names the variable.
pub(super) fn only_prints(words: &[ShellWord]) -> bool {
    let Some((format, arguments)) = words.split_first() else {
        return true;
    };
    match format.literal() {
        Some(text) => !text.starts_with('-') && only_converts(&text),
        None => arguments.is_empty() && !format.may_be_option() && is_one_word(format),
    }
}

/// Whether it stays one word: no list, and nothing that is replaced by file names.
fn is_one_word(word: &ShellWord) -> bool {
    use crate::WordPiece;
    !word.may_split()
        && !word
            .pieces
            .iter()
            .any(|piece| matches!(piece, WordPiece::Pattern(_)))
}

/// Whether every conversion of a format is one of those that print.
fn only_converts(format: &str) -> bool {
    let mut parts = format.split('%');
    parts.next();
    while let Some(part) = parts.next() {
        // `%%`: what stands between both signs is nothing, and the next part is text.
        if part.is_empty() {
            parts.next();
            continue;
        }
        let rest =
            part.trim_start_matches(|c: char| c.is_ascii_digit() || "#'-+ .*hjlLtz".contains(c));
        let is_time = rest.starts_with('(');
        // A time has conversions of its own, which are not followed.
        if is_time || !rest.starts_with(|c: char| "aAbcdeEfFgGioqQsuxX".contains(c)) {
            return false;
        }
    }
    true
}
