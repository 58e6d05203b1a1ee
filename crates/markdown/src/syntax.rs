//! Recognises which Markdown block a line begins: fences, headings, rules, list items, quotes.

/// Columns of spaces before the text; a tab goes to the next multiple of four.
pub(crate) fn indent(line: &str) -> usize {
    let mut columns = 0;
    for letter in line.chars() {
        match letter {
            ' ' => columns += 1,
            '\t' => columns += 4 - columns % 4,
            _ => break,
        }
    }
    columns
}

pub(crate) fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// The opening of a code fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeFence {
    mark: char,
    length: usize,
    /// Spaces before the fence, which are taken away from its lines too.
    pub(crate) indent: usize,
}

impl CodeFence {
    pub(crate) fn opened_by(line: &str) -> Option<Self> {
        let indent = indent(line);
        let text = line.trim_start();
        let mark = text
            .chars()
            .next()
            .filter(|mark| matches!(mark, '`' | '~'))?;
        let info = text.trim_start_matches(mark);
        let length = text.len() - info.len();
        let is_inline = mark == '`' && info.contains('`');
        (indent < 4 && length >= 3 && !is_inline).then_some(Self {
            mark,
            length,
            indent,
        })
    }

    pub(crate) fn is_closed_by(self, line: &str) -> bool {
        let text = line.trim();
        indent(line) < 4
            && text.len() >= self.length
            && text.chars().all(|letter| letter == self.mark)
    }
}

/// The mark that begins a list item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ItemMark {
    /// The number of an item of an ordered list.
    pub(crate) number: Option<u64>,
    /// `-`, `*` or `+`, or what follows the number. Another one begins another list.
    pub(crate) delimiter: char,
    /// Where the text of the item begins: lines indented as far belong to it.
    pub(crate) offset: usize,
    pub(crate) is_empty: bool,
}

impl ItemMark {
    pub(crate) fn of(line: &str) -> Option<Self> {
        let indent = indent(line);
        let text = line.trim_start();
        let digits = text.len()
            - text
                .trim_start_matches(|letter: char| letter.is_ascii_digit())
                .len();
        let delimiter = text.chars().nth(digits)?;
        let is_mark = match digits {
            0 => matches!(delimiter, '-' | '*' | '+'),
            1..=9 => matches!(delimiter, '.' | ')'),
            _ => false,
        };
        let rest = text.get(digits + 1..).filter(|_| is_mark && indent < 4)?;
        let is_apart = rest.is_empty() || rest.starts_with([' ', '\t']);
        if !is_apart || is_rule(line) {
            return None;
        }
        let spaces = match (is_blank(rest), self::indent(rest)) {
            (true, _) | (_, 5..) => 1,
            (_, spaces) => spaces,
        };
        Some(Self {
            number: text.get(..digits).and_then(|number| number.parse().ok()),
            delimiter,
            offset: indent + digits + 1 + spaces,
            is_empty: is_blank(rest),
        })
    }

    /// Whether it may stand directly below a paragraph.
    fn interrupts(self) -> bool {
        !self.is_empty && self.number.is_none_or(|number| number == 1)
    }

    /// Whether an item with this mark continues the list of an item with the other one.
    pub(crate) fn continues(self, other: Self) -> bool {
        self.delimiter == other.delimiter && self.number.is_some() == other.number.is_some()
    }
}

/// A thematic break: three or more `-`, `*` or `_`.
pub(crate) fn is_rule(line: &str) -> bool {
    let marks: Vec<char> = line
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .collect();
    let Some(first) = marks.first().filter(|mark| matches!(mark, '-' | '*' | '_')) else {
        return false;
    };
    indent(line) < 4 && marks.len() >= 3 && marks.iter().all(|mark| mark == first)
}

/// A heading that begins with `#`.
pub(crate) fn is_heading(line: &str) -> bool {
    let text = line.trim_start();
    let rest = text.trim_start_matches('#');
    indent(line) < 4
        && (1..=6).contains(&(text.len() - rest.len()))
        && (rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// The line below a heading that is underlined.
pub(crate) fn is_underline(line: &str) -> bool {
    let text = line.trim();
    indent(line) < 4
        && !text.is_empty()
        && (text.chars().all(|letter| letter == '=') || text.chars().all(|letter| letter == '-'))
}

pub(crate) fn is_quote(line: &str) -> bool {
    indent(line) < 4 && line.trim_start().starts_with('>')
}

/// The line between a table's header and its rows.
pub(crate) fn is_table_rule(line: &str) -> bool {
    line.contains('|')
        && line.contains('-')
        && line
            .chars()
            .all(|letter| matches!(letter, '|' | '-' | ':' | ' ' | '\t'))
}

/// Whether a line ends a paragraph above it by beginning another block.
pub(crate) fn interrupts_paragraph(line: &str) -> bool {
    CodeFence::opened_by(line).is_some()
        || is_heading(line)
        || is_rule(line)
        || is_quote(line)
        || ItemMark::of(line).is_some_and(ItemMark::interrupts)
}

/// Whether a line begins a block, seen from within a list item.
pub(crate) fn begins_block(line: &str) -> bool {
    interrupts_paragraph(line) || ItemMark::of(line).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_marks_say_where_their_text_begins() {
        let offset = |line: &str| ItemMark::of(line).map(|mark| (mark.number, mark.offset));
        assert_eq!(offset("- a"), Some((None, 2)));
        assert_eq!(offset("  10)  a"), Some((Some(10), 7)));
        assert_eq!(offset("*"), Some((None, 2)));
        assert_eq!(offset("-      code"), Some((None, 2)));
        for not in [
            "-a",
            "1.a",
            "1234567890. a",
            "    - a",
            "* * *",
            "**bold**",
            "1",
        ] {
            assert_eq!(offset(not), None, "{not}");
        }
    }

    #[test]
    fn fences_close_with_their_own_mark() {
        let fence = CodeFence::opened_by("  ````rust").unwrap();
        assert!(
            fence.is_closed_by("`````")
                && !fence.is_closed_by("```")
                && !fence.is_closed_by("~~~~")
        );
        for not in ["``", "``` a`b", "    ```", "text ```"] {
            assert_eq!(CodeFence::opened_by(not), None, "{not}");
        }
    }

    #[test]
    fn headings_rules_and_tables_are_told_from_text() {
        assert!(
            is_heading("## a") && is_heading("#") && !is_heading("#a") && !is_heading("####### a")
        );
        assert!(is_rule("- - -") && is_rule("***") && !is_rule("--") && !is_rule("-*-"));
        assert!(
            is_table_rule("|:--|--:|") && is_table_rule("--- | ---") && !is_table_rule("| a |")
        );
    }
}
