//! Drafts of several lines: a line that ends with a backslash goes on in the next one.

/// Whether a draft goes on: it ends with a backslash that is not itself behind one.
pub fn is_incomplete(draft: &str) -> bool {
    let backslashes = draft.len() - draft.trim_end_matches('\\').len();
    backslashes % 2 == 1
}

/// The message of a finished draft: backslashes at line ends are only there to go on.
pub fn finished(draft: &str) -> String {
    let last = draft.lines().count().saturating_sub(1);
    let lines = draft.lines().enumerate().map(|(number, line)| {
        if number < last && is_incomplete(line) {
            line.strip_suffix('\\').unwrap_or(line)
        } else {
            line
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_at_the_end_goes_on() {
        assert!(is_incomplete("one\\"));
        assert!(!is_incomplete("one\\\\"));
        assert!(!is_incomplete("one"));
        assert_eq!(finished("one\\\ntwo \\\\\nthree"), "one\ntwo \\\\\nthree");
        assert_eq!(finished("C:\\"), "C:\\");
    }
}
