//! Sanitizes text of a document: replaces control characters and spells characters that change the reading direction.
//!
//! Entities such as `&#27;` are decoded by the parser, so this runs on what the parser returns, not on its input.

/// Appends the text with nothing in it that a terminal or a reader's eye would obey. Line ends stay.
pub(crate) fn append(text: &str, out: &mut String) {
    for letter in text.chars() {
        match letter {
            '\n' => out.push('\n'),
            '\t' => out.push_str("    "),
            '\r' => {}
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                out.extend(letter.escape_unicode());
            }
            letter if letter.is_control() => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
}

/// The text, sanitized.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    append(text, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_obeyed_is_left() {
        assert_eq!(
            visible("a\u{1b}[31m\u{7}\r\tb\u{202e}c\u{9b}d\n"),
            "a\u{fffd}[31m\u{fffd}    b\\u{202e}c\u{fffd}d\n"
        );
    }
}
