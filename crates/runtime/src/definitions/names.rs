//! Validates names of agents and tools, and suggests the nearest known name.

use rooftree_stdx::edit_distance::edit_distance_with_swaps;
use rooftree_tools::{declarations, declared_for_definition};

/// Whether an agent may have this name: `[a-z0-9][a-z0-9_-]{0,63}`, without case.
pub fn is_name(name: &str) -> bool {
    let is_inner = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    (1..=64).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(is_inner)
}

/// The canonical name of a tool that an agent may come to have, by any of its names. A declared tool that a toolset
/// lacks is not available; one that is not declared is a mistake.
pub(super) fn canonical(name: &str) -> Option<&'static str> {
    declared_for_definition(name).map(|info| info.name)
}

/// Every canonical name.
pub(super) fn tools<'a>() -> impl Iterator<Item = &'a str> {
    declarations().map(|info| info.name)
}

/// The known word closest to one that was written, if any is close.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |word: &str| word.to_lowercase().replace(['_', '-'], "");
    let written = plain(written);
    let (steps, word) = known
        .into_iter()
        .map(|word| (edit_distance_with_swaps(&written, &plain(word)), word))
        .min()?;
    (steps <= written.chars().count().div_ceil(3).min(3)).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_without_case() {
        for good in ["a", "Code-Reviewer", "x_1", &"a".repeat(64)] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "-a", "a b", "a/b", "é", "a.b", &"a".repeat(65)] {
            assert!(!is_name(bad), "{bad}");
        }
    }

    #[test]
    fn a_tool_is_known_by_what_others_call_it() {
        for (written, tool) in [
            ("read_file", "Read"),
            ("LIST_FILES", "List"),
            ("Agent", "Task"),
            ("bash", "Bash"),
        ] {
            assert_eq!(canonical(written), Some(tool));
        }
        assert_eq!(canonical("Grepp"), None);
    }

    #[test]
    fn a_slip_is_understood_and_another_word_is_not() {
        assert_eq!(nearest("Grepp", tools()), Some("Grep"));
        assert_eq!(nearest("Raed", tools()), Some("Read"));
        assert_eq!(nearest("Teleport", tools()), None);
        assert_eq!(nearest("max-turn", ["maxTurns", "model"]), Some("maxTurns"));
    }
}
