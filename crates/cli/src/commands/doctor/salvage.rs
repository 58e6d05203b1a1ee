//! Saves what can be read of a damaged database to a new file. The damaged files stay as they are.

use std::path::PathBuf;

use clap::Args;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_store::sqlite::salvage::{SalvageReport, salvage};
use serde_json::json;

use super::{
    check::DoctorVerdict,
    report::{hanging, sign},
};
use crate::{
    environment::Environment, exit::Exit, human_format::place, listing, output,
    terminal::sanitize::clean_line,
};

/// Options of `doctor salvage`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Where to write the new database; it must not be there yet
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Writes the new database and prints what is in it and what is not. The exit code is 1 if something is lost.
pub fn execute(
    arguments: Arguments,
    environment: &Environment,
    as_json: bool,
) -> Result<Exit, Problem> {
    let from = &environment.database;
    let to = arguments
        .out
        .unwrap_or_else(|| from.with_file_name("rooftree-salvaged.db"));
    let log = from.with_file_name(format!(
        "{}-wal",
        from.file_name().unwrap_or_default().display()
    ));
    if !from.exists() && !log.exists() {
        return Err(Problem::new(
            ErrorCode::StoreFailed,
            format!("there is no database at {}", place(from)),
        )
        .fix("ROOFTREE_HOME says where to look"));
    }
    let salvaged = salvage(from, &to).map_err(|error| {
        error
            .problem()
            .fix("restore a backup; SQLite's own .recover may read more of a damaged file")
    })?;
    let text = if as_json {
        let saved: serde_json::Map<_, _> = salvaged
            .saved
            .iter()
            .map(|(kind, count)| (kind.clone(), (*count).into()))
            .collect();
        output::json_page(&json!({"from": from, "to": to, "saved": saved, "lost": salvaged.lost}))?
    } else {
        page(environment, &to, &salvaged)
    };
    output::print(&text)?;
    Ok(if salvaged.lost.is_empty() {
        Exit::DONE
    } else {
        Exit::FAILED
    })
}

fn page(environment: &Environment, to: &std::path::Path, salvaged: &SalvageReport) -> String {
    let look = listing::look(environment);
    let from = &environment.database;
    let mut text = format!("rooftree {} — doctor salvage\n", env!("CARGO_PKG_VERSION"));
    let saved: Vec<String> = salvaged
        .saved
        .iter()
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    let saved = format!("{} in {}", saved.join(" · "), place(to));
    text += &format!("Saved    {}", hanging(&saved, 9, look));
    if !salvaged.lost.is_empty() {
        text += "Lost\n";
        for lost in &salvaged.lost {
            let sign = sign(DoctorVerdict::Failure, look.colours);
            text += &format!("  {sign} {}", hanging(&clean_line(lost), 4, look));
        }
    }
    let (name, new) = (place(from), place(to));
    let next = format!(
        "end all rooftree processes, move {name}, {name}-wal and {name}-mark away, then: mv {new} {name}"
    );
    text + &format!("To use   {}", hanging(&next, 9, look))
}
