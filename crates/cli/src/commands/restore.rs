//! Restore: replaces all sessions by those of a backup; what was there is kept aside.

use std::path::PathBuf;

use clap::Args;
use rooftree_protocol::{ErrorCode, Principal, Problem, Surface};
use rooftree_runtime::{Clock, SystemClock};
use rooftree_store::{
    AuditEntry, Error,
    sqlite::restore::{RestoreRequest, restore},
};
use serde_json::json;

use super::backup::{CopyMeter, beside, counted, words};
use crate::{
    environment::Environment, exit::Exit, human_format::place, listing::PageOutput, output,
};

/// Options of `restore`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// A file that `rooftree backup` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    output: PageOutput,
}

/// Verifies the backup, exchanges the files and says where the old ones are.
pub fn execute(arguments: &Arguments, environment: &Environment) -> Result<Exit, Problem> {
    refuse_agents()?;
    let (from, database) = (environment.cwd.join(&arguments.file), &environment.database);
    let had_one = database.exists();
    let who = Principal::local_owner(Surface::Cli);
    let audit = AuditEntry::done(&who, SystemClock.now(), "store.restore", from.display());
    let request = RestoreRequest {
        from,
        database: database.clone(),
        aside: beside(database, "before-restore"),
        audit,
    };
    let mut meter = CopyMeter::new(environment, arguments.output.is_json());
    let report = restore(&request, &mut |progress| meter.show(progress));
    meter.clear();
    let report = report.map_err(|error| problem(&error, &request))?;
    let aside = had_one.then_some(&request.aside);
    let text = if arguments.output.is_json() {
        output::json_page(&json!({
            "file": request.from, "database": database, "kept": aside, "bytes": report.bytes,
            "counted": counted(&report), "verified": true,
        }))?
    } else {
        let kept = aside.map(|aside| format!("what was there is in {}\n", place(aside)));
        format!(
            "restored {}: {}\n{}",
            place(database),
            words(&report),
            kept.unwrap_or_default()
        )
    };
    output::print(&text)?;
    Ok(Exit::DONE)
}

/// Invariant: a program that an agent started does not bring back revoked tokens and deleted rules.
fn refuse_agents() -> Result<(), Problem> {
    rooftree_process::AgentAncestry::refuse_this_process().map_err(|why| {
        let message = "a program that an agent started cannot restore a backup";
        Problem::new(ErrorCode::ToolDenied, message).cause(why.to_string())
    })
}

fn problem(error: &Error, request: &RestoreRequest) -> Problem {
    let name = place(&request.from);
    match error {
        Error::Damaged(what) => {
            Problem::new(ErrorCode::StoreFailed, format!("{name} is damaged: {what}"))
                .cause("a backup is verified before it is used; nothing was changed")
                .fix("use another backup")
        }
        Error::Failed(what) => {
            Problem::new(ErrorCode::StoreFailed, format!("cannot restore {name}"))
                .cause(what.clone())
                .fix("use a file that rooftree backup wrote; nothing was changed")
        }
        Error::InUse(_) => Problem {
            code: ErrorCode::SessionBusy,
            ..error.problem()
        },
        _ => error.problem(),
    }
}
