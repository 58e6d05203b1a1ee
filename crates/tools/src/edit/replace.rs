//! Replaces pieces of a text, all of them or none. Pure.

/// One piece and what takes its place.
pub(crate) struct TextReplacement {
    pub old: String,
    pub new: String,
    pub matches: MatchMode,
}

/// Match mode: how often a piece may occur.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum MatchMode {
    /// Exactly once.
    One,
    /// Once or more; all are replaced.
    All,
    /// Exactly once, as whole lines.
    Lines,
    /// Exactly once, as whole lines that go with their ends.
    RemovedLines,
}

/// The text after all replacements, one after the other, and how many places changed.
pub(crate) fn all_or_nothing(
    text: &str,
    replacements: &[TextReplacement],
) -> Result<(String, usize), String> {
    if replacements.is_empty() {
        return Err("there is nothing to replace.".to_owned());
    }
    let mut result = text.to_owned();
    let mut count = 0;
    for (at, replacement) in replacements.iter().enumerate() {
        let found = places(&result, replacement).map_err(|words| match replacements.len() {
            1 => words,
            all => format!("edit {} of {all}: {words} Nothing was changed.", at + 1),
        })?;
        result = with(&result, &found, replacement);
        count += found.len();
    }
    Ok((result, count))
}

/// Where a replacement applies.
fn places(
    text: &str,
    TextReplacement { old, new, matches }: &TextReplacement,
) -> Result<Vec<usize>, String> {
    if old.is_empty() {
        return Err("the text to replace is empty; Write creates a file.".to_owned());
    }
    if old == new {
        return Err("the old and the new text are the same.".to_owned());
    }
    let are_lines = matches!(matches, MatchMode::Lines | MatchMode::RemovedLines);
    let is_place = |at: &usize| !are_lines || is_whole_lines(text, *at, at + old.len());
    let found: Vec<usize> = text
        .match_indices(old.as_str())
        .map(|(at, _)| at)
        .filter(is_place)
        .collect();
    match (found.len(), matches) {
        (0, _) if !new.trim().is_empty() && text.contains(new.as_str()) => Err(
            "this change is already there: the file has the new text, and no longer the old one. Nothing is left to \
             do."
                .to_owned(),
        ),
        (0, _) => Err(not_found(text, old)),
        (1, _) | (_, MatchMode::All) => Ok(found),
        (count, _) => Err(format!(
            "the text to replace occurs {count} times (lines {}). Add lines around it to make it unique, or use \
             Edit with replace_all.",
            listed(&lines_of(text, &found))
        )),
    }
}

fn is_whole_lines(text: &str, start: usize, end: usize) -> bool {
    let before = text.get(..start).unwrap_or_default();
    let after = text.get(end..).unwrap_or_default();
    (before.is_empty() || before.ends_with('\n')) && (after.is_empty() || after.starts_with('\n'))
}

/// The text with something else in all these places.
fn with(
    text: &str,
    places: &[usize],
    TextReplacement { old, new, matches }: &TextReplacement,
) -> String {
    let mut result = String::with_capacity(text.len());
    let mut last = 0;
    for at in places {
        result.push_str(text.get(last..*at).unwrap_or_default());
        result.push_str(new);
        last = at + old.len();
        if *matches == MatchMode::RemovedLines
            && text.get(last..).is_some_and(|rest| rest.starts_with('\n'))
        {
            last += 1;
        }
    }
    result.push_str(text.get(last..).unwrap_or_default());
    result
}

/// The line numbers of some places.
fn lines_of(text: &str, places: &[usize]) -> Vec<usize> {
    let (mut line, mut last) = (1, 0);
    let line_at = |at: &usize| {
        line += text
            .get(last..*at)
            .unwrap_or_default()
            .matches('\n')
            .count();
        last = *at;
        line
    };
    places.iter().map(line_at).collect()
}

fn listed(lines: &[usize]) -> String {
    const SHOWN: usize = 10;
    let mut shown: Vec<String> = lines.iter().take(SHOWN).map(ToString::to_string).collect();
    if lines.len() > SHOWN {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

/// Error that a piece was not found, with the likely reason.
fn not_found(text: &str, old: &str) -> String {
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_spacing = !old.trim().is_empty() && squeezed(text).contains(&squeezed(old));
    let hint = if is_spacing {
        " Something that differs only in spaces or line breaks is: copy it exactly, without line numbers."
    } else {
        ""
    };
    format!("the text to replace was not found.{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    type Edit = (&'static str, &'static str, MatchMode);

    fn replaced(text: &str, edits: &[Edit]) -> Result<(String, usize), String> {
        let replacements: Vec<TextReplacement> = edits
            .iter()
            .map(|(old, new, matches)| TextReplacement {
                old: (*old).into(),
                new: (*new).into(),
                matches: *matches,
            })
            .collect();
        all_or_nothing(text, &replacements)
    }

    #[test]
    fn n_16_a_change_that_is_made_already_is_said_to_be_there() {
        let again = replaced("a new b", &[("old", "new", MatchMode::One)]);
        assert!(
            again
                .unwrap_err()
                .starts_with("this change is already there")
        );
        let other = replaced("a b", &[("old", "new", MatchMode::One)]);
        assert!(other.unwrap_err().contains("was not found"));
    }

    #[test]
    fn pieces_are_replaced_in_order() {
        use MatchMode::*;
        assert_eq!(
            replaced("a b a", &[("b", "c", One)]),
            Ok(("a c a".into(), 1))
        );
        assert_eq!(
            replaced("a b a", &[("a", "x", All)]),
            Ok(("x b x".into(), 2))
        );
        assert_eq!(
            replaced("a", &[("a", "b", One), ("b", "c", One)]),
            Ok(("c".into(), 2))
        );
        assert_eq!(replaced("a", &[("a", "", One)]), Ok((String::new(), 1)));
        assert_eq!(
            replaced("xa\na\nb\n", &[("a", "c", Lines)]),
            Ok(("xa\nc\nb\n".into(), 1))
        );
        assert_eq!(
            replaced("xa\na\nb\n", &[("a", "", RemovedLines)]),
            Ok(("xa\nb\n".into(), 1))
        );
        assert_eq!(
            replaced("b\na", &[("a", "", RemovedLines)]),
            Ok(("b\n".into(), 1))
        );
    }

    #[test]
    fn what_cannot_be_replaced_is_said_and_nothing_is() {
        use MatchMode::*;
        let table: [(&str, &[Edit], &str); 7] = [
            ("a", &[], "nothing to replace"),
            ("a", &[("", "x", One)], "is empty"),
            ("a", &[("a", "a", One)], "are the same"),
            ("a", &[("z", "x", All)], "was not found."),
            ("a\n\tb", &[("a\n  b", "x", One)], "differs only in spaces"),
            ("a\nb\na\na", &[("a", "x", One)], "3 times (lines 1, 3, 4)"),
            (
                "a b",
                &[("a", "x", One), ("z", "y", One)],
                "edit 2 of 2: the text to replace was not found.",
            ),
        ];
        for (text, edits, words) in table {
            let error = replaced(text, edits).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
