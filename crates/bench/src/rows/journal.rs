//! Cost of a long journal: to load it, and to continue in it.

use std::{path::Path, time::Instant};

use anyhow::{Context, Result};
use rooftree_protocol::SessionId;
use tempfile::TempDir;

use crate::{
    baseline::{SourceFiles, durable_table},
    bench_runtime::{BenchRuntime, wait_for_run_end},
    compare::compare,
    machine,
    options::BenchOptions,
    program_dir::ProgramDir,
    quick_model::{ModelBehavior, QuickModel},
    row::{BenchRow, FigureTarget},
};

/// Turns per run while a journal is grown; a turn makes three events.
const STRIDE: usize = 100;
const TURNS: usize = 50;

pub(super) fn measure(_: &ProgramDir, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let events = options.amount(10_000, 2_000);
    Ok(vec![
        resume(events as u64, options)?,
        turn_cost(events as u64, options)?,
        message_cost(options)?,
    ])
}

/// A session whose journal has so many events; also returns the number of the last one.
pub(super) fn build_long_session(directory: &Path, events: u64) -> Result<(SessionId, u64)> {
    SourceFiles::create(directory)?;
    let waiting = machine::single_thread_runtime()?;
    waiting.block_on(async {
        let runtime = BenchRuntime::open(directory, QuickModel::new(ModelBehavior::Read(STRIDE)))?;
        let session = runtime.post_new().await?;
        let mut last = wait_for_run_end(&mut runtime.watch(&session, 0)).await?;
        while last < events {
            last = runtime.run_in(&session, last).await?;
        }
        runtime.close().await;
        Ok((session, last))
    })
}

fn resume(events: u64, options: &BenchOptions) -> Result<BenchRow> {
    let work = TempDir::new()?;
    let (session, mut last) = build_long_session(work.path(), events)?;
    let database = work.path().join(BenchRuntime::DATABASE);
    let pair = compare(
        options.rounds,
        || machine::seconds(|| durable_table::read_journal(&database).map(drop)),
        || resume_once(work.path(), &session, &mut last),
    )?;
    let name = format!("resume of {events} events, to the first request");
    Ok(BenchRow::time(
        name,
        pair,
        FigureTarget::Watched,
        "open SQLite, read the rows",
    ))
}

/// Time from opening the database, through a post, to the request to the model.
fn resume_once(directory: &Path, session: &SessionId, last: &mut u64) -> Result<f64> {
    let waiting = machine::single_thread_runtime()?;
    let since = Instant::now();
    waiting.block_on(async {
        let runtime = BenchRuntime::open(directory, QuickModel::new(ModelBehavior::Read(0)))?;
        *last = runtime.run_in(session, *last).await?;
        let asked = runtime
            .model
            .first_request()
            .context("the model was never asked")?;
        runtime.close().await;
        Ok(asked.at.duration_since(since).as_secs_f64())
    })
}

/// The same fifty turns in a long journal and in a short one.
fn turn_cost(events: u64, options: &BenchOptions) -> Result<BenchRow> {
    let (long, short) = (TempDir::new()?, TempDir::new()?);
    let (mut in_long, mut in_short) = (
        LongSession::open(long.path(), events)?,
        LongSession::open(short.path(), 100)?,
    );
    let pair = compare(options.rounds, || in_short.turn(), || in_long.turn())?;
    let name = format!("one turn after {events} events");
    Ok(BenchRow::time(
        name,
        pair,
        FigureTarget::Times(1.2),
        "one turn after 100 events",
    ))
}

/// One message and its answer in a session with many exchanges before it, and in one with few. Both rest in between.
fn message_cost(options: &BenchOptions) -> Result<BenchRow> {
    let exchanges = options.amount(5_000, 500);
    let (long, short) = (TempDir::new()?, TempDir::new()?);
    let (mut in_long, mut in_short) = (
        Exchanges::open(long.path(), exchanges)?,
        Exchanges::open(short.path(), 1)?,
    );
    let pair = compare(options.rounds, || in_short.next(), || in_long.next())?;
    let name = format!("one message after {exchanges} exchanges");
    Ok(BenchRow::time(
        name,
        pair,
        FigureTarget::Times(1.2),
        "one message after one exchange",
    ))
}

/// A session of short exchanges.
struct Exchanges {
    waiting: tokio::runtime::Runtime,
    runtime: BenchRuntime,
    session: SessionId,
    last: u64,
}

impl Exchanges {
    fn open(directory: &Path, exchanges: usize) -> Result<Self> {
        let waiting = machine::single_thread_runtime()?;
        let (runtime, session, last) = waiting.block_on(async {
            let runtime = BenchRuntime::open(directory, QuickModel::new(ModelBehavior::Read(0)))?;
            let session = runtime.post_new().await?;
            let mut last = wait_for_run_end(&mut runtime.watch(&session, 0)).await?;
            for _ in 1..exchanges {
                last = runtime.run_in(&session, last).await?;
            }
            anyhow::Ok((runtime, session, last))
        })?;
        Ok(Self {
            waiting,
            runtime,
            session,
            last,
        })
    }

    fn next(&mut self) -> Result<f64> {
        let since = Instant::now();
        self.last = self
            .waiting
            .block_on(self.runtime.run_in(&self.session, self.last))?;
        Ok(since.elapsed().as_secs_f64())
    }
}

/// A session that is continued again and again.
struct LongSession {
    waiting: tokio::runtime::Runtime,
    runtime: BenchRuntime,
    session: SessionId,
    last: u64,
}

impl LongSession {
    fn open(directory: &Path, events: u64) -> Result<Self> {
        let (session, last) = build_long_session(directory, events)?;
        let waiting = machine::single_thread_runtime()?;
        let runtime = waiting.block_on(async {
            BenchRuntime::open(directory, QuickModel::new(ModelBehavior::Read(TURNS)))
        })?;
        Ok(Self {
            waiting,
            runtime,
            session,
            last,
        })
    }

    /// Seconds per turn between the first request and the end of the run: without loading the journal,
    /// which the row above shows.
    fn turn(&mut self) -> Result<f64> {
        self.runtime.model.reset_first_request();
        self.last = self
            .waiting
            .block_on(self.runtime.run_in(&self.session, self.last))?;
        let asked = self
            .runtime
            .model
            .first_request()
            .context("the model was never asked")?;
        Ok(asked.at.elapsed().as_secs_f64() / TURNS as f64)
    }
}
