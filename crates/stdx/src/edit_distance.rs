//! Edit distance of two words, and the known word nearest to a misspelt one.

/// Letters to add, remove, change or swap with their neighbour to get from one word to another.
///
/// ```
/// assert_eq!(rooftree_stdx::edit_distance::edit_distance("modle", "model"), 1);
/// ```
pub fn edit_distance(from: &str, to: &str) -> usize {
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
            let is_swap = row > 0
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
    fn the_distance_counts_single_letters_and_swaps() {
        for (from, to, letters) in [
            ("text", "text", 0),
            ("txt", "text", 1),
            ("tool", "tols", 2),
            ("modle", "model", 1),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("größe", "grösse", 2),
        ] {
            assert_eq!(edit_distance(from, to), letters, "{from} to {to}");
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
