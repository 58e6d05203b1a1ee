//! Summary of the suite: a table of its steps and one line with the verdict.

use std::{fmt::Write, time::Duration};

use super::{counts::Counts, second_try::TestReport};

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Failed,
    /// It was not done, because …
    Skipped(String),
}

impl Outcome {
    /// In one word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Passed => "ok",
            Self::Failed => "FAILED",
            Self::Skipped(_) => "skipped",
        }
    }
}

/// One step's line.
pub struct Row {
    pub name: &'static str,
    pub outcome: Outcome,
    pub report: TestReport,
    pub took: Duration,
}

impl Row {
    /// A step that was not done.
    pub fn skipped(name: &'static str, reason: String) -> Self {
        Self {
            name,
            outcome: Outcome::Skipped(reason),
            report: TestReport::default(),
            took: Duration::ZERO,
        }
    }

    fn remark(&self) -> String {
        match &self.outcome {
            Outcome::Skipped(reason) => reason.clone(),
            _ if self.report.counts == Counts::default() => String::new(),
            _ => format!(
                "{} passed, {} failed",
                self.report.counts.passed, self.report.counts.failed
            ),
        }
    }

    /// A step can fail without naming a test: a lint, a build, a binary that died.
    fn is_nameless_failure(&self) -> bool {
        self.outcome == Outcome::Failed && self.report.counts.failed == 0
    }
}

/// Whether nothing failed.
pub fn is_good(rows: &[Row]) -> bool {
    rows.iter().all(|row| row.outcome != Outcome::Failed)
}

/// A duration for people.
pub fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

/// The table, then `N passed, M failed`. A failed step that named no failed test counts as
/// one failure, so that the last line never looks green when the exit code is not.
pub fn render(rows: &[Row], took: Duration) -> String {
    let mut text = String::from("\n━━ summary ━━\n");
    let mut counts = Counts::default();
    for row in rows {
        counts += row.report.counts;
        let line = format!(
            "{:<8} {:<8} {:>9}  {}",
            row.name,
            row.outcome.word(),
            seconds(row.took),
            row.remark()
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let nameless: Vec<&str> = rows
        .iter()
        .filter(|row| row.is_nameless_failure())
        .map(|row| row.name)
        .collect();
    if !nameless.is_empty() {
        let _ = writeln!(
            text,
            "failed without naming a test, counted as one each: {}",
            nameless.join(", ")
        );
    }
    let unstable: Vec<&str> = rows
        .iter()
        .flat_map(|row| row.report.unstable.iter().map(String::as_str))
        .collect();
    if !unstable.is_empty() {
        let _ = writeln!(
            text,
            "unstable, failed among others and passed alone; mend: {}",
            unstable.join(", ")
        );
    }
    if counts.ignored > 0 {
        let _ = writeln!(
            text,
            "{} ignored: a test that is not run proves nothing; mend it or take it out",
            counts.ignored
        );
    }
    let _ = writeln!(text, "took {}", seconds(took));
    let failed = counts.failed + nameless.len() as u64;
    let _ = writeln!(text, "{} passed, {failed} failed", counts.passed);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &'static str, outcome: Outcome, passed: u64, failed: u64) -> Row {
        Row {
            name,
            outcome,
            report: TestReport {
                counts: Counts {
                    passed,
                    failed,
                    ignored: 0,
                },
                unstable: Vec::new(),
            },
            took: Duration::from_millis(1500),
        }
    }

    #[test]
    fn the_summary_is_a_table_and_a_last_line_with_all_tests() {
        let rows = [
            row("format", Outcome::Passed, 0, 0),
            row("test", Outcome::Failed, 40, 2),
            Row::skipped("crash", "left out by --quick".to_owned()),
        ];
        let text = render(&rows, Duration::from_secs(3));
        let expected = "\n━━ summary ━━\n\
            format   ok           1.5 s\n\
            test     FAILED       1.5 s  40 passed, 2 failed\n\
            crash    skipped      0.0 s  left out by --quick\n\
            took 3.0 s\n\
            40 passed, 2 failed\n";
        assert_eq!(text, expected);
        assert!(!is_good(&rows));
    }

    #[test]
    fn a_step_that_fails_without_a_failed_test_still_shows_in_the_last_line() {
        let rows = [
            row("clippy", Outcome::Failed, 0, 0),
            row("test", Outcome::Passed, 7, 0),
        ];
        let text = render(&rows, Duration::ZERO);
        assert!(
            text.contains("counted as one each: clippy") && text.ends_with("7 passed, 1 failed\n"),
            "{text}"
        );
    }

    #[test]
    fn unstable_tests_are_named_and_do_not_fail_the_suite() {
        let mut test = row("test", Outcome::Passed, 7, 0);
        test.report.unstable = vec!["queue::in_order".to_owned()];
        let text = render(&[test], Duration::ZERO);
        assert!(
            text.contains(
                "unstable, failed among others and passed alone; mend: queue::in_order\n"
            ) && text.ends_with("7 passed, 0 failed\n"),
            "{text}"
        );
    }

    #[test]
    fn skipped_steps_do_not_fail_the_suite() {
        assert!(is_good(&[
            row("test", Outcome::Passed, 7, 0),
            Row::skipped("crash", String::new())
        ]));
    }
}
