//! Size of the database on disk for what was said, and the cost of summing usage up.

use std::fs;

use anyhow::{Result, bail};
use rooftree_protocol::{
    Event, EventBody, RunId, RunStatus, SessionId, Timestamp, Usage,
    event::{ReplyPart, ReplyRecord, RunEnd, StopReason, VERSION},
};
use rooftree_runtime::{Clock, SystemClock};
use rooftree_store::{
    AppendBatch, Claim, ClaimOutcome, NewSessionRow, Owner, SqliteStore, UsageFilter, prelude::*,
};
use tempfile::TempDir;

use crate::{
    bench_runtime::BenchRuntime,
    compare::{MedianPair, measure_ours},
    machine,
    options::BenchOptions,
    program_dir::ProgramDir,
    row::{BenchRow, FigureTarget},
};

/// Characters of an answer.
const ANSWER: usize = 10_000;

pub(super) fn measure(_: &ProgramDir, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    Ok(vec![disk(options)?, usage(options)?])
}

/// Bytes of the database for answers of ten thousand characters each.
fn disk(options: &BenchOptions) -> Result<BenchRow> {
    let answers = options.amount(400, 200);
    let work = TempDir::new()?;
    let path = work.path().join(BenchRuntime::DATABASE);
    let store = SqliteStore::open(&path)?;
    let waiting = machine::single_thread_runtime()?;
    waiting.block_on(async {
        let claim = claimed(&store).await?;
        for number in 0..answers {
            let text = format!("Sentence {number} of an answer. ").repeat(ANSWER / 24);
            let text: String = text.chars().take(ANSWER).collect();
            append(&store, &claim, number as u64 * 2, &text).await?;
        }
        store.release(claim).await?;
        anyhow::Ok(())
    })?;
    drop(store);
    let pair = MedianPair {
        ours: fs::metadata(&path)?.len() as f64,
        bare: Some((answers * ANSWER) as f64),
    };
    Ok(BenchRow::size(
        format!("{answers} answers of {ANSWER} characters on disk"),
        pair,
        FigureTarget::Times(1.5),
        "the characters themselves",
    ))
}

/// Sums of all usage by model, among many sessions.
fn usage(options: &BenchOptions) -> Result<BenchRow> {
    let sessions = options.amount(10_000, 1_000);
    let work = TempDir::new()?;
    let store = SqliteStore::open(work.path().join(BenchRuntime::DATABASE))?;
    let waiting = machine::single_thread_runtime()?;
    waiting.block_on(async {
        for _ in 0..sessions {
            let claim = claimed(&store).await?;
            append(&store, &claim, 0, "Yes.").await?;
            store.release(claim).detach();
        }
        anyhow::Ok(())
    })?;
    let ask = || {
        machine::time_future(&waiting, async {
            let rows = store.usage(UsageFilter::default()).await?;
            anyhow::ensure!(rows.len() == 1, "there is one model");
            Ok(())
        })
    };
    Ok(BenchRow::time(
        format!("usage of {sessions} sessions, summed up"),
        measure_ours(options.rounds, ask)?,
        FigureTarget::AtMost(20e-3),
        "",
    ))
}

/// A new session and the right to append to it.
async fn claimed(store: &SqliteStore) -> Result<Claim> {
    let now = SystemClock.now();
    let new = NewSessionRow {
        id: SessionId::from_entropy(SystemClock.entropy()),
        agent: "lead".into(),
        name: None,
        model: None,
        cwd: "/".into(),
        parent: None,
        connector_key: None,
        chat: None,
        account: Default::default(),
        audit: None,
        at: now,
    };
    let id = SessionStore::open(store, new).await?.id;
    let until = Timestamp(now.0 + 600_000);
    match store.claim(&id, &Owner::this_process(), now, until).await? {
        ClaimOutcome::Granted(claimed) => Ok(claimed.claim),
        ClaimOutcome::Held(_) => bail!("a new session is claimed already"),
    }
}

/// A reply and the end of its run, after `head`.
async fn append(store: &SqliteStore, claim: &Claim, head: u64, text: &str) -> Result<()> {
    let reply = ReplyRecord {
        message: None,
        text: text.into(),
        parts: vec![ReplyPart::Text { text: text.into() }],
        model: "quick".into(),
        stop: StopReason::End,
        usage: Usage::none(),
        request: None,
    };
    let end = RunEnd {
        text: text.into(),
        ..RunEnd::new(RunStatus::Completed)
    };
    let bodies = [
        EventBody::MessageCompleted(reply),
        EventBody::RunCompleted(end),
    ];
    let (now, run) = (
        SystemClock.now(),
        RunId::from_entropy(SystemClock.entropy()),
    );
    let event = |(body, id)| Event {
        v: VERSION,
        id: Some(id),
        ts: now,
        session: claim.session.clone(),
        run: Some(run.clone()),
        parent_run: None,
        agent: "lead".into(),
        who: None,
        body,
    };
    let batch = AppendBatch {
        events: bodies.into_iter().zip(head + 1..).map(event).collect(),
        lease: Timestamp(now.0 + 600_000),
        ..AppendBatch::default()
    };
    store.append(claim, batch).await?;
    Ok(())
}
