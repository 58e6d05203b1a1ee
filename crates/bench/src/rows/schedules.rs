//! Schedules: registering 100,000 of them, what the scheduler reads at a tick, and the time from a due time to the first
//! model request.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt, stream};
use rooftree_protocol::Timestamp;
use rooftree_store::{SqliteStore, prelude::*};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::{
    baseline::DurableTable,
    bench_runtime::BenchRuntime,
    compare::{MedianPair, compare, measure_ours},
    machine,
    options::BenchOptions,
    program_dir::ProgramDir,
    quick_model::{ModelBehavior, QuickModel},
    row::{BenchRow, FigureTarget},
};

/// Schedules that are there.
const MANY: usize = 100_000;
/// Schedules that are added at once.
const AT_ONCE: usize = 128;
/// Due schedules that the scheduler reads at a time.
const PAGE: usize = 64;
/// Looks of one measurement.
const LOOKS: usize = 500;
/// How far ahead the measured due time is.
const AHEAD: Duration = Duration::from_millis(1_000);

pub(super) fn measure(_: &ProgramDir, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let work = TempDir::new()?;
    let waiting = machine::multi_thread_runtime()?;
    let mut rows = vec![first_request(
        work.path(),
        "schedule: due time to the first model request",
        (&waiting, options),
    )?];
    let many = options.amount(MANY, 5_000);
    rows.push(registered(work.path(), many, (&waiting, options))?);
    rows.push(looks(work.path(), many, (&waiting, options))?);
    rows.push(first_request(
        work.path(),
        &format!("{many} schedules: due time to the first model request"),
        (&waiting, options),
    )?);
    Ok(rows)
}

/// Adds schedules that are not due for weeks. Only our side adds so many: the bare one only shows what commits cost.
fn registered(
    work: &Path,
    many: usize,
    (waiting, options): (&Runtime, &BenchOptions),
) -> Result<BenchRow> {
    let runtime = waiting
        .block_on(async { BenchRuntime::open(work, QuickModel::new(ModelBehavior::Read(0))) })?;
    let add = async {
        let adding = stream::iter(0..many)
            .map(|_| runtime.add_schedule("every 4w"))
            .buffer_unordered(AT_ONCE);
        adding.try_for_each(|_| async { Ok(()) }).await
    };
    let ours = many as f64 / machine::time_future(waiting, add)?;
    waiting.block_on(runtime.close());
    let ledger = DurableTable::open(&work.join("bare.db"))?;
    let batch = vec![PLAN; AT_ONCE];
    let commits = options.amount(200, 40);
    let bare = measure_ours(options.rounds, || {
        machine::seconds(|| (0..commits).try_for_each(|_| ledger.commit(batch.iter().copied())))
            .map(|seconds| (commits * AT_ONCE) as f64 / seconds)
    })?;
    let pair = MedianPair {
        ours,
        bare: Some(bare.ours),
    };
    let name = format!("{many} schedules: registered, {AT_ONCE} at once");
    let note = format!("durable commits of {AT_ONCE} rows");
    Ok(BenchRow::rate(name, pair, FigureTarget::Watched, note))
}

/// As long as a row of ours.
const PLAN: &str = r#"{"kind":{"type":"time"},"spec":{"kind":"every","seconds":2419200,"anchor_ms":1794700800000},"zone":"UTC","agent":"lead","cwd":"/tmp","work":{"type":"prompt","text":"Read some files."}}"#;

