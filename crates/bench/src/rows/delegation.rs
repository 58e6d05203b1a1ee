//! What it costs to let others work: until they are asked, until all is done, and in memory.

mod foreman;

use std::{
    path::Path,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use rooftree_providers::{Model, catalog::Opener};
use serde::Deserialize;
use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinSet;

use self::foreman::{Foreman, Shared};
use super::journal::grown;
use crate::{
    contest::{Pair, alone, contest, median},
    machine,
    options::{Extent, Options},
    place::Place,
    quick_model::{Habit, QuickModel},
    raw::Ledger,
    roof::Roof,
    row::{Row, Target},
};

/// The word by which this program is started once more, to be one family in a fresh process.
pub const CHILD: &str = "family";
/// Rows a delegation writes before its model is asked: session, task, message, claim, three events.
const ROWS: usize = 7;
/// How long the model of the slow helpers takes.
const SLOW: Duration = Duration::from_millis(2_500);

/// What one round took.
#[derive(Deserialize)]
struct Took {
    start: f64,
    total: f64,
    growth: f64,
}

pub(super) fn measure(place: &Place, options: &Options) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (helpers, target) in [
        (1, Target::AtMost(1e-3)),
        (10, Target::AtMost(4e-3)),
        (100, Target::Watched),
        (1_000, Target::Watched),
    ] {
        rows.extend(at_once(place, options, helpers, target)?);
    }
    rows.push(slow(place, options)?);
    rows.extend(fork(options)?);
    Ok(rows)
}

/// So many at once, each round in a fresh process.
fn at_once(place: &Place, options: &Options, helpers: usize, target: Target) -> Result<Vec<Row>> {
    let mut rounds = Vec::new();
    let pair = contest(
        options.rounds,
        || bare(helpers),
        || {
            let took = once(place, helpers, Duration::ZERO)?;
            let start = took.start;
            rounds.push(took);
            Ok(start)
        },
    )?;
    let of =
        |figure: fn(&Took) -> f64| Pair { ours: median(rounds.iter().map(figure).collect()), bare: None };
    let (total, growth) = (of(|took| took.total), of(|took| took.growth));
    let beside = format!("{} rows in one durable commit, then as many bare tasks", helpers * ROWS);
    let last = if helpers == 1 {
        "sub-agent start".into()
    } else {
        format!("{helpers} sub-agents: the last starts")
    };
    let mut rows = vec![
        Row::time(last, pair, target, beside),
        Row::time(
            format!("{helpers} sub-agents: all done"),
            total,
            Target::Watched,
            "from the post to the end of the run",
        ),
    ];
    if helpers == 1_000 {
        let each = Pair { ours: growth.ours / (helpers - 1) as f64, bare: None };
        let note = "all at work at the same time";
        rows.push(Row::size("memory per further sub-agent", each, Target::AtMost(1e5), note));
    }
    Ok(rows)
}

/// Ten that take their time must take it together.
fn slow(place: &Place, options: &Options) -> Result<Row> {
    let rounds = if options.extent == Extent::Quick { 1 } else { 3 };
    let pair = alone(rounds, || once(place, 10, SLOW).map(|took| took.total))?;
    let pair = Pair { bare: Some(SLOW.as_secs_f64()), ..pair };
    Ok(Row::time("10 sub-agents whose model takes 2.5 s", pair, Target::AtMost(2.55), "the model itself"))
}

fn once(place: &Place, helpers: usize, thinking: Duration) -> Result<Took> {
    let work = TempDir::new()?;
    let mut command = Command::new(place.program("rooftree-bench"));
    command.arg(CHILD).arg(work.path()).arg(helpers.to_string()).arg(thinking.as_millis().to_string());
    let output = command.output().context("start a family")?;
    ensure!(output.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Is one family, and prints what it took. What is made once per process is made before.
pub fn child(arguments: &[String]) -> Result<()> {
    let [directory, helpers, thinking] = arguments else {
        anyhow::bail!("family DIRECTORY HELPERS MILLISECONDS");
    };
    let foreman = Foreman::new();
    let waiting = machine::one_thread()?;
    let roof =
        waiting.block_on(async { Roof::raise_family(Path::new(directory), opener(foreman.clone())) })?;
    foreman.order(1, Duration::ZERO);
    for _ in 0..3 {
        waiting.block_on(roof.run())?;
    }
    let before = foreman.seen().memory;
    foreman.order(helpers.parse()?, Duration::from_millis(thinking.parse()?));
    let total = machine::until(&waiting, roof.run())?;
    let seen = foreman.seen();
    println!("{}", json!({"start": seen.start, "total": total, "growth": seen.memory - before}));
    waiting.block_on(roof.close());
    Ok(())
}

fn opener(foreman: Arc<Foreman>) -> Opener {
    Arc::new(move |choice: &rooftree_protocol::ModelChoice| {
        let shared = Arc::new(Shared(foreman.clone()));
        Ok(Model { window: Some(10_000_000), ..Model::new(choice, shared) })
    })
}

/// The least it could be: everything on disk in one go, then as many tasks that say that they began.
fn bare(helpers: usize) -> Result<f64> {
    let work = TempDir::new()?;
    let ledger = Ledger::open(&work.path().join("bare.db"))?;
    ledger.commit(["{}"])?;
    let waiting = machine::one_thread()?;
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

/// A branch of a long session: making it, and until its model is asked.
fn fork(options: &Options) -> Result<Vec<Row>> {
    let events = options.amount(10_000, 2_000);
    let work = TempDir::new()?;
    let (session, _) = grown(work.path(), events as u64)?;
    let waiting = machine::one_thread()?;
    let roof = waiting.block_on(async { Roof::raise(work.path(), QuickModel::new(Habit::Read(0))) })?;
    let made =
        alone(options.rounds, || machine::until(&waiting, async { roof.fork(&session).await.map(drop) }))?;
    let asked = alone(options.rounds, || {
        roof.model.forget();
        waiting.block_on(async {
            let since = Instant::now();
            let fork = roof.fork(&session).await?;
            roof.run_in(&fork.id, fork.head).await?;
            let asked = roof.model.first_asked().context("the model was never asked")?;
            Ok(asked.at.duration_since(since).as_secs_f64())
        })
    })?;
    waiting.block_on(roof.close());
    Ok(vec![
        Row::time(format!("fork of {events} events"), made, Target::Watched, "nothing is copied"),
        Row::time(
            format!("fork of {events} events, to its first request"),
            asked,
            Target::Watched,
            "the journal is read and folded",
        ),
    ])
}
