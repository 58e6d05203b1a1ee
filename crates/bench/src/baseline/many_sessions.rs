//! Many concurrent baseline conversations, their rows committed in batches by one thread.

use std::{
    path::Path,
    sync::mpsc::{self, Receiver, Sender},
    thread,
};

use anyhow::{Result, anyhow};
use tokio::{sync::oneshot, task::JoinSet};

use super::{DurableTable, SourceFiles, source_files::BaselineConversation};
use crate::machine;

/// Maximum rows per commit, as in our own writer.
const TOGETHER: usize = 128;

struct QueuedRow {
    data: String,
    /// Notified when the row is on disk, if the sender waits for that.
    kept: Option<oneshot::Sender<()>>,
}

/// Figures of a load: seconds, and the peak growth of the process in bytes.
pub struct BaselineLoad {
    pub seconds: f64,
    pub growth: f64,
}

/// Runs so many conversations of so many turns, each of which ends when it is on disk.
pub fn run_sessions(directory: &Path, sessions: usize, turns: usize) -> Result<BaselineLoad> {
    let files = SourceFiles::in_directory(directory);
    let ledger = DurableTable::open(&directory.join("bare.db"))?;
    let runtime = machine::multi_thread_runtime()?;
    let before = machine::memory()?;
    let (lines, queued) = mpsc::channel();
    let writer = thread::spawn(move || write(&ledger, &queued));
    let seconds = machine::time_future(&runtime, async {
        let mut talking = JoinSet::new();
        for session in 0..sessions {
            talking.spawn(run_session(files.clone(), lines.clone(), session, turns));
        }
        // Kept until all are done, although our runtime frees an idle session: the upper bound.
        let kept: Result<Vec<BaselineConversation>> =
            talking.join_all().await.into_iter().collect();
        kept.map(drop)
    })?;
    let growth = machine::peak_memory()? - before;
    drop(lines);
    writer.join().map_err(|_| anyhow!("the writer broke"))??;
    Ok(BaselineLoad { seconds, growth })
}

async fn run_session(
    files: SourceFiles,
    lines: Sender<QueuedRow>,
    session: usize,
    turns: usize,
) -> Result<BaselineConversation> {
    write_durably(&lines, "{\"text\":\"Read some files.\"}").await?;
    let mut conversation = BaselineConversation::default();
    for turn in 0..turns {
        let files = files.clone();
        let (returned, data) = tokio::task::spawn_blocking(move || {
            let data = conversation.turn(&files, session + turn).map(str::to_owned);
            (conversation, data)
        })
        .await?;
        conversation = returned;
        lines.send(QueuedRow {
            data: data?,
            kept: None,
        })?;
    }
    write_durably(&lines, "{\"text\":\"Done.\"}").await?;
    Ok(conversation)
}

/// Waits until a row is on disk, as is done before a message is accepted and before an answer is sent.
async fn write_durably(lines: &Sender<QueuedRow>, data: &str) -> Result<()> {
    let (kept, wait) = oneshot::channel();
    lines.send(QueuedRow {
        data: data.to_owned(),
        kept: Some(kept),
    })?;
    Ok(wait.await?)
}

fn write(ledger: &DurableTable, queued: &Receiver<QueuedRow>) -> Result<()> {
    while let Ok(first) = queued.recv() {
        let mut group = vec![first];
        group.extend(queued.try_iter().take(TOGETHER - 1));
        ledger.commit(group.iter().map(|line| line.data.as_str()))?;
        for kept in group.into_iter().filter_map(|line| line.kept) {
            let _ = kept.send(());
        }
    }
    Ok(())
}
