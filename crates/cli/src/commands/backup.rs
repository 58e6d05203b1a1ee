//! Backup: copies all sessions to one file while the server runs, and verifies the copy.

use std::{
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
};

use clap::Args;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_store::{
    Error,
    sqlite::backup::{BackupReport, CopyProgress, backup},
};
use serde_json::{Map, Value, json};

use crate::{
    environment::Environment,
    exit::Exit,
    human_format::{place, size},
    listing::PageOutput,
    output,
    terminal::run_text,
};

/// Options of `backup`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Where to write the copy; it must not be there yet
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    output: PageOutput,
}

/// Writes the copy and says what is in it.
pub fn execute(arguments: &Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let (from, to) = (&environment.database, environment.cwd.join(&arguments.file));
    if !from.exists() {
        let message = format!("there is no database at {}", place(from));
        return Err(Problem::new(ErrorCode::StoreFailed, message)
            .fix("rooftree run \"…\" makes one; ROOFTREE_HOME says where to look"));
    }
    if to.symlink_metadata().is_ok() {
        let message = format!("{} is there already", place(&to));
        return Err(Problem::new(ErrorCode::InvalidArguments, message)
            .cause("a backup replaces nothing")
            .fix("name a file that is not there yet"));
    }
    if let Some(directory) = to.parent().filter(|directory| !directory.is_dir()) {
        let message = format!("there is no directory {}", place(directory));
        return Err(Problem::new(ErrorCode::InvalidArguments, message)
            .fix("make it, or name a file in another directory"));
    }
    let mut meter = CopyMeter::new(environment, arguments.output.is_json());
    let report = backup(from, &to, &mut |progress| meter.show(progress));
    meter.clear();
    let report = report.map_err(|error| problem(&error))?;
    let text = if arguments.output.is_json() {
        output::json_page(&json!({
            "database": from, "file": to, "bytes": report.bytes, "counted": counted(&report), "verified": true,
        }))?
    } else {
        format!("wrote {}: {}\n", place(&to), words(&report))
    };
    output::print(&text)?;
    Ok(Exit::DONE)
}

fn problem(error: &Error) -> Problem {
    match error {
        Error::Damaged(_) => error.problem().fix(
            "rooftree doctor verify says what is wrong with the database; nothing was written",
        ),
        Error::InUse(_) => error
            .problem()
            .cause("another backup to the same file is being made")
            .fix("wait for it, or name another file"),
        Error::Unwritable(_) => error
            .problem()
            .cause("this user may not write there, or the disk is read-only")
            .fix("name a file in a directory that you may write"),
        _ => error.problem(),
    }
}

/// What was counted, for programs.
pub fn counted(report: &BackupReport) -> Map<String, Value> {
    let counted = report.verified.counted.iter();
    counted
        .map(|(kind, count)| (kind.replace(' ', "_"), (*count).into()))
        .collect()
}

/// What was counted, for people.
pub fn words(report: &BackupReport) -> String {
    let counted = report.verified.counted.iter();
    let counted: Vec<String> = counted
        .map(|(kind, count)| run_text::counted(*count, kind.trim_end_matches('s')))
        .collect();
    format!(
        "{} · {} · verified",
        size(report.bytes),
        counted.join(" · ")
    )
}

/// Progress of a copy: a line on a terminal that is written over.
pub struct CopyMeter {
    is_shown: bool,
    percent: Option<u64>,
}

impl CopyMeter {
    pub fn new(environment: &Environment, as_json: bool) -> Self {
        let everywhere = &environment.everywhere;
        Self {
            is_shown: !as_json
                && !everywhere.quiet
                && !everywhere.plain
                && io::stderr().is_terminal(),
            percent: None,
        }
    }

    /// Shows how far it is, once per percent.
    pub fn show(&mut self, progress: CopyProgress) {
        let percent = progress.done.saturating_mul(100) / progress.total.max(1);
        if !self.is_shown || self.percent == Some(percent) {
            return;
        }
        self.percent = Some(percent);
        let (done, total) = (size(progress.done), size(progress.total));
        let what = if percent < 100 {
            format!("copying {percent} % ({done} of {total})")
        } else {
            "verifying".to_owned()
        };
        let _ = write!(io::stderr(), "\r\x1b[K{what}");
    }

    /// Removes the line.
    pub fn clear(&self) {
        if self.percent.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// A name beside the database that is not there yet.
pub fn beside(database: &Path, what: &str) -> PathBuf {
    let plain = database.with_file_name(format!("rooftree-{what}.db"));
    let numbered = (2..).map(|n| database.with_file_name(format!("rooftree-{what}-{n}.db")));
    std::iter::once(plain.clone())
        .chain(numbered)
        .find(|path| path.symlink_metadata().is_err())
        .unwrap_or(plain)
}
