//! All rows, in the order of the table. One file per kind of figure.

mod api_posts;
mod api_readers;
mod connectors;
mod definitions;
pub mod delegation;
mod deltas;
mod journal;
pub mod many_sessions;
mod page;
mod policy;
mod posts;
mod program;
mod running_server;
mod schedules;
mod search;
mod search_index;
mod serve;
mod session_list;
mod shell;
mod startup;
mod stored;
mod turns;
mod wires;

use anyhow::Result;

use crate::{options::BenchOptions, program_dir::ProgramDir, row::BenchRow};

type MeasureFn = fn(&ProgramDir, &BenchOptions) -> Result<Vec<BenchRow>>;

/// All measurements, with the words by which `--only` selects them.
const GROUPS: &[(&str, MeasureFn)] = &[
    ("startup", startup::measure),
    ("turns", turns::measure),
    ("wires", wires::measure),
    ("program", program::measure),
    ("serve", serve::measure),
    ("API posts", api_posts::measure),
    ("API readers", api_readers::measure),
    ("page", page::measure),
    ("posts", posts::measure),
    ("journal", journal::measure),
    ("crowd", many_sessions::measure),
    ("delegation", delegation::measure),
    ("deltas", deltas::measure),
    ("list", session_list::measure),
    ("stored", stored::measure),
    ("search", search::measure),
    ("search index", search_index::measure),
    ("shell", shell::measure),
    ("policy", policy::measure),
    ("definitions", definitions::measure),
    ("schedules", schedules::measure),
    ("connectors", connectors::measure),
];

/// Runs the selected measurements one after the other: they would disturb each other.
pub fn measure(place: &ProgramDir, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let mut rows = Vec::new();
    for (name, group) in GROUPS.iter().filter(|(name, _)| options.wants(name)) {
        eprintln!("measuring {name} …");
        // One group that fails must not lose the figures of the others.
        match group(place, options) {
            Ok(measured) => rows.extend(measured),
            Err(error) => rows.push(BenchRow::failed(*name, &error)),
        }
    }
    Ok(rows)
}
