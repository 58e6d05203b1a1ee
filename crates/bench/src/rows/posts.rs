//! How many messages a second are accepted, which is to say: are on disk.

use std::path::Path;

use anyhow::Result;
use futures::future::try_join_all;
use rooftree_protocol::SessionId;
use tempfile::TempDir;

use crate::{
    contest::contest,
    machine,
    options::Options,
    place::Place,
    quick_model::{Habit, QuickModel},
    raw::Ledger,
    roof::Roof,
    row::{Row, Target},
};

const MESSAGE: &str = r#"{"id":"msg_aaaaaaaaaaaaaaaaaaaaaaaa","parts":[{"type":"text","text":"Read some files."}],"origin":{"by":"user"},"at":1794700800000}"#;

pub(super) fn measure(_: &Place, options: &Options) -> Result<Vec<Row>> {
    let work = TempDir::new()?;
    [1, 10, 100].into_iter().map(|posters| row(work.path(), posters, options)).collect()
}

fn row(work: &Path, posters: usize, options: &Options) -> Result<Row> {
    let each = options.amount(2_000, 400) / posters.max(5);
    let ledger = Ledger::open(&work.join("bare.db"))?;
    let waiting = machine::all_threads()?;
    let roof = waiting.block_on(async { Roof::raise(work, QuickModel::new(Habit::Read(0))) })?;
    let sessions = waiting.block_on(try_join_all((0..posters).map(|_| roof.begin())))?;
    waiting.block_on(roof.quiet(posters))?;
    let per_second = |seconds: f64| (posters * each) as f64 / seconds;
    let batch = vec![MESSAGE; posters];
    let bare = || {
        machine::seconds(|| (0..each).try_for_each(|_| ledger.commit(batch.iter().copied()))).map(per_second)
    };
    let ours = || machine::until(&waiting, post_all(&roof, &sessions, each)).map(per_second);
    let pair = contest(options.rounds, bare, ours)?;
    waiting.block_on(roof.close());
    let name = format!("messages accepted, {posters} at once");
    Ok(Row::rate(name, pair, Target::Share(0.5), format!("durable commits of {posters} rows")))
}

/// Every poster posts one after the other, into a session of its own.
async fn post_all(roof: &Roof, sessions: &[SessionId], each: usize) -> Result<()> {
    let poster = |session| async move {
        for _ in 0..each {
            roof.leave(session).await?;
        }
        anyhow::Ok(())
    };
    try_join_all(sessions.iter().map(poster)).await.map(drop)
}
