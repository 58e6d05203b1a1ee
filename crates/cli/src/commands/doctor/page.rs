//! The report: what needs somebody first, then everything, group by group.

use anstyle::AnsiColor;
use serde::Serialize;

use super::check::{Check, Group, Verdict};
use crate::terminal::{clean::clean_line, wording::counted};

const GROUPS: [(Group, &str); 4] = [
    (Group::Environment, "Environment"),
    (Group::Storage, "Storage"),
    (Group::Models, "Models"),
    (Group::Sessions, "Sessions"),
];

/// The report for programs.
#[derive(Serialize)]
pub struct Summary<'a> {
    version: &'static str,
    good: usize,
    warnings: usize,
    failures: usize,
    checks: &'a [Check],
}

impl<'a> Summary<'a> {
    pub fn of(checks: &'a [Check]) -> Self {
        let count = |verdict| checks.iter().filter(|check| check.verdict == verdict).count();
        Self {
            version: env!("CARGO_PKG_VERSION"),
            good: count(Verdict::Good),
            warnings: count(Verdict::Warning),
            failures: count(Verdict::Failure),
            checks,
        }
    }
}

/// The report for people.
pub fn text(checks: &[Check], colours: bool) -> String {
    let mut text = format!("rooftree {} — doctor\n", env!("CARGO_PKG_VERSION"));
    let needs_somebody = |check: &&Check| matches!(check.verdict, Verdict::Failure | Verdict::Warning);
    let mut notes: Vec<&Check> = checks.iter().filter(needs_somebody).collect();
    notes.sort_by_key(|check| check.verdict != Verdict::Failure);
    if !notes.is_empty() {
        text += "Notes\n";
        notes.iter().for_each(|check| text += &line(check, colours));
    }
    for (group, title) in GROUPS {
        let mut of_group = checks.iter().filter(|check| check.group == group).peekable();
        if of_group.peek().is_some() {
            text += &format!("{title}\n");
            // The fix is told once, in the notes.
            of_group.for_each(|check| text += &line(&Check { fix: None, ..check.clone() }, colours));
        }
    }
    let summary = Summary::of(checks);
    let (warnings, failures) = (summary.warnings as u64, summary.failures as u64);
    text + &format!(
        "{} ok · {} · {}\n",
        summary.good,
        counted(warnings, "warning"),
        counted(failures, "failure")
    )
}

fn line(check: &Check, colours: bool) -> String {
    let fix = check.fix.as_ref().map(|fix| format!(" — {}", clean_line(fix))).unwrap_or_default();
    format!("  {} {:<11} {}{fix}\n", sign(check.verdict, colours), check.name, clean_line(&check.words))
}

/// A sign that can be told apart without its colour.
pub fn sign(verdict: Verdict, colours: bool) -> String {
    let (sign, colour) = match verdict {
        Verdict::Good => ("✓", AnsiColor::Green),
        Verdict::Absent => ("–", AnsiColor::BrightBlack),
        Verdict::Warning => ("⚠", AnsiColor::Yellow),
        Verdict::Failure => ("✗", AnsiColor::Red),
    };
    let style = colour.on_default();
    if colours { format!("{style}{sign}{style:#}") } else { sign.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_somebody_comes_first_with_its_fix() {
        let checks = [
            Group::Environment.good("system", "linux"),
            Group::Storage.warning("space", "1 MB free").fix("free some"),
            Group::Models.failure("default", "no provider `x`").fix("name another"),
        ];
        let report = text(&checks, false);
        let lines: Vec<&str> = report.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "Notes",
                "  ✗ default     no provider `x` — name another",
                "  ⚠ space       1 MB free — free some",
                "Environment",
                "  ✓ system      linux",
                "Storage",
                "  ⚠ space       1 MB free",
                "Models",
                "  ✗ default     no provider `x`",
                "1 ok · 1 warning · 1 failure",
            ]
        );
    }
}