/// What the scheduler reads when nothing is due: what is open, what is over, what is due, when the next one is.
fn looks(
    work: &Path,
    many: usize,
    (waiting, options): (&Runtime, &BenchOptions),
) -> Result<BenchRow> {
    let store = waiting.block_on(async { SqliteStore::open(work.join(BenchRuntime::DATABASE)) })?;
    let bare = bare_schedules(&work.join("bare-schedules.db"), many)?;
    let looks = options.amount(LOOKS, 50);
    let each = |seconds: f64| seconds / looks as f64;
    let look = async || {
        for _ in 0..looks {
            let now = now()?;
            store.open_occurrences().await?;
            store.unreviewed_occurrences(PAGE).await?;
            store.due_schedules(now, PAGE).await?;
            store.unreviewed_occurrences(PAGE).await?;
            store.next_due().await?;
        }
        anyhow::Ok(())
    };
    let pair = compare(
        options.rounds,
        || machine::seconds(|| (0..looks).try_for_each(|_| bare_look(&bare))).map(each),
        || machine::time_future(waiting, look()).map(each),
    )?;
    let name = format!("{many} schedules: a tick when nothing is due");
    let note = "two statements over an index, in the same thread";
    Ok(BenchRow::time(name, pair, FigureTarget::Watched, note))
}

/// A table of as many due times, with an index.
fn bare_schedules(path: &Path, many: usize) -> Result<Connection> {
    let mut connection = Connection::open(path)?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.execute_batch(
        "CREATE TABLE plan (id INTEGER PRIMARY KEY, due INTEGER NOT NULL, data TEXT NOT NULL) STRICT;
         CREATE INDEX plan_due ON plan (due);",
    )?;
    let due = now()?.0 + 28 * 86_400_000;
    let filling = connection.transaction()?;
    for number in 0..i64::try_from(many)? {
        filling
            .prepare_cached("INSERT INTO plan (due, data) VALUES (?1, ?2)")?
            .execute((due + number, PLAN))?;
    }
    filling.commit()?;
    Ok(connection)
}

fn bare_look(connection: &Connection) -> Result<()> {
    let mut due = connection
        .prepare_cached("SELECT id, data FROM plan WHERE due <= ?1 ORDER BY due LIMIT 64")?;
    let mut rows = due.query([now()?.0])?;
    while rows.next()?.is_some() {}
    connection
        .prepare_cached("SELECT min(due) FROM plan")?
        .query_row([], |row| row.get::<_, Option<i64>>(0))?;
    Ok(())
}

/// From a due time to the first request of the run that it fires, beside a task that sleeps, keeps a durable row and
/// would ask then.
fn first_request(
    work: &Path,
    name: &str,
    (waiting, options): (&Runtime, &BenchOptions),
) -> Result<BenchRow> {
    let model = QuickModel::new(ModelBehavior::Read(0));
    let runtime = waiting.block_on(async { BenchRuntime::open_scheduling(work, model.clone()) })?;
    let ledger = DurableTable::open(&work.join("bare.db"))?;
    let bare = || waiting.block_on(bare_late(&ledger));
    let ours = || waiting.block_on(late(&runtime, &model));
    let pair = compare(options.rounds, bare, ours)?;
    waiting.block_on(runtime.close());
    let note = "a timer and one durable row";
    Ok(BenchRow::time(name, pair, FigureTarget::Watched, note))
}

/// Seconds between the due time of a schedule and the request.
async fn late(runtime: &BenchRuntime, model: &Arc<QuickModel>) -> Result<f64> {
    model.reset_first_request();
    let begun = model.finished_runs();
    let moment = (Instant::now(), since_1970()?);
    let added = runtime.add_schedule("1s").await?;
    let due = added.next_due.context("it has a due time")?;
    runtime.wait_for_runs(begun + 1).await?;
    let asked = model.first_request().context("a request came")?;
    let asked_at = moment.1 + asked.at.duration_since(moment.0).as_secs_f64();
    Ok(asked_at - due.0 as f64 / 1e3)
}

async fn bare_late(ledger: &DurableTable) -> Result<f64> {
    let due = Instant::now() + AHEAD;
    tokio::time::sleep_until(due.into()).await;
    ledger.commit([PLAN])?;
    Ok(due.elapsed().as_secs_f64())
}

fn now() -> Result<Timestamp> {
    Ok(Timestamp((since_1970()? * 1e3) as i64))
}

fn since_1970() -> Result<f64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64())
}
