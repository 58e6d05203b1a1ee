//! Shortens text to a number of characters and marks the cut with `…`.

/// At most so many characters of a text, followed by `…` if some were left out.
pub fn shorten(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}

/// The first line that a text begins with, shortened. Blank lines before it do not count.
pub fn shorten_first_line(text: &str, characters: usize) -> String {
    shorten(text.trim().lines().next().unwrap_or_default(), characters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_and_a_cut_is_marked() {
        for (text, characters, short) in [
            ("", 0, ""),
            ("abc", 3, "abc"),
            ("abcd", 3, "abc…"),
            ("abc", 0, "…"),
            ("日本語です", 2, "日本…"),
        ] {
            assert_eq!(shorten(text, characters), short, "{text} to {characters}");
        }
    }

    #[test]
    fn only_the_first_line_is_shown() {
        assert_eq!(shorten_first_line("\n  first line\nsecond", 5), "first…");
        assert_eq!(shorten_first_line("first\nsecond", 9), "first");
        assert_eq!(shorten_first_line(" \n ", 9), "");
    }
}
