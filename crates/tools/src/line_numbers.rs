//! Refuses a change that would write Read's line numbers (`     1→text`) into a file.

/// Refuses text whose lines carry numbers as Read shows them, unless the file has such lines already.
pub(crate) fn refuse_numbered_lines(shown: &str, before: &str, after: &str) -> Result<(), String> {
    if has_numbers(after) && !before.lines().any(|line| number(line).is_some()) {
        return Err(format!(
            "{shown} was not changed: lines of the new text begin with numbers as Read shows them (`1→`). They are \
             not part of the file; write the lines without them."
        ));
    }
    Ok(())
}

/// Whether all lines are numbered, or two in a row.
fn has_numbers(text: &str) -> bool {
    let numbers: Vec<Option<u64>> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(number)
        .collect();
    let follows = |pair: &[Option<u64>]| match pair {
        [Some(one), Some(next)] => one.checked_add(1) == Some(*next),
        _ => false,
    };
    numbers.windows(2).any(follows) || (!numbers.is_empty() && numbers.iter().all(Option::is_some))
}

fn number(line: &str) -> Option<u64> {
    line.trim_start().split_once('→')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n_17_numbers_of_read_do_not_get_into_a_file() {
        for after in [
            "1→apple 3\n2→pear 4\n3→plum 2\ncherry 6\n",
            "     1→apple\n     2→pear\n",
            "     7→only\n",
            "head\n     1→a\n     2→b\n",
        ] {
            assert!(
                refuse_numbered_lines("f", "apple 3\npear 4\n", after).is_err(),
                "{after}"
            );
            assert!(refuse_numbered_lines("f", "", after).is_err(), "{after}");
            assert_eq!(
                refuse_numbered_lines("f", "     1→sample of Read\n", after),
                Ok(()),
                "it has them already"
            );
        }
        for after in [
            "",
            "\n\n",
            "1. apple\n2. pear\n",
            "a → b\n",
            "1→2 is an arrow\nand text\n",
            "x1→y\nx2→z\n",
        ] {
            assert_eq!(refuse_numbered_lines("f", "", after), Ok(()), "{after}");
        }
    }
}
