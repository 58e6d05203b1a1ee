//! Suggests the known word nearest to a misspelt one, by edit distance.

/// The known word closest to one that was written, if any is close.
pub fn suggestion<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let (steps, word) = known
        .iter()
        .map(|word| (distance(written, word), *word))
        .min()?;
    (steps <= written.chars().count().div_ceil(3)).then_some(word)
}

/// Edit distance between two words.
fn distance(from: &str, to: &str) -> usize {
    let mut best: Vec<usize> = (0..=to.chars().count()).collect();
    for (row, letter) in from.chars().enumerate() {
        let mut corner = row;
        let mut left = row + 1;
        let mut next = vec![left];
        for (above, other) in best.iter().skip(1).zip(to.chars()) {
            left = (corner + usize::from(letter != other))
                .min(above + 1)
                .min(left + 1);
            corner = *above;
            next.push(left);
        }
        best = next;
    }
    best.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_understood_and_a_different_word_is_not() {
        let known = ["model", "permission", "limits"];
        assert_eq!(suggestion("modle", &known), Some("model"));
        assert_eq!(suggestion("permision", &known), Some("permission"));
        assert_eq!(suggestion("limit", &known), Some("limits"));
        assert_eq!(suggestion("theme", &known), None);
    }
}
