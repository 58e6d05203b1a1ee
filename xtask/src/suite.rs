//! `cargo xtask test`: everything that must hold, step after step, with one verdict at the end.
//!
//! A step that fails does not stop the others, unless they could only fail for
//! the same reason: one run should tell as much as it can.

pub mod browser;
mod command;
mod counts;
mod cron;
mod emulators;
pub mod needs;
mod npm_packages;
mod page_scripts;
mod reference_servers;
mod schemathesis;
mod sdk;
mod second_try;
mod step;
mod summary;

use std::{process::ExitCode, time::Instant};

use anyhow::Result;
use second_try::TestReport;
use step::{STEPS, Speed, Step};
use summary::{Outcome, Row};

use crate::repository::Repository;

/// How much to do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    Quick,
    Everything,
    /// Also what takes hours or a release build.
    Full,
}

/// Tells `xtask/tests/left_out.rs` that it has nothing to say.
const INSIDE: &str = "ROOFTREE_XTASK_TEST";

/// Runs the steps and prints what came of them.
pub fn run(repository: &Repository, extent: Extent) -> Result<ExitCode> {
    needs::provide()?;
    let started = Instant::now();
    let mut rows: Vec<Row> = Vec::new();
    for step in STEPS {
        rows.push(match reason_to_skip(step, repository, extent, &rows) {
            Some(reason) => Row::skipped(step.name, reason),
            None => perform(step, repository)?,
        });
    }
    print!("{}", summary::render(&rows, started.elapsed()));
    Ok(if summary::is_good(&rows) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn reason_to_skip(
    step: &Step,
    repository: &Repository,
    extent: Extent,
    rows: &[Row],
) -> Option<String> {
    if let Some(missing) = step.missing(repository) {
        return Some(missing);
    }
    if extent == Extent::Quick && step.speed == Speed::Slow {
        return Some("left out by --quick".to_owned());
    }
    if extent != Extent::Full && step.speed == Speed::Long {
        return Some("only with --full".to_owned());
    }
    let failed = |name: &str| {
        rows.iter()
            .any(|row| row.name == name && row.outcome == Outcome::Failed)
    };
    step.after
        .filter(|name| failed(name))
        .map(|name| format!("not run because `{name}` failed"))
}

fn perform(step: &Step, repository: &Repository) -> Result<Row> {
    println!("\n━━ {} ━━ {}", step.name, step.spelled());
    let started = Instant::now();
    let mut report = TestReport::default();
    let outcome = if step.perform(repository, &mut report)? {
        Outcome::Passed
    } else {
        Outcome::Failed
    };
    let row = Row {
        name: step.name,
        outcome,
        report,
        took: started.elapsed(),
    };
    println!(
        "━━ {} {} in {}",
        row.name,
        row.outcome.word(),
        summary::seconds(row.took)
    );
    Ok(row)
}

/// What plain `cargo test` leaves out, as a note for the person who types it.
pub fn left_out_by_cargo_test(repository: &Repository) -> String {
    let left_out = STEPS
        .iter()
        .filter(|step| !step.in_cargo_test && step.speed != Speed::Long)
        .filter(|step| step.missing(repository).is_none());
    let names: Vec<&str> = left_out.map(|step| step.name).collect();
    format!(
        "plain `cargo test` leaves out: {}. `cargo xtask test` does everything.",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Planted;

    #[test]
    fn plain_cargo_test_says_what_it_leaves_out_and_nothing_that_is_not_there_yet() {
        let without = left_out_by_cargo_test(&Planted::new().repository());
        assert!(
            without.contains("clippy") && without.contains("tidy") && !without.contains("crash"),
            "{without}"
        );
        let with = left_out_by_cargo_test(
            &Planted::new()
                .with("crates/cli/tests/crash.rs", "")
                .repository(),
        );
        assert!(with.contains("crash"), "{with}");
    }

    #[test]
    fn steps_that_take_hours_are_done_by_full_alone() {
        let repository = Planted::new().repository();
        let mutants = STEPS.iter().find(|step| step.name == "mutants").unwrap();
        let reason = |extent| reason_to_skip(mutants, &repository, extent, &[]);
        assert_eq!(reason(Extent::Everything).unwrap(), "only with --full");
        assert_eq!(reason(Extent::Full), None);
    }

    #[test]
    fn a_step_is_skipped_when_its_target_is_missing_it_is_slow_or_its_basis_failed() {
        let planted = Planted::new().with("crates/cli/tests/crash.rs", "");
        let repository = planted.repository();
        let crash = STEPS.iter().find(|step| step.name == "crash").unwrap();
        let reason = |extent, rows: &[Row]| reason_to_skip(crash, &repository, extent, rows);
        assert_eq!(reason(Extent::Everything, &[]), None);
        assert_eq!(reason(Extent::Quick, &[]).unwrap(), "left out by --quick");
        let row = |outcome| Row {
            name: "clippy",
            outcome,
            report: TestReport::default(),
            took: Default::default(),
        };
        assert_eq!(
            reason(Extent::Everything, &[row(Outcome::Failed)]).unwrap(),
            "not run because `clippy` failed"
        );
        assert_eq!(reason(Extent::Everything, &[row(Outcome::Passed)]), None);
        let bare = Planted::new().repository();
        assert!(
            reason_to_skip(crash, &bare, Extent::Everything, &[])
                .unwrap()
                .contains("crates/cli/tests/crash")
        );
    }
}
