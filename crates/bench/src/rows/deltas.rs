//! Cost of one streamed delta on its way from the model to a subscriber.

use std::{sync::Arc, time::Instant};

use anyhow::{Context, Result};
use rooftree_protocol::EventBody;
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::{
    bench_runtime::BenchRuntime,
    compare::{MedianPair, compare},
    machine,
    options::BenchOptions,
    program_dir::ProgramDir,
    quick_model::{ModelBehavior, QuickModel},
    row::{BenchRow, FigureTarget},
};

pub(super) fn measure(_: &ProgramDir, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let pieces = options.amount(20_000, 5_000);
    let work = TempDir::new()?;
    let waiting = machine::single_thread_runtime()?;
    let runtime = waiting.block_on(async {
        BenchRuntime::open(work.path(), QuickModel::new(ModelBehavior::Talk(pieces)))
    })?;
    let mut heard = 0;
    let pair = compare(
        options.rounds,
        || machine::time_future(&waiting, channel(pieces)),
        || {
            let (seconds, count) = waiting.block_on(listen(&runtime))?;
            heard = count;
            Ok(seconds)
        },
    )?;
    waiting.block_on(runtime.close());
    let each = |value: f64| value / pieces as f64;
    let pair = MedianPair {
        ours: each(pair.ours),
        bare: pair.bare.map(each),
    };
    let note = format!("a channel between two tasks; {heard} of {pieces} heard");
    Ok(vec![BenchRow::time(
        "one streamed delta to a watcher",
        pair,
        FigureTarget::Watched,
        note,
    )])
}

/// Subscribes to one run; returns the time between the first delta and the last, and how many
/// were received. The cost before and after them is in other rows.
async fn listen(runtime: &BenchRuntime) -> Result<(f64, usize)> {
    let session = runtime.post_new().await?;
    let mut events = runtime.watch(&session, 0);
    let (mut first, mut last, mut heard) = (None, Instant::now(), 0);
    loop {
        match &events.next().await?.body {
            EventBody::MessageDelta { .. } => {
                last = Instant::now();
                first.get_or_insert(last);
                heard += 1;
            }
            EventBody::RunCompleted(_) => {
                let first = first.context("no delta was heard")?;
                return Ok((last.duration_since(first).as_secs_f64(), heard));
            }
            _ => {}
        }
    }
}

async fn channel(pieces: usize) -> Result<()> {
    let (tx, mut rx) = mpsc::unbounded_channel();
    let speaking = tokio::spawn(async move {
        for _ in 0..pieces {
            tokio::task::yield_now().await;
            let _ = tx.send(Arc::new("word ".to_owned()));
        }
    });
    let mut bytes = 0;
    while let Some(piece) = rx.recv().await {
        bytes += piece.len();
    }
    speaking.await?;
    anyhow::ensure!(bytes == pieces * 5, "the channel lost something");
    Ok(())
}
