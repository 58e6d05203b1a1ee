//! Many concurrent sessions in one process, five tool turns each.

use std::{path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::json;
use tempfile::TempDir;

use crate::{
    baseline::SourceFiles,
    bench_runtime::BenchRuntime,
    compare::{MedianPair, median},
    machine,
    options::{BenchExtent, BenchOptions},
    program_dir::ProgramDir,
    quick_model::{ModelBehavior, QuickModel},
    row::{BenchRow, FigureTarget},
};

/// Argument that starts this program again as a child, to measure one load in a fresh process.
pub const CHILD: &str = "crowd";
const TURNS: usize = 5;

#[derive(Deserialize)]
struct SessionLoad {
    seconds: f64,
    growth: f64,
}

pub(super) fn measure(place: &ProgramDir, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let mut rows = measure_sessions(place, 1_000, options.rounds)?;
    // Ten times as many take ten times as long, and say less per second of waiting.
    let rounds = if options.extent == BenchExtent::Quick {
        1
    } else {
        3
    };
    rows.extend(measure_sessions(place, 10_000, rounds)?);
    Ok(rows)
}

fn measure_sessions(place: &ProgramDir, sessions: usize, rounds: usize) -> Result<Vec<BenchRow>> {
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        bare.push(once(&place.program("bench-bare"), sessions)?);
        ours.push(once(&place.program("rooftree-bench"), sessions)?);
    }
    let pair = |figure: fn(&SessionLoad) -> f64| {
        let of = |side: &[SessionLoad]| median(side.iter().map(figure).collect());
        MedianPair {
            ours: of(&ours),
            bare: Some(of(&bare)),
        }
    };
    let (time, growth) = (pair(|took| took.seconds), pair(|took| took.growth));
    let turns = (sessions * TURNS) as f64;
    let rate = MedianPair {
        ours: turns / time.ours,
        bare: time.bare.map(|bare| turns / bare),
    };
    let each = |value: f64| value / sessions as f64;
    let each = MedianPair {
        ours: each(growth.ours),
        bare: growth.bare.map(each),
    };
    let beside = "the same reads, rows committed in groups";
    Ok(vec![
        // No target: that is about models behind an API, as in the row beside HTTP.
        BenchRow::time(
            format!("{sessions} sessions × {TURNS} turns"),
            time,
            FigureTarget::Watched,
            beside,
        ),
        BenchRow::rate(
            format!("{sessions} sessions: turns"),
            rate,
            FigureTarget::Watched,
            beside,
        ),
        // No target: idle sessions have freed their memory, so this is not the cost of an active one.
        BenchRow::size(
            format!("{sessions} sessions: peak growth ÷ sessions"),
            each,
            FigureTarget::Watched,
            beside,
        ),
    ])
}

fn once(program: &Path, sessions: usize) -> Result<SessionLoad> {
    let work = TempDir::new()?;
    SourceFiles::create(work.path())?;
    let mut command = Command::new(program);
    command
        .arg(CHILD)
        .arg(work.path())
        .arg(sessions.to_string())
        .arg(TURNS.to_string());
    let output = command
        .output()
        .with_context(|| format!("start {}", program.display()))?;
    ensure!(
        output.status.success(),
        "{command:?} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Runs one load and prints the figures.
pub fn child(arguments: &[String]) -> Result<()> {
    let [directory, sessions, turns] = arguments else {
        anyhow::bail!("crowd DIRECTORY SESSIONS TURNS");
    };
    let (sessions, turns): (usize, usize) = (sessions.parse()?, turns.parse()?);
    let waiting = machine::multi_thread_runtime()?;
    let runtime = waiting.block_on(async {
        BenchRuntime::open(
            Path::new(directory),
            QuickModel::new(ModelBehavior::Read(turns)),
        )
    })?;
    let before = machine::memory()?;
    let seconds = machine::time_future(&waiting, async {
        runtime.post_to_many_new(sessions).await?;
        runtime.wait_for_runs(sessions).await
    })?;
    let growth = machine::peak_memory()? - before;
    println!("{}", json!({"seconds": seconds, "growth": growth}));
    waiting.block_on(runtime.close());
    Ok(())
}
