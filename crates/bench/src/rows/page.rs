//! The web page in a browser with a session of 10,000 events: opening it, streaming into it, the memory of its tab.
//!
//! A script of the page's own tests drives headless Chromium and prints the figures; here they become rows. Where the
//! driver of the browser is not installed, the row says so.

use std::{
    env,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::{
    compare::MedianPair,
    options::BenchOptions,
    program_dir::ProgramDir,
    row::{BenchRow, FigureTarget},
};

const SCRIPT: &str = "crates/server/tests/browser/figures.mjs";
/// The folder in which the driver of the browser is installed; `cargo xtask bench` sets it.
const PACKAGES: &str = "ROOFTREE_NPM";
/// The whole group, where it cannot be measured.
const GROUP: &str = "page: session of 10,000 events";
const MEGABYTE: f64 = 1_000_000.0;

/// What the script prints.
#[derive(Debug, Deserialize)]
struct PageFigures {
    open_ms: PageSides,
    long: StreamingFigures,
    short: StreamingFigures,
}

/// A figure with the long session, and with one of a single message.
#[derive(Clone, Copy, Debug, Deserialize)]
struct PageSides {
    long: f64,
    short: f64,
}

/// What the browser did while a reply came in.
#[derive(Debug, Deserialize)]
struct StreamingFigures {
    longest_task_ms: f64,
    long_tasks: f64,
    pieces: f64,
    seconds: f64,
    heap_bytes: f64,
    tab_bytes: f64,
}

pub(super) fn measure(place: &ProgramDir, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let rooftree = match place.rooftree(&["version"]) {
        Ok(rooftree) => rooftree,
        Err(why) => return Ok(vec![BenchRow::skipped(GROUP, why)]),
    };
    if env::var_os(PACKAGES).is_none() {
        let why = "the driver of the browser is not installed";
        return Ok(vec![BenchRow::skipped(GROUP, why)]);
    }
    Ok(rows(&figures(&rooftree, options.amount(5, 1))?))
}

/// Lets the script measure.
fn figures(rooftree: &Path, rounds: usize) -> Result<PageFigures> {
    let mut script = Command::new("node");
    script.args([SCRIPT, &rounds.to_string()]);
    script.env("ROOFTREE_BIN", rooftree).stdin(Stdio::null());
    let output = script
        .stderr(Stdio::inherit())
        .output()
        .context("start node")?;
    ensure!(output.status.success(), "{SCRIPT} failed");
    serde_json::from_slice(&output.stdout).context("read the figures of the page")
}

fn rows(figures: &PageFigures) -> Vec<BenchRow> {
    let PageFigures {
        open_ms,
        long,
        short,
    } = figures;
    let beside = |ours: f64, bare: f64| MedianPair {
        ours,
        bare: Some(bare),
    };
    let (at_most, watched) = (FigureTarget::AtMost, FigureTarget::Watched);
    let note = "a session of one message";
    let named = |what: &str| format!("page, 10,000 events: {what}");
    let seconds = |milliseconds: f64| milliseconds / 1000.0;
    vec![
        BenchRow::time(
            named("open"),
            beside(seconds(open_ms.long), seconds(open_ms.short)),
            at_most(0.5),
            note,
        ),
        BenchRow::count(
            named("tasks over 50 ms, 200 pieces/s"),
            beside(long.long_tasks, short.long_tasks),
            at_most(0.0),
            note,
        ),
        BenchRow::time(
            named("longest task over 50 ms"),
            beside(
                seconds(long.longest_task_ms),
                seconds(short.longest_task_ms),
            ),
            watched,
            note,
        ),
        BenchRow::rate(
            named("pieces shown"),
            beside(long.pieces / long.seconds, short.pieces / short.seconds),
            watched,
            note,
        ),
        BenchRow::size(
            named("memory of the tab"),
            beside(long.tab_bytes, short.tab_bytes),
            at_most(150.0 * MEGABYTE),
            note,
        ),
        BenchRow::size(
            named("JavaScript heap"),
            beside(long.heap_bytes, short.heap_bytes),
            watched,
            note,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_script_prints_becomes_rows_with_the_targets_of_the_acceptance_table() {
        let side = |tasks: u32, megabytes: u32| {
            format!(
                r#"{{"longest_task_ms":61,"long_tasks":{tasks},"draws":9,"pieces":1000,"seconds":5,"heap_bytes":9000000,"tab_bytes":{megabytes}000000}}"#
            )
        };
        let text = format!(
            r#"{{"events":10001,"open_ms":{{"long":480,"short":320}},"long":{},"short":{}}}"#,
            side(1, 149),
            side(0, 90)
        );
        let rows = rows(&serde_json::from_str(&text).unwrap());
        let met: Vec<_> = rows.iter().filter_map(BenchRow::is_met).collect();
        assert_eq!(met, [true, false, true]);
        assert_eq!(rows[0].ratio(), Some(1.5));
    }
}
