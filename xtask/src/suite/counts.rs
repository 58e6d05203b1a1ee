//! Parses the numbers of passed and failed tests from the summary lines of test binaries and of Node's tests.

use std::ops::AddAssign;

/// Tests by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub passed: u64,
    pub failed: u64,
    pub ignored: u64,
}

impl Counts {
    /// Takes a line of output into account, if it sums up a test binary.
    pub fn read(&mut self, line: &str) {
        // Node's tests, each file in a line of its own.
        let node = |prefix: &str| {
            line.strip_prefix(prefix)
                .and_then(|number| number.parse().ok())
        };
        self.passed += node("# pass ").unwrap_or(0_u64);
        self.failed += node("# fail ").unwrap_or(0_u64);
        let Some((_, sums)) = line.split_once("test result: ") else {
            return;
        };
        for part in sums.split([';', '.']) {
            let mut words = part.split_whitespace();
            let (Some(Ok(number)), Some(word)) =
                (words.next().map(str::parse::<u64>), words.next())
            else {
                continue;
            };
            match word {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summing_lines_are_added_up_and_all_others_ignored() {
        let mut counts = Counts::default();
        for line in [
            "running 3 tests",
            "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.02s",
            "test a_failed_tool_is_content ... ok",
            "test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 7 filtered out; finished in 1.10s",
            "7 passed; 7 failed",
            "# pass 3",
            "# fail 1",
        ] {
            counts.read(line);
        }
        assert_eq!(
            counts,
            Counts {
                passed: 18,
                failed: 3,
                ignored: 1
            }
        );
    }
}
