//! Cost of listing sessions when there are many idle ones.

use anyhow::Result;
use futures::future::try_join_all;
use rooftree_protocol::SessionId;
use rooftree_runtime::{Clock, SystemClock};
use rooftree_store::{NewSessionRow, SessionFilter, SqliteStore, prelude::*};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::{
    baseline::durable_table,
    bench_runtime::BenchRuntime,
    compare::compare,
    machine,
    options::BenchOptions,
    program_dir::ProgramDir,
    row::{BenchRow, FigureTarget},
};

/// Number of sessions on the first page of a list.
const SHOWN: usize = 50;

pub(super) fn measure(_: &ProgramDir, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let sessions = options.amount(10_000, 2_000);
    let work = TempDir::new()?;
    let waiting = machine::single_thread_runtime()?;
    let path = work.path().join(BenchRuntime::DATABASE);
    let store = SqliteStore::open(&path)?;
    waiting.block_on(try_join_all(
        (0..sessions).map(|_| store.open(new_session(work.path()))),
    ))?;
    let raw = Connection::open(&path)?;
    let pair = compare(
        options.rounds,
        || machine::seconds(|| durable_table::read_list(&raw, SHOWN).map(drop)),
        || {
            machine::time_future(&waiting, async {
                let filter = SessionFilter {
                    top_level: Some(true),
                    limit: SHOWN,
                    ..SessionFilter::default()
                };
                let listed = store.sessions(filter).await?;
                anyhow::ensure!(listed.len() == SHOWN, "the list is short");
                Ok(())
            })
        },
    )?;
    let name = format!("list of {SHOWN} among {sessions} idle sessions");
    Ok(vec![BenchRow::time(
        name,
        pair,
        FigureTarget::Watched,
        "the same rows by plain SQL",
    )])
}

fn new_session(cwd: &std::path::Path) -> NewSessionRow {
    NewSessionRow {
        id: SessionId::from_entropy(SystemClock.entropy()),
        agent: "lead".into(),
        name: None,
        model: None,
        cwd: cwd.to_owned(),
        parent: None,
        connector_key: None,
        chat: None,
        account: Default::default(),
        audit: None,
        at: SystemClock.now(),
    }
}
