//! Reads the whole database and checks every promise it makes. Changes nothing, and works
//! while others write.

use rooftree_protocol::{ErrorCode, Problem};
use rooftree_store::{SqliteStore, prelude::*, verify::VerifyReport};
use serde_json::json;

use super::{
    check::DoctorVerdict,
    report::{hanging, sign},
};
use crate::{
    environment::Environment,
    exit::Exit,
    human_format::place,
    listing, output,
    terminal::{run_text::counted, sanitize::clean_line},
};

/// Prints what was counted, checked and found.
pub async fn execute(environment: &Environment, as_json: bool) -> Result<Exit, Problem> {
    let path = &environment.database;
    let log = path.with_file_name(format!(
        "{}-wal",
        path.file_name().unwrap_or_default().display()
    ));
    if !path.exists() && !log.exists() {
        return Err(Problem::new(
            ErrorCode::StoreFailed,
            format!("there is no database at {}", place(path)),
        )
        .fix("rooftree run \"…\" makes one; ROOFTREE_HOME says where to look"));
    }
    let store = SqliteStore::open_read_only(path).map_err(|error| damaged(&error))?;
    let report = store.verify().await.map_err(|error| damaged(&error))?;
    let text = if as_json {
        let counted: serde_json::Map<_, _> = report
            .counted
            .iter()
            .map(|(kind, count)| (kind.replace(' ', "_"), (*count).into()))
            .collect();
        output::json_page(&json!({
            "database": path,
            "counted": counted,
            "checked": report.checked,
            "violations": report.violations,
        }))?
    } else {
        page(environment, &report)
    };
    output::print(&text)?;
    Ok(if report.violations.is_empty() {
        Exit::DONE
    } else {
        Exit::FAILED
    })
}

fn damaged(error: &rooftree_store::Error) -> Problem {
    if let rooftree_store::Error::Older(..) = error {
        return error.problem();
    }
    error
        .problem()
        .fix("restore a backup, or: rooftree doctor salvage saves what can be read to a new file")
}

fn page(environment: &Environment, report: &VerifyReport) -> String {
    let look = listing::look(environment);
    let mut text = format!("rooftree {} — doctor verify\n", env!("CARGO_PKG_VERSION"));
    let looked_at: Vec<String> = report
        .counted
        .iter()
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    let looked_at = format!(
        "{} in {}",
        looked_at.join(" · "),
        place(&environment.database)
    );
    text += &format!("Counted  {}", hanging(&looked_at, 9, look));
    text += "Checked\n";
    for promise in &report.checked {
        let name = promise.split(':').next().unwrap_or_default();
        let is_kept = report
            .violations
            .iter()
            .all(|violation| violation.invariant != name);
        let verdict = if is_kept {
            DoctorVerdict::Good
        } else {
            DoctorVerdict::Failure
        };
        text += &format!(
            "  {} {}",
            sign(verdict, look.colours),
            hanging(promise, 4, look)
        );
    }
    if !report.violations.is_empty() {
        text += "Violations\n";
        for violation in &report.violations {
            let words = format!(
                "{} {}: {}",
                violation.invariant, violation.place, violation.what
            );
            let sign = sign(DoctorVerdict::Failure, look.colours);
            text += &format!("  {sign} {}", hanging(&clean_line(&words), 4, look));
        }
    }
    text += &format!("{}\n", counted(report.violations.len() as u64, "violation"));
    if !report.violations.is_empty() {
        text += "rooftree doctor salvage saves what can be read to a new file\n";
    }
    text
}
