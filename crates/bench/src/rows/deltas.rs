//! What one piece of streamed text costs on its way from the model to a watcher.

use std::{sync::Arc, time::Instant};

use anyhow::{Context, Result};
use rooftree_protocol::EventBody;
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::{
    contest::{Pair, contest},
    machine,
    options::Options,
    place::Place,
    quick_model::{Habit, QuickModel},
    roof::Roof,
    row::{Row, Target},
};

pub(super) fn measure(_: &Place, options: &Options) -> Result<Vec<Row>> {
    let pieces = options.amount(20_000, 5_000);
    let work = TempDir::new()?;
    let waiting = machine::one_thread()?;
    let roof = waiting.block_on(async { Roof::raise(work.path(), QuickModel::new(Habit::Talk(pieces))) })?;
    let mut heard = 0;
    let pair = contest(
        options.rounds,
        || machine::until(&waiting, channel(pieces)),
        || {
            let (seconds, count) = waiting.block_on(listen(&roof))?;
            heard = count;
            Ok(seconds)
        },
    )?;
    waiting.block_on(roof.close());
    let each = |value: f64| value / pieces as f64;
    let pair = Pair { ours: each(pair.ours), bare: pair.bare.map(each) };
    let note = format!("a channel between two tasks; {heard} of {pieces} heard");
    Ok(vec![Row::time("one streamed delta to a watcher", pair, Target::Watched, note)])
}

/// Listens to one run; says how long it was between the first delta and the last, and how many
/// were heard. What the run costs before and after them is in other rows.
async fn listen(roof: &Roof) -> Result<(f64, usize)> {
    let session = roof.begin().await?;
    let mut events = roof.watch(&session, 0);
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
