//! What many idle sessions cost whoever opens the list of them.

use anyhow::Result;
use futures::future::try_join_all;
use rooftree_protocol::SessionId;
use rooftree_runtime::{Clock, SystemClock};
use rooftree_store::{NewSessionRow, SessionFilter, SqliteStore, Store};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::{
    contest::contest,
    machine,
    options::Options,
    place::Place,
    raw::ledger,
    roof::Roof,
    row::{Row, Target},
};

/// What a list shows at first.
const SHOWN: usize = 50;

pub(super) fn measure(_: &Place, options: &Options) -> Result<Vec<Row>> {
    let sessions = options.amount(10_000, 2_000);
    let work = TempDir::new()?;
    let waiting = machine::one_thread()?;
    let path = work.path().join(Roof::DATABASE);
    let store = SqliteStore::open(&path)?;
    waiting.block_on(try_join_all((0..sessions).map(|_| store.open(new_session(work.path())))))?;
    let raw = Connection::open(&path)?;
    let pair = contest(
        options.rounds,
        || machine::seconds(|| ledger::read_list(&raw, SHOWN).map(drop)),
        || {
            machine::until(&waiting, async {
                let filter =
                    SessionFilter { top_level: Some(true), limit: SHOWN, ..SessionFilter::default() };
                let listed = store.sessions(filter).await?;
                anyhow::ensure!(listed.len() == SHOWN, "the list is short");
                Ok(())
            })
        },
    )?;
    let name = format!("list of {SHOWN} among {sessions} idle sessions");
    Ok(vec![Row::time(name, pair, Target::Watched, "the same rows by plain SQL")])
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
        at: SystemClock.now(),
    }
}
