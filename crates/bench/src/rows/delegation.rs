//! Cost of delegation: time until the helpers are asked, time until all are done, and memory.

mod delegating_model;

use std::{
    path::Path,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use rooftree_providers::{Model, catalog::ModelOpener};
use serde::Deserialize;
use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinSet;

use self::delegating_model::{DelegatingModel, DelegatingProvider};
use super::journal::build_long_session;
use crate::{
    baseline::DurableTable,
    bench_runtime::BenchRuntime,
    compare::{MedianPair, compare, measure_ours, median},
    machine,
    options::{BenchExtent, BenchOptions},
    program_dir::ProgramDir,
    quick_model::{ModelBehavior, QuickModel},
    row::{BenchRow, FigureTarget},
};

/// Argument that starts this program again as a child, to measure one delegating agent in a fresh process.
pub const CHILD: &str = "family";
/// Rows a delegation writes before its model is asked: session, task, message, claim, three events.
const ROWS: usize = 7;
/// How long the model of the slow helpers takes.
const SLOW: Duration = Duration::from_millis(2_500);

/// The figures of one round.
#[derive(Deserialize)]
struct DelegationFigures {
    start: f64,
    total: f64,
    growth: f64,
}

pub(super) fn measure(place: &ProgramDir, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let mut rows = Vec::new();
    for (helpers, target) in [
        (1, FigureTarget::AtMost(1e-3)),
        (10, FigureTarget::AtMost(4e-3)),
        (100, FigureTarget::Watched),
        (1_000, FigureTarget::Watched),
    ] {
        rows.extend(at_once(place, options, helpers, target)?);
    }
    rows.push(slow(place, options)?);
    rows.extend(fork(options)?);
    Ok(rows)
}

/// So many concurrent helpers, each round in a fresh process.
fn at_once(
    place: &ProgramDir,
    options: &BenchOptions,
    helpers: usize,
    target: FigureTarget,
) -> Result<Vec<BenchRow>> {
    let mut rounds = Vec::new();
    let pair = compare(
        options.rounds,
        || bare(helpers),
        || {
            let took = once(place, helpers, Duration::ZERO)?;
            let start = took.start;
            rounds.push(took);
            Ok(start)
        },
    )?;
    let of = |figure: fn(&DelegationFigures) -> f64| MedianPair {
        ours: median(rounds.iter().map(figure).collect()),
        bare: None,
    };
    let (total, growth) = (of(|took| took.total), of(|took| took.growth));
    let beside = format!(
        "{} rows in one durable commit, then as many bare tasks",
        helpers * ROWS
    );
    let last = if helpers == 1 {
        "sub-agent start".into()
    } else {
        format!("{helpers} sub-agents: the last starts")
    };
    let mut rows = vec![
        BenchRow::time(last, pair, target, beside),
        BenchRow::time(
            format!("{helpers} sub-agents: all done"),
            total,
            FigureTarget::Watched,
            "from the post to the end of the run",
        ),
    ];
    if helpers == 1_000 {
        let each = MedianPair {
            ours: growth.ours / (helpers - 1) as f64,
            bare: None,
        };
        let note = "all at work at the same time";
        rows.push(BenchRow::size(
            "memory per further sub-agent",
            each,
            FigureTarget::AtMost(1e5),
            note,
        ));
    }
    Ok(rows)
}

/// Ten slow helpers must run concurrently.
fn slow(place: &ProgramDir, options: &BenchOptions) -> Result<BenchRow> {
    let rounds = if options.extent == BenchExtent::Quick {
        1
    } else {
        3
    };
    let pair = measure_ours(rounds, || once(place, 10, SLOW).map(|took| took.total))?;
    let pair = MedianPair {
        bare: Some(SLOW.as_secs_f64()),
        ..pair
    };
    Ok(BenchRow::time(
        "10 sub-agents whose model takes 2.5 s",
        pair,
        FigureTarget::AtMost(2.55),
        "the model itself",
    ))
}

fn once(place: &ProgramDir, helpers: usize, thinking: Duration) -> Result<DelegationFigures> {
    let work = TempDir::new()?;
    let mut command = Command::new(place.program("rooftree-bench"));
    command
        .arg(CHILD)
        .arg(work.path())
        .arg(helpers.to_string())
        .arg(thinking.as_millis().to_string());
    let output = command.output().context("start a family")?;
    ensure!(
        output.status.success(),
        "{command:?} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Runs one delegating agent and prints the figures. One-time setup of the process is done before.
pub fn child(arguments: &[String]) -> Result<()> {
    let [directory, helpers, thinking] = arguments else {
        anyhow::bail!("family DIRECTORY HELPERS MILLISECONDS");
    };
    let foreman = DelegatingModel::new();
    let waiting = machine::single_thread_runtime()?;
    let runtime = waiting.block_on(async {
        BenchRuntime::open_delegating(Path::new(directory), opener(foreman.clone()))
    })?;
    foreman.set_round(1, Duration::ZERO);
    for _ in 0..3 {
        waiting.block_on(runtime.run())?;
    }
    let before = foreman.figures().memory;
    foreman.set_round(helpers.parse()?, Duration::from_millis(thinking.parse()?));
    let total = machine::time_future(&waiting, runtime.run())?;
    let seen = foreman.figures();
    println!(
        "{}",
        json!({"start": seen.start, "total": total, "growth": seen.memory - before})
    );
    waiting.block_on(runtime.close());
    Ok(())
}

fn opener(foreman: Arc<DelegatingModel>) -> ModelOpener {
    Arc::new(move |choice: &rooftree_protocol::ModelChoice| {
        let shared = Arc::new(DelegatingProvider(foreman.clone()));
        Ok(Model {
            window: Some(10_000_000),
            ..Model::new(choice, shared)
        })
    })
}

/// The baseline: everything on disk in one commit, then as many tasks that report that they began.
fn bare(helpers: usize) -> Result<f64> {
    let work = TempDir::new()?;
    let ledger = DurableTable::open(&work.path().join("bare.db"))?;
    ledger.commit(["{}"])?;
    let waiting = machine::single_thread_runtime()?;
    machine::seconds(|| {
        let row = "{\"text\":\"Do a part of the work.\"}";
        ledger.commit(std::iter::repeat_n(row, helpers * ROWS))?;
        waiting.block_on(async {
            let mut tasks = JoinSet::new();
            (0..helpers).for_each(|_| drop(tasks.spawn(async { Instant::now() })));
            tasks.join_all().await;
        });
        Ok(())
    })
}

/// A fork of a long session: time to create it, and until its model is asked.
fn fork(options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let events = options.amount(10_000, 2_000);
    let work = TempDir::new()?;
    let (session, _) = build_long_session(work.path(), events as u64)?;
    let waiting = machine::single_thread_runtime()?;
    let runtime = waiting.block_on(async {
        BenchRuntime::open(work.path(), QuickModel::new(ModelBehavior::Read(0)))
    })?;
    let made = measure_ours(options.rounds, || {
        machine::time_future(&waiting, async { runtime.fork(&session).await.map(drop) })
    })?;
    let asked = measure_ours(options.rounds, || {
        runtime.model.reset_first_request();
        waiting.block_on(async {
            let since = Instant::now();
            let fork = runtime.fork(&session).await?;
            runtime.run_in(&fork.id, fork.head).await?;
            let asked = runtime
                .model
                .first_request()
                .context("the model was never asked")?;
            Ok(asked.at.duration_since(since).as_secs_f64())
        })
    })?;
    waiting.block_on(runtime.close());
    Ok(vec![
        BenchRow::time(
            format!("fork of {events} events"),
            made,
            FigureTarget::Watched,
            "nothing is copied",
        ),
        BenchRow::time(
            format!("fork of {events} events, to its first request"),
            asked,
            FigureTarget::Watched,
            "the journal is read and folded",
        ),
    ])
}
