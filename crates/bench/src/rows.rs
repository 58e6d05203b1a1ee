//! All rows, in the order of the table. One file per kind of figure.

pub mod crowd;
mod definitions;
pub mod delegation;
mod deltas;
mod journal;
mod list;
mod policy;
mod posts;
mod search;
mod search_index;
mod shell;
mod startup;
mod turns;
mod wires;

use anyhow::Result;

use crate::{options::Options, place::Place, row::Row};

type Measure = fn(&Place, &Options) -> Result<Vec<Row>>;

/// What there is to measure, by the words `--only` finds it with.
const GROUPS: &[(&str, Measure)] = &[
    ("startup", startup::measure),
    ("turns", turns::measure),
    ("wires", wires::measure),
    ("posts", posts::measure),
    ("journal", journal::measure),
    ("crowd", crowd::measure),
    ("delegation", delegation::measure),
    ("deltas", deltas::measure),
    ("list", list::measure),
    ("search", search::measure),
    ("search index", search_index::measure),
    ("shell", shell::measure),
    ("policy", policy::measure),
    ("definitions", definitions::measure),
];

/// Measures what is wanted, one after the other: they would disturb each other.
pub fn measure(place: &Place, options: &Options) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, group) in GROUPS.iter().filter(|(name, _)| options.wants(name)) {
        eprintln!("measuring {name} …");
        rows.extend(group(place, options)?);
    }
    Ok(rows)
}
