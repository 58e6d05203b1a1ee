//! Runs the failed tests of a step once more, one after the other: a test that then passes is reported as unstable.
//!
//! Among thousands of tests on two busy cores one may fail for want of processor time. The summary names it, so that it is
//! mended; a test that fails again fails the step.

use std::process::Command;

use anyhow::Result;

use super::{
    command::{counted_by_line, linted},
    counts::Counts,
};
use crate::repository::Repository;

/// More than this are not want of processor time.
const MOST: usize = 5;

/// What a step with tests found.
#[derive(Default)]
pub struct TestReport {
    pub counts: Counts,
    /// Tests that failed among others and passed alone.
    pub unstable: Vec<String>,
}

/// How a test runner names a failed test, and how it is told to run only some.
pub struct Runner<'a> {
    pub failed_test: fn(&str) -> Option<String>,
    pub only: &'a dyn Fn(&[String]) -> Result<Command>,
}

/// Runs `cargo` with these arguments, and failed tests once more.
pub fn cargo_tests(
    repository: &Repository,
    arguments: &[&str],
    report: &mut TestReport,
) -> Result<bool> {
    let only = |names: &[String]| {
        let mut again = linted(repository, arguments);
        again
            .args(["--", "--exact", "--test-threads=1"])
            .args(names);
        Ok(again)
    };
    let runner = Runner {
        failed_test: failed_in_rust,
        only: &only,
    };
    run(linted(repository, arguments), &runner, report)
}

/// Runs the tests, and those that failed once more if they are few and each has a name.
pub fn run(tests: Command, runner: &Runner<'_>, report: &mut TestReport) -> Result<bool> {
    let (mut first, mut failed) = (Counts::default(), Vec::new());
    let is_good = counted_by_line(tests, &mut |line| {
        first.read(line);
        failed.extend((runner.failed_test)(line));
    })?;
    let have_names = !failed.is_empty() && failed.len() as u64 == first.failed;
    if is_good || !have_names || failed.len() > MOST {
        report.counts += first;
        return Ok(is_good);
    }
    println!("\n━━ once more, alone: {} ━━", failed.join(", "));
    let mut second = Counts::default();
    let passed = counted_by_line((runner.only)(&failed)?, &mut |line| second.read(line))?;
    // A name that no longer matches a test would pass by running nothing.
    if passed && second.passed >= first.failed {
        first.passed += first.failed;
        first.failed = 0;
        report.unstable.extend(failed);
    }
    report.counts += first;
    Ok(first.failed == 0)
}

/// The name in the line that Rust's test harness prints for a failed test.
fn failed_in_rust(line: &str) -> Option<String> {
    let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    // Names of documented examples have spaces, and `--exact` does not find them.
    (!name.contains(' ')).then(|| name.to_owned())
}

/// The name in the line that Node's test runner prints for a failed test.
pub fn failed_in_node(line: &str) -> Option<String> {
    let numbered = line.strip_prefix("not ok ")?;
    let (_, name) = numbered.split_once(" - ")?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_tests_are_read_from_the_lines_of_test_runners() {
        let rust = [
            ("test queue::in_order ... FAILED", Some("queue::in_order")),
            (
                "test queue::panics - should panic ... FAILED",
                Some("queue::panics"),
            ),
            ("test queue::in_order ... ok", None),
            ("test crates/a/src/lib.rs - read (line 3) ... FAILED", None),
            ("    queue::in_order", None),
        ];
        for (line, name) in rust {
            assert_eq!(failed_in_rust(line).as_deref(), name, "{line}");
        }
        let node = [
            (
                "not ok 3 - two browsers, one answers",
                Some("two browsers, one answers"),
            ),
            ("ok 4 - eight tabs", None),
        ];
        for (line, name) in node {
            assert_eq!(failed_in_node(line).as_deref(), name, "{line}");
        }
    }

    /// Runs `first`, and `again` for the failed tests; whether that was good, and the report.
    fn tried(first: &str, again: &'static str) -> (bool, TestReport) {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        let only = |_: &[String]| Ok(shell(again));
        let runner = Runner {
            failed_test: failed_in_rust,
            only: &only,
        };
        let mut report = TestReport::default();
        let is_good = run(shell(first), &runner, &mut report).unwrap();
        (is_good, report)
    }

    const ONE_FAILS: &str = "echo 'test a::b ... FAILED'; \
        echo 'test result: FAILED. 4 passed; 1 failed; 0 ignored'; exit 101";

    #[test]
    fn a_test_that_passes_alone_is_unstable_and_one_that_fails_again_has_failed() {
        let (is_good, report) = tried(ONE_FAILS, "echo 'test result: ok. 1 passed; 0 failed'");
        assert!(is_good);
        assert_eq!((report.counts.passed, report.counts.failed), (5, 0));
        assert_eq!(report.unstable, ["a::b"]);

        let (is_good, report) = tried(
            ONE_FAILS,
            "echo 'test result: FAILED. 0 passed; 1 failed'; exit 1",
        );
        assert!(!is_good && report.unstable.is_empty());
        assert_eq!((report.counts.passed, report.counts.failed), (4, 1));
    }

    #[test]
    fn a_second_try_that_runs_no_test_shows_nothing() {
        let (is_good, report) = tried(ONE_FAILS, "echo 'test result: ok. 0 passed; 0 failed'");
        assert!(!is_good && report.unstable.is_empty());
    }

    #[test]
    fn a_program_that_fails_without_naming_a_test_is_not_tried_again() {
        let (is_good, _) = tried("exit 101", "echo 'test result: ok. 1 passed; 0 failed'");
        assert!(!is_good);
    }
}
