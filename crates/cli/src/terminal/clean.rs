//! Takes out of text what a terminal would obey instead of show.
//!
//! Models, tools and files are not trusted with the terminal: escape sequences vanish, other
//! control characters become `�`, tabs become spaces. Line ends stay.

/// Cleans text that comes in pieces; a sequence may begin in one piece and end in the next.
#[derive(Debug, Default)]
pub struct Cleaner {
    inside: Inside,
}

/// Which sequence the next character belongs to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Inside {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC [ : ends with a letter.
    Control,
    /// After ESC ] and the like: ends with BEL or ESC \.
    Message,
}

impl Cleaner {
    /// The next piece, cleaned.
    pub fn push(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for letter in text.chars() {
            self.step(letter, &mut out);
        }
        out
    }

    fn step(&mut self, letter: char, out: &mut String) {
        // A line end closes whatever was open, so that nothing can swallow all that follows.
        if letter == '\n' {
            self.inside = Inside::Text;
            out.push(letter);
            return;
        }
        self.inside = match (self.inside, letter) {
            (_, '\u{1b}') => Inside::Escape,
            (Inside::Text, '\u{9b}') | (Inside::Escape, '[') => Inside::Control,
            (Inside::Text, '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}')
            | (Inside::Escape, ']' | 'P' | 'X' | '^' | '_') => Inside::Message,
            (Inside::Escape, ' '..='/') => Inside::Escape,
            (Inside::Control, '@'..='~') | (Inside::Message, '\u{7}' | '\u{9c}') | (Inside::Escape, _) => {
                Inside::Text
            }
            (Inside::Control, _) => Inside::Control,
            (Inside::Message, _) => Inside::Message,
            (Inside::Text, letter) => {
                show(letter, out);
                Inside::Text
            }
        };
    }
}

fn show(letter: char, out: &mut String) {
    match letter {
        '\t' => out.push_str("    "),
        // Overwriting a line and turning the reading direction hide what is really there.
        '\r' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
        letter if letter.is_control() => out.push('\u{fffd}'),
        letter => out.push(letter),
    }
}

/// A whole text, cleaned.
pub fn clean(text: &str) -> String {
    Cleaner::default().push(text)
}

/// A text as one clean line.
pub fn clean_line(text: &str) -> String {
    clean(text).split('\n').map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_gone() {
        let table = [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}text", "text"),
            ("\u{1b}]52;c;aGk=\u{1b}\\after", "after"),
            ("\u{1b}(Bplain", "plain"),
            ("\u{1b}cwiped", "wiped"),
            ("\u{9b}2Jwiped", "wiped"),
            ("a\u{8}b\u{7f}c", "a\u{fffd}b\u{fffd}c"),
            ("50%\roverwritten\r\nnext", "50%overwritten\nnext"),
            ("a\tb", "a    b"),
            ("\u{1b}]never closed\nstill here", "\nstill here"),
            ("safe \u{202e}txt.exe", "safe txt.exe"),
            ("naïve 日本 👩‍👩‍👧", "naïve 日本 👩‍👩‍👧"),
        ];
        for (raw, shown) in table {
            assert_eq!(clean(raw), shown, "{raw:?}");
        }
    }

    #[test]
    fn a_sequence_cut_into_pieces_is_still_a_sequence() {
        let mut cleaner = Cleaner::default();
        let shown: String = ["a\u{1b}", "[3", "1mb", "\u{1b}]0;x", "y\u{1b}", "\\c"]
            .map(|piece| cleaner.push(piece))
            .concat();
        assert_eq!(shown, "abc");
    }

    #[test]
    fn a_title_of_several_lines_becomes_one() {
        assert_eq!(clean_line("cargo test\n  -p x\n\n"), "cargo test -p x");
    }
}
