//! Suggests the known word nearest to a misspelt one, by edit distance.

use rooftree_stdx::edit_distance;

/// The known word closest to one that was written, if any is close.
pub fn suggestion<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let most = written.chars().count().div_ceil(3);
    edit_distance::nearest(written, known.iter().copied(), most)
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
