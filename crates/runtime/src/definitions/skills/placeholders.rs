//! A skill's text with the places in it filled in: arguments, and where its files are.

/// Fills in `$ARGUMENTS`, `$1` to `$9` and `${CLAUDE_SKILL_DIR}`. In one pass: what was filled in is not looked
/// at again, so an argument cannot ask for another one.
pub(in crate::definitions) fn filled(text: &str, arguments: &str, directory: &str) -> String {
    let words = words(arguments);
    let mut full = String::with_capacity(text.len() + arguments.len());
    let (mut rest, mut has_place) = (text, false);
    while let Some(at) = rest.find('$') {
        let (before, place) = rest.split_at(at);
        full.push_str(before);
        let (value, length) = match placed(place) {
            Some((SkillPlaceholder::Directory, length)) => (directory, length),
            Some((SkillPlaceholder::Whole, length)) => (arguments, length),
            Some((SkillPlaceholder::Word(number), length)) => {
                (words.get(number - 1).map_or("", String::as_str), length)
            }
            None => ("$", 1),
        };
        has_place |= length > 1 && !place.starts_with(DIRECTORY);
        full.push_str(value);
        rest = place.get(length..).unwrap_or_default();
    }
    full.push_str(rest);
    if has_place || arguments.is_empty() {
        full
    } else {
        format!("{full}\n\nArguments: {arguments}")
    }
}

const DIRECTORY: &str = "${CLAUDE_SKILL_DIR}";
const WHOLE: &str = "$ARGUMENTS";

enum SkillPlaceholder {
    Directory,
    Whole,
    Word(usize),
}

/// Parses a placeholder at the beginning of a text (`$…`), with its length.
fn placed(text: &str) -> Option<(SkillPlaceholder, usize)> {
    if text.starts_with(DIRECTORY) {
        return Some((SkillPlaceholder::Directory, DIRECTORY.len()));
    }
    if text.starts_with(WHOLE) {
        return Some((SkillPlaceholder::Whole, WHOLE.len()));
    }
    let mut characters = text.chars().skip(1);
    let number = characters
        .next()?
        .to_digit(10)
        .filter(|number| *number > 0)?;
    // `$10` is an amount of money, or a placeholder of another program.
    let is_longer = characters
        .next()
        .is_some_and(|next| next.is_ascii_alphanumeric() || next == '_');
    (!is_longer).then_some((SkillPlaceholder::Word(number as usize), 2))
}

/// The words of the arguments; quotation marks keep several together.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in text.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_once_and_arguments_without_a_place_stand_below() {
        let table = [
            ("Do $ARGUMENTS.", "a b", "Do a b."),
            ("Do $1, then $2; $3", "'a b' c", "Do a b, then c; "),
            ("Run ${CLAUDE_SKILL_DIR}/x", "a", "Run /s/x\n\nArguments: a"),
            ("Run it", "", "Run it"),
            ("$1", "$2 ${CLAUDE_SKILL_DIR}", "$2"),
            (
                "It costs $10, $0 or $x $",
                "a",
                "It costs $10, $0 or $x $\n\nArguments: a",
            ),
            ("é$1é", "ü", "éüé"),
        ];
        for (text, arguments, wanted) in table {
            assert_eq!(filled(text, arguments, "/s"), wanted, "{text}");
        }
    }
}
