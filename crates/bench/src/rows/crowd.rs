//! Many sessions in one process at once, five tool turns each.

use std::{path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::json;
use tempfile::TempDir;

use crate::{
    contest::{Pair, median},
    machine,
    options::{Extent, Options},
    place::Place,
    quick_model::{Habit, QuickModel},
    raw::Files,
    roof::Roof,
    row::{Row, Target},
};

/// The word by which this program is started once more, to be one crowd in a fresh process.
pub const CHILD: &str = "crowd";
const TURNS: usize = 5;

#[derive(Deserialize)]
struct Took {
    seconds: f64,
    growth: f64,
}

pub(super) fn measure(place: &Place, options: &Options) -> Result<Vec<Row>> {
    let mut rows = crowd(place, 1_000, options.rounds)?;
    // Ten times as many take ten times as long, and say less per second of waiting.
    let rounds = if options.extent == Extent::Quick { 1 } else { 3 };
    rows.extend(crowd(place, 10_000, rounds)?);
    Ok(rows)
}

fn crowd(place: &Place, sessions: usize, rounds: usize) -> Result<Vec<Row>> {
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        bare.push(once(&place.program("bench-bare"), sessions)?);
        ours.push(once(&place.program("rooftree-bench"), sessions)?);
    }
    let pair = |figure: fn(&Took) -> f64| {
        let of = |side: &[Took]| median(side.iter().map(figure).collect());
        Pair { ours: of(&ours), bare: Some(of(&bare)) }
    };
    let (time, growth) = (pair(|took| took.seconds), pair(|took| took.growth));
    let turns = (sessions * TURNS) as f64;
    let rate = Pair { ours: turns / time.ours, bare: time.bare.map(|bare| turns / bare) };
    let each = |value: f64| value / sessions as f64;
    let each = Pair { ours: each(growth.ours), bare: growth.bare.map(each) };
    let beside = "the same reads, rows committed in groups";
    Ok(vec![
        // No target: that is about models behind a wire, as in the row beside HTTP.
        Row::time(format!("{sessions} sessions × {TURNS} turns"), time, Target::Watched, beside),
        Row::rate(format!("{sessions} sessions: turns"), rate, Target::Watched, beside),
        // No target: those that rest have let go of theirs, so this is not what one awake costs.
        Row::size(format!("{sessions} sessions: peak growth ÷ sessions"), each, Target::Watched, beside),
    ])
}

fn once(program: &Path, sessions: usize) -> Result<Took> {
    let work = TempDir::new()?;
    Files::plant(work.path())?;
    let mut command = Command::new(program);
    command.arg(CHILD).arg(work.path()).arg(sessions.to_string()).arg(TURNS.to_string());
    let output = command.output().with_context(|| format!("start {}", program.display()))?;
    ensure!(output.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Is one crowd, and prints what it took.
pub fn child(arguments: &[String]) -> Result<()> {
    let [directory, sessions, turns] = arguments else {
        anyhow::bail!("crowd DIRECTORY SESSIONS TURNS");
    };
    let (sessions, turns): (usize, usize) = (sessions.parse()?, turns.parse()?);
    let waiting = machine::all_threads()?;
    let roof =
        waiting.block_on(async { Roof::raise(Path::new(directory), QuickModel::new(Habit::Read(turns))) })?;
    let before = machine::memory()?;
    let seconds = machine::until(&waiting, async {
        roof.many(sessions).await?;
        roof.quiet(sessions).await
    })?;
    let growth = machine::peak_memory()? - before;
    println!("{}", json!({"seconds": seconds, "growth": growth}));
    waiting.block_on(roof.close());
    Ok(())
}
