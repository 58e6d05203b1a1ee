//! Prints due times of cron expressions as JSON, to be compared with other implementations of cron.
//!
//! Standard input is a list of `{"expression", "zone", "windows": [[from, to], …]}` with seconds since 1970; the
//! answer is, for each, the list of its due times after `from` and until `to`, window by window.

use std::io::{self, Read};

use rooftree_schedule::{ScheduleSpec, next_times};
use serde::Deserialize;

#[derive(Deserialize)]
struct Wanted {
    expression: String,
    zone: String,
    windows: Vec<(i64, i64)>,
}

/// How many times are asked for at once.
const CHUNK: usize = 512;

fn main() -> io::Result<()> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    let wanted: Vec<Wanted> = serde_json::from_str(&text)?;
    let answers: Vec<Vec<i64>> = wanted.iter().map(due_times).collect();
    serde_json::to_writer(io::stdout().lock(), &answers)?;
    Ok(())
}

fn due_times(wanted: &Wanted) -> Vec<i64> {
    let spec = ScheduleSpec::Cron {
        expression: wanted.expression.clone(),
        zone: wanted.zone.clone(),
    };
    let windows = wanted.windows.iter();
    windows
        .flat_map(|(from, to)| within(&spec, *from, *to))
        .collect()
}

fn within(spec: &ScheduleSpec, from: i64, to: i64) -> Vec<i64> {
    let mut found = Vec::new();
    let mut after = from * 1000;
    loop {
        let chunk = next_times(spec, after, CHUNK);
        let inside = chunk.iter().map(|due| due / 1000);
        found.extend(inside.filter(|due| *due <= to));
        match chunk.last() {
            Some(last) if chunk.len() == CHUNK && *last <= to * 1000 => after = *last,
            _ => return found,
        }
    }
}
