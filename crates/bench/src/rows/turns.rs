//! Cost of one tool turn in a run of fifty, from the post to the end of the run.

use std::{path::Path, process::Command};

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::{
    baseline::{DurableTable, SourceFiles, source_files::BaselineConversation},
    bench_runtime::BenchRuntime,
    compare::{MedianPair, compare},
    machine,
    options::BenchOptions,
    program_dir::ProgramDir,
    quick_model::{ModelBehavior, QuickModel},
    row::{BenchRow, FigureTarget},
};

const TURNS: usize = 50;

pub(super) fn measure(_: &ProgramDir, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let work = TempDir::new()?;
    let files = SourceFiles::create(work.path())?;
    let ledger = DurableTable::open(&work.path().join("bare.db"))?;
    let (waiting, runtime) = raise(work.path(), ModelBehavior::Read(TURNS))?;
    let ours = || machine::time_future(&waiting, runtime.run());
    let loose = || machine::seconds(|| bare_turns(&files, None));
    let durable = || machine::seconds(|| bare_turns(&files, Some(&ledger)));
    let mut rows = vec![
        BenchRow::time(
            "one turn, Read",
            per_turn(compare(options.rounds, durable, ours)?),
            FigureTarget::Times(1.5),
            "read the file, one durable commit",
        ),
        BenchRow::time(
            "one turn, Read, beside no store",
            per_turn(compare(options.rounds, loose, ours)?),
            FigureTarget::Watched,
            "read the file, keep nothing",
        ),
    ];
    let processor = compare(
        options.rounds,
        || machine::processor_seconds(|| bare_turns(&files, Some(&ledger))),
        || machine::processor_seconds(|| waiting.block_on(runtime.run())),
    )?;
    let note = "read the file, one durable commit";
    rows.push(BenchRow::time(
        "processor time of a turn, Read",
        per_turn(processor),
        FigureTarget::Times(2.0),
        note,
    ));
    rows.push(first_request(&runtime)?);
    waiting.block_on(runtime.close());
    rows.extend(bash(work.path(), &ledger, options)?);
    Ok(rows)
}

fn raise(
    directory: &Path,
    habit: ModelBehavior,
) -> Result<(tokio::runtime::Runtime, BenchRuntime)> {
    let waiting = machine::single_thread_runtime()?;
    let runtime =
        waiting.block_on(async { BenchRuntime::open(directory, QuickModel::new(habit)) })?;
    Ok((waiting, runtime))
}

fn per_turn(pair: MedianPair) -> MedianPair {
    let turns = TURNS as f64;
    MedianPair {
        ours: pair.ours / turns,
        bare: pair.bare.map(|bare| bare / turns),
    }
}

fn bare_turns(files: &SourceFiles, ledger: Option<&DurableTable>) -> Result<()> {
    let mut conversation = BaselineConversation::default();
    for turn in 0..TURNS {
        let data = conversation.turn(files, turn)?;
        if let Some(ledger) = ledger {
            ledger.commit([data])?;
        }
    }
    Ok(())
}

fn first_request(runtime: &BenchRuntime) -> Result<BenchRow> {
    let asked = runtime
        .model
        .first_request()
        .context("the model was never asked")?;
    let pair = MedianPair {
        ours: asked.bytes as f64,
        bare: None,
    };
    Ok(BenchRow::size(
        "size of the first request",
        pair,
        FigureTarget::AtMost(12e3),
        "prompt, tools and message as JSON",
    ))
}

fn bash(directory: &Path, ledger: &DurableTable, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let (waiting, runtime) = raise(directory, ModelBehavior::Bash(TURNS))?;
    let ours = || machine::time_future(&waiting, runtime.run());
    let bare = |shell: &'static str| move || machine::seconds(|| bare_commands(shell, ledger));
    let rows = vec![
        BenchRow::time(
            "one turn, shell `true`",
            per_turn(compare(options.rounds, bare("sh"), ours)?),
            FigureTarget::Times(1.5),
            "`sh -c true`, one durable commit",
        ),
        BenchRow::time(
            "one turn, shell `true`, beside bash",
            per_turn(compare(options.rounds, bare("bash"), ours)?),
            FigureTarget::Watched,
            "`bash -c true`, one durable commit",
        ),
    ];
    waiting.block_on(runtime.close());
    Ok(rows)
}

fn bare_commands(shell: &str, ledger: &DurableTable) -> Result<()> {
    for turn in 0..TURNS {
        ledger.commit(["{\"command\":\"true\"}"])?;
        let ran = Command::new(shell)
            .args(["-c", &format!("true {turn}")])
            .output();
        ran.with_context(|| format!("start {shell}"))?;
    }
    Ok(())
}
