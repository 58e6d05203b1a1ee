//! Prints the doctor's report: failures and warnings first, then every check by group.

use anstyle::AnsiColor;
use serde::Serialize;

use super::check::{DoctorCheck, DoctorGroup, DoctorVerdict};
use crate::{
    human_format::wrapped,
    table::TableStyle,
    terminal::{run_text::counted, sanitize::clean_line},
};

const GROUPS: [(DoctorGroup, &str); 6] = [
    (DoctorGroup::Environment, "Environment"),
    (DoctorGroup::Storage, "Storage"),
    (DoctorGroup::Models, "Models"),
    (DoctorGroup::Providers, "Providers"),
    (DoctorGroup::Agents, "Agents"),
    (DoctorGroup::Sessions, "Sessions"),
];

/// The report for programs.
#[derive(Serialize)]
pub struct DoctorSummary<'a> {
    version: &'static str,
    good: usize,
    warnings: usize,
    failures: usize,
    checks: &'a [DoctorCheck],
}

impl<'a> DoctorSummary<'a> {
    pub fn of(checks: &'a [DoctorCheck]) -> Self {
        let count = |verdict| {
            checks
                .iter()
                .filter(|check| check.verdict == verdict)
                .count()
        };
        Self {
            version: env!("CARGO_PKG_VERSION"),
            good: count(DoctorVerdict::Good),
            warnings: count(DoctorVerdict::Warning),
            failures: count(DoctorVerdict::Failure),
            checks,
        }
    }
}

/// The report for people.
pub fn text(checks: &[DoctorCheck], look: TableStyle) -> String {
    let mut text = format!("rooftree {} — doctor\n", env!("CARGO_PKG_VERSION"));
    let needs_somebody = |check: &&DoctorCheck| {
        matches!(
            check.verdict,
            DoctorVerdict::Failure | DoctorVerdict::Warning
        )
    };
    let mut notes: Vec<&DoctorCheck> = checks.iter().filter(needs_somebody).collect();
    notes.sort_by_key(|check| check.verdict != DoctorVerdict::Failure);
    if !notes.is_empty() {
        text += "To fix\n";
        notes.iter().for_each(|check| text += &line(check, look));
    }
    for (group, title) in GROUPS {
        let mut of_group = checks
            .iter()
            .filter(|check| check.group == group)
            .peekable();
        if of_group.peek().is_some() {
            text += &format!("{title}\n");
            of_group.for_each(|check| text += &line(&told_once(check), look));
        }
    }
    let summary = DoctorSummary::of(checks);
    let (warnings, failures) = (summary.warnings as u64, summary.failures as u64);
    text + &format!(
        "{} ok · {} · {}\n",
        summary.good,
        counted(warnings, "warning"),
        counted(failures, "failure")
    )
}

/// The fix of what is in the notes is told there.
fn told_once(check: &DoctorCheck) -> DoctorCheck {
    match check.verdict {
        DoctorVerdict::Failure | DoctorVerdict::Warning => DoctorCheck {
            fix: None,
            ..check.clone()
        },
        DoctorVerdict::Good | DoctorVerdict::Absent => check.clone(),
    }
}

fn line(check: &DoctorCheck, look: TableStyle) -> String {
    let fix = check
        .fix
        .as_ref()
        .map(|fix| format!(" — {}", clean_line(fix)))
        .unwrap_or_default();
    let words = format!("{}{fix}", clean_line(&check.words));
    format!(
        "  {} {:<11} {}",
        sign(check.verdict, look.colours),
        check.name,
        hanging(&words, 16, look)
    )
}

/// Words after so many columns; what does not fit goes on below them.
pub fn hanging(words: &str, columns: usize, look: TableStyle) -> String {
    let width = look
        .width
        .map(|width| width.saturating_sub(columns).max(20));
    let below = format!("\n{}", " ".repeat(columns));
    wrapped(words, width).trim_end().replace('\n', &below) + "\n"
}

/// A sign that can be told apart without its colour.
pub fn sign(verdict: DoctorVerdict, colours: bool) -> String {
    let (sign, colour) = match verdict {
        DoctorVerdict::Good => ("✓", AnsiColor::Green),
        DoctorVerdict::Absent => ("–", AnsiColor::BrightBlack),
        DoctorVerdict::Warning => ("⚠", AnsiColor::Yellow),
        DoctorVerdict::Failure => ("✗", AnsiColor::Red),
    };
    let style = colour.on_default();
    if colours {
        format!("{style}{sign}{style:#}")
    } else {
        sign.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_somebody_comes_first_with_its_fix() {
        let checks = [
            DoctorGroup::Environment.good("system", "linux"),
            DoctorGroup::Storage
                .warning("space", "1 MB free")
                .fix("free some"),
            DoctorGroup::Models
                .failure("default", "no provider `x`")
                .fix("name another"),
        ];
        let report = text(&checks, TableStyle::default());
        let lines: Vec<&str> = report.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "To fix",
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
