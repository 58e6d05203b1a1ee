//! Edit distance of two words, and the known word nearest to a misspelt one.

/// Cost of two neighbouring letters that are swapped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SwapCost {
    /// One step, as of any other slip (Damerau).
    One,
    /// Two changed letters (Levenshtein).
    Two,
}

/// Letters to add, remove or change to get from one word to another (Levenshtein).
///
/// ```
/// assert_eq!(rooftree_stdx::edit_distance::edit_distance("txt", "text"), 1);
/// ```
pub fn edit_distance(from: &str, to: &str) -> usize {
    distance(from, to, SwapCost::Two)
}

/// The same, where swapping two neighbouring letters is one step (Damerau).
pub fn edit_distance_with_swaps(from: &str, to: &str) -> usize {
    distance(from, to, SwapCost::One)
}

fn distance(from: &str, to: &str, swap: SwapCost) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut line = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let at =
                |line: &[usize], column: usize| line.get(column).copied().unwrap_or(usize::MAX / 2);
            let changed = at(&above, column) + usize::from(letter != other);
            let mut best = changed
                .min(at(&above, column + 1) + 1)
                .min(at(&line, column) + 1);
            let is_swap = swap == SwapCost::One
                && row > 0
                && column > 0
                && from.get(row - 1) == Some(other)
                && to.get(column - 1) == Some(letter);
            if is_swap {
                best = best.min(at(&before, column - 1) + 1);
            }
            line.push(best);
        }
        before = std::mem::replace(&mut above, line);
    }
    above.last().copied().unwrap_or_default()
}

/// The known word nearest to a misspelt one, if it differs by at most so many letters. Of several, the first by
/// alphabet.
pub fn nearest<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Option<&'a str> {
    known
        .into_iter()
        .map(|word| (edit_distance(written, word), word))
        .min()
        .filter(|(letters, _)| *letters <= most)
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_single_letters_and_swaps_if_asked() {
        for (from, to, letters, with_swaps) in [
            ("text", "text", 0, 0),
            ("txt", "text", 1, 1),
            ("tool", "tols", 2, 2),
            ("modle", "model", 2, 1),
            ("txet", "text", 2, 1),
            ("", "abc", 3, 3),
            ("abc", "", 3, 3),
            ("kitten", "sitting", 3, 3),
            ("größe", "grösse", 2, 2),
        ] {
            assert_eq!(edit_distance(from, to), letters, "{from} to {to}");
            assert_eq!(
                edit_distance_with_swaps(from, to),
                with_swaps,
                "{from} to {to}"
            );
        }
    }

    #[test]
    fn a_near_word_is_found_and_a_far_one_is_not() {
        let known = ["model", "permission", "limits"];
        assert_eq!(nearest("permision", known, 2), Some("permission"));
        assert_eq!(nearest("limit", known, 2), Some("limits"));
        assert_eq!(nearest("theme", known, 2), None);
        assert_eq!(nearest("x", [], 9), None);
    }
}
