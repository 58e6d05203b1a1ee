//! Throughput of posts: messages per second that are accepted, which means fsynced.

use std::path::Path;

use anyhow::Result;
use futures::future::try_join_all;
use rooftree_protocol::SessionId;
use tempfile::TempDir;

use crate::{
    baseline::DurableTable,
    bench_runtime::BenchRuntime,
    compare::compare,
    machine,
    options::BenchOptions,
    program_dir::ProgramDir,
    quick_model::{ModelBehavior, QuickModel},
    row::{BenchRow, FigureTarget},
};

const MESSAGE: &str = r#"{"id":"msg_aaaaaaaaaaaaaaaaaaaaaaaa","parts":[{"type":"text","text":"Read some files."}],"origin":{"by":"user"},"at":1794700800000}"#;

pub(super) fn measure(_: &ProgramDir, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let work = TempDir::new()?;
    [1, 10, 100]
        .into_iter()
        .map(|posters| row(work.path(), posters, options))
        .collect()
}

fn row(work: &Path, posters: usize, options: &BenchOptions) -> Result<BenchRow> {
    let each = options.amount(2_000, 400) / posters.max(5);
    let ledger = DurableTable::open(&work.join("bare.db"))?;
    let waiting = machine::multi_thread_runtime()?;
    let runtime = waiting
        .block_on(async { BenchRuntime::open(work, QuickModel::new(ModelBehavior::Read(0))) })?;
    let sessions = waiting.block_on(try_join_all((0..posters).map(|_| runtime.post_new())))?;
    waiting.block_on(runtime.wait_for_runs(posters))?;
    let per_second = |seconds: f64| (posters * each) as f64 / seconds;
    let batch = vec![MESSAGE; posters];
    let bare = || {
        machine::seconds(|| (0..each).try_for_each(|_| ledger.commit(batch.iter().copied())))
            .map(per_second)
    };
    let ours =
        || machine::time_future(&waiting, post_all(&runtime, &sessions, each)).map(per_second);
    let pair = compare(options.rounds, bare, ours)?;
    waiting.block_on(runtime.close());
    let name = format!("messages accepted, {posters} at once");
    Ok(BenchRow::rate(
        name,
        pair,
        FigureTarget::Share(0.5),
        format!("durable commits of {posters} rows"),
    ))
}

/// Every poster posts sequentially, into a session of its own.
async fn post_all(runtime: &BenchRuntime, sessions: &[SessionId], each: usize) -> Result<()> {
    let poster = |session| async move {
        for _ in 0..each {
            runtime.post_silent(session).await?;
        }
        anyhow::Ok(())
    };
    try_join_all(sessions.iter().map(poster)).await.map(drop)
}
