//! What a long journal costs: to take it up again, and to go on in it.

use std::{path::Path, time::Instant};

use anyhow::{Context, Result};
use rooftree_protocol::SessionId;
use tempfile::TempDir;

use crate::{
    contest::contest,
    machine,
    options::Options,
    place::Place,
    quick_model::{Habit, QuickModel},
    raw::{Files, ledger},
    roof::{Roof, ended},
    row::{Row, Target},
};

/// Turns per run while a journal is grown; a turn makes three events.
const STRIDE: usize = 100;
const TURNS: usize = 50;

pub(super) fn measure(_: &Place, options: &Options) -> Result<Vec<Row>> {
    let events = options.amount(10_000, 2_000);
    Ok(vec![resume(events as u64, options)?, flat(events as u64, options)?])
}

/// A session that has worked until its journal had so many events; says the last one's number.
pub(super) fn grown(directory: &Path, events: u64) -> Result<(SessionId, u64)> {
    Files::plant(directory)?;
    let waiting = machine::one_thread()?;
    waiting.block_on(async {
        let roof = Roof::raise(directory, QuickModel::new(Habit::Read(STRIDE)))?;
        let session = roof.begin().await?;
        let mut last = ended(&mut roof.watch(&session, 0)).await?;
        while last < events {
            last = roof.run_in(&session, last).await?;
        }
        roof.close().await;
        Ok((session, last))
    })
}

fn resume(events: u64, options: &Options) -> Result<Row> {
    let work = TempDir::new()?;
    let (session, mut last) = grown(work.path(), events)?;
    let database = work.path().join(Roof::DATABASE);
    let pair = contest(
        options.rounds,
        || machine::seconds(|| ledger::read_journal(&database).map(drop)),
        || resume_once(work.path(), &session, &mut last),
    )?;
    let name = format!("resume of {events} events, to the first request");
    Ok(Row::time(name, pair, Target::Watched, "open SQLite, read the rows"))
}

/// From opening the database, through a post, to the moment the model is asked.
fn resume_once(directory: &Path, session: &SessionId, last: &mut u64) -> Result<f64> {
    let waiting = machine::one_thread()?;
    let since = Instant::now();
    waiting.block_on(async {
        let roof = Roof::raise(directory, QuickModel::new(Habit::Read(0)))?;
        *last = roof.run_in(session, *last).await?;
        let asked = roof.model.first_asked().context("the model was never asked")?;
        roof.close().await;
        Ok(asked.at.duration_since(since).as_secs_f64())
    })
}

/// The same fifty turns in a long journal and in a short one.
fn flat(events: u64, options: &Options) -> Result<Row> {
    let (long, short) = (TempDir::new()?, TempDir::new()?);
    let (mut in_long, mut in_short) = (Going::on(long.path(), events)?, Going::on(short.path(), 100)?);
    let pair = contest(options.rounds, || in_short.turn(), || in_long.turn())?;
    let name = format!("one turn after {events} events");
    Ok(Row::time(name, pair, Target::Times(1.2), "one turn after 100 events"))
}

/// A session that goes on and on.
struct Going {
    waiting: tokio::runtime::Runtime,
    roof: Roof,
    session: SessionId,
    last: u64,
}

impl Going {
    fn on(directory: &Path, events: u64) -> Result<Self> {
        let (session, last) = grown(directory, events)?;
        let waiting = machine::one_thread()?;
        let roof = waiting.block_on(async { Roof::raise(directory, QuickModel::new(Habit::Read(TURNS))) })?;
        Ok(Self { waiting, roof, session, last })
    }

    /// Seconds between the first request and the end of the run, by turn: loading the journal,
    /// which the row above shows, is not in it.
    fn turn(&mut self) -> Result<f64> {
        self.roof.model.forget();
        self.last = self.waiting.block_on(self.roof.run_in(&self.session, self.last))?;
        let asked = self.roof.model.first_asked().context("the model was never asked")?;
        Ok(asked.at.elapsed().as_secs_f64() / TURNS as f64)
    }
}
