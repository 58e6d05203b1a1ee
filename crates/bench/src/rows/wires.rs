//! Cost of a turn and of a streamed delta with each provider API, from a server on loopback to a subscriber.

pub(super) mod model_server;

use std::{path::Path, sync::Arc, time::Instant};

use anyhow::{Context, Result};
use futures::future::try_join_all;
use rooftree_protocol::EventBody;
use rooftree_providers::{
    anthropic,
    catalog::ModelOpener,
    gemini,
    http::{HttpClient, HttpTimeouts, Secret},
    openai,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use self::model_server::ModelServerProcess;
use crate::{
    baseline::{DurableTable, SourceFiles, baseline_client::BaselineClient},
    bench_runtime::BenchRuntime,
    compare::{MedianPair, compare, median},
    machine,
    options::BenchOptions,
    program_dir::ProgramDir,
    quick_model::{ModelBehavior, QuickModel},
    row::{BenchRow, FigureTarget},
};

/// Few, because the server records its requests.
const TURNS: usize = 20;

/// As many as the sessions of a load have elsewhere.
const CROWD_TURNS: usize = 5;

/// A provider API: its name, its server, and how to connect to it.
pub(super) struct BenchWire {
    name: &'static str,
    server: &'static str,
    opener: fn(String, HttpClient) -> ModelOpener,
}

pub(super) const MESSAGES: BenchWire = BenchWire {
    name: "Messages",
    server: "anthropic",
    opener: |base_url, client| {
        let options = anthropic::AnthropicOptions::new(client, Secret::fixed("key"));
        anthropic::opener(anthropic::AnthropicOptions {
            base_url,
            ..options
        })
    },
};

const WIRES: [BenchWire; 4] = [
    MESSAGES,
    BenchWire {
        name: "Responses",
        server: "openai-responses",
        opener: |url, client| {
            openai::responses::opener(
                client,
                openai::OpenAiEndpoint::new("quick", url),
                Arc::default(),
            )
        },
    },
    BenchWire {
        name: "Chat",
        server: "openai-chat",
        opener: |url, client| {
            openai::chat::opener(
                client,
                openai::OpenAiEndpoint::new("quick", url),
                openai::ChatDialect::PLAIN,
            )
        },
    },
    BenchWire {
        name: "Gemini",
        server: "gemini",
        opener: |base_url, client| {
            let options = gemini::GeminiOptions::new(client, Secret::fixed("key"));
            gemini::opener(gemini::GeminiOptions {
                base_url,
                ..options
            })
        },
    },
];

pub(super) fn measure(place: &ProgramDir, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let mut rows = Vec::new();
    for wire in &WIRES {
        rows.extend(turns(wire, place, options)?);
    }
    for wire in &WIRES {
        rows.push(deltas(wire, place, options)?);
    }
    rows.push(crowd(&MESSAGES, place, options)?);
    rows.push(helper(&MESSAGES, place, options)?);
    Ok(rows)
}

/// How often the server gets the same request: from both sides, in every round and the warm-up.
fn times(options: &BenchOptions) -> usize {
    2 * (options.rounds + 1)
}

fn turns(wire: &BenchWire, place: &ProgramDir, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let work = TempDir::new()?;
    let files = SourceFiles::create(work.path())?;
    let ledger = DurableTable::open(&work.path().join("bare.db"))?;
    let answers: Vec<Value> = (0..2 * times(options))
        .flat_map(|_| reading(TURNS))
        .collect();
    let server = ModelServerProcess::start(place, wire, work.path(), &answers)?;
    let waiting = machine::single_thread_runtime()?;
    let runtime = raise(&waiting, wire, &server, work.path())?;
    let bare = BaselineClient::new(server.url.clone())?;
    let ours = || machine::time_future(&waiting, runtime.run());
    let bare = |kept| {
        let (bare, files, waiting) = (&bare, &files, &waiting);
        move || machine::time_future(waiting, bare.turns(files, TURNS, kept))
    };
    let durable = compare(options.rounds, bare(Some(&ledger)), ours)?;
    let loose = compare(options.rounds, bare(None), ours)?;
    waiting.block_on(runtime.close());
    let each = |value: f64| value / (TURNS + 1) as f64;
    let each = |pair: MedianPair| MedianPair {
        ours: each(pair.ours),
        bare: pair.bare.map(each),
    };
    let name = format!("one turn over {}, Read", wire.name);
    Ok(vec![
        BenchRow::time(
            name.clone(),
            each(durable),
            FigureTarget::Times(1.5),
            "read the file, ask over HTTP, one durable commit",
        ),
        BenchRow::time(
            format!("{name}, beside no store"),
            each(loose),
            FigureTarget::Watched,
            "read the file, ask over HTTP, keep nothing",
        ),
    ])
}

/// The answers of the model in one run.
fn reading(turns: usize) -> impl Iterator<Item = Value> {
    let call = |turn| {
        let input = json!({"file_path": SourceFiles::name(turn)}).to_string();
        json!({"say": [{"call": "Read", "id": format!("call_{turn}"), "json": [input]}]})
    };
    (0..turns)
        .map(call)
        .chain([json!({"say": [{"text": ["Done."]}]})])
}

fn deltas(wire: &BenchWire, place: &ProgramDir, options: &BenchOptions) -> Result<BenchRow> {
    let pieces = options.amount(20_000, 5_000);
    let work = TempDir::new()?;
    let talking = json!({"say": [{"text": vec!["word "; pieces]}]});
    let server =
        ModelServerProcess::start(place, wire, work.path(), &vec![talking; times(options)])?;
    let waiting = machine::single_thread_runtime()?;
    let runtime = raise(&waiting, wire, &server, work.path())?;
    let bare = BaselineClient::new(server.url.clone())?;
    let mut heard = 0;
    let pair = compare(
        options.rounds,
        || machine::time_future(&waiting, async { bare.ask(&[]).await.map(drop) }),
        || {
            let (seconds, count) = waiting.block_on(listen(&runtime))?;
            heard = count;
            Ok(seconds)
        },
    )?;
    waiting.block_on(runtime.close());
    let rate = |seconds: f64| pieces as f64 / seconds;
    let pair = MedianPair {
        ours: rate(pair.ours),
        bare: pair.bare.map(rate),
    };
    let note = format!("the same stream read as JSON over HTTP; {heard} of {pieces} heard");
    Ok(BenchRow::rate(
        format!("deltas over {}", wire.name),
        pair,
        FigureTarget::Share(0.5),
        note,
    ))
}

/// Many concurrent sessions. Each round has a server of its own, which records its requests.
fn crowd(wire: &BenchWire, place: &ProgramDir, options: &BenchOptions) -> Result<BenchRow> {
    let sessions = options.amount(1_000, 200);
    let round = |is_ours: bool| {
        let work = TempDir::new()?;
        let files = SourceFiles::create(work.path())?;
        let answers: Vec<Value> = reading(CROWD_TURNS).collect();
        let server =
            ModelServerProcess::start_in(place, wire, work.path(), &answers, &["by-turn"])?;
        let waiting = machine::multi_thread_runtime()?;
        if is_ours {
            let runtime = raise(&waiting, wire, &server, work.path())?;
            let took = machine::time_future(&waiting, async {
                runtime.post_to_many_new(sessions).await?;
                runtime.wait_until_idle().await
            })?;
            waiting.block_on(runtime.close());
            return Ok(took);
        }
        let bare = BaselineClient::new(server.url.clone())?;
        let all = (0..sessions).map(|_| bare.turns(&files, CROWD_TURNS, None));
        machine::time_future(&waiting, async { try_join_all(all).await.map(drop) })
    };
    let pair = compare(options.rounds, || round(false), || round(true))?;
    let name = format!(
        "{sessions} sessions × {CROWD_TURNS} turns over {}",
        wire.name
    );
    Ok(BenchRow::time(
        name,
        pair,
        FigureTarget::Times(1.5),
        "the same reads, asked over HTTP, nothing kept",
    ))
}

/// Time from the end of the reply that asks for a sub-agent to the request to the sub-agent's own model, as the
/// server sees it.
fn helper(wire: &BenchWire, place: &ProgramDir, options: &BenchOptions) -> Result<BenchRow> {
    let (before, rounds) = (3, options.amount(21, 7));
    let work = TempDir::new()?;
    let asking = |round: usize| {
        let input = json!({"subagent_type": "helper", "isolation": "none", "prompt": format!("Part {round}.")});
        let ask =
            json!({"call": "Task", "id": format!("call_{round}"), "json": [input.to_string()]});
        let done = json!({"say": [{"text": ["Done."]}]});
        [json!({"say": [ask]}), done.clone(), done]
    };
    let answers: Vec<Value> = (0..before + rounds).flat_map(asking).collect();
    let server = ModelServerProcess::start(place, wire, work.path(), &answers)?;
    let waiting = machine::single_thread_runtime()?;
    let opener = opener(wire, &server)?;
    let runtime = waiting.block_on(async { BenchRuntime::open_delegating(work.path(), opener) })?;
    for _ in 0..before + rounds {
        waiting.block_on(runtime.run())?;
    }
    waiting.block_on(runtime.close());
    let times = server.stop()?;
    let started = times.chunks(3).skip(before).map(|asked| match asked {
        [lead, helper, _] => Ok(helper.at - lead.answered.context("a reply that was not sent")?),
        _ => anyhow::bail!("a run of a lead and a helper has three questions"),
    });
    let pair = MedianPair {
        ours: median(started.collect::<Result<_>>()?),
        bare: None,
    };
    let name = format!("sub-agent start over {}", wire.name);
    Ok(BenchRow::time(
        name,
        pair,
        FigureTarget::AtMost(1e-3),
        "from the end of one reply to the next question",
    ))
}

fn opener(wire: &BenchWire, server: &ModelServerProcess) -> Result<ModelOpener> {
    let client = HttpClient::new(HttpTimeouts::default())
        .map_err(|problem| anyhow::anyhow!("{problem:?}"))?;
    Ok((wire.opener)(server.url.clone(), client))
}

fn raise(
    waiting: &Runtime,
    wire: &BenchWire,
    server: &ModelServerProcess,
    work: &Path,
) -> Result<BenchRuntime> {
    let opener = opener(wire, server)?;
    let unasked = QuickModel::new(ModelBehavior::Talk(0));
    waiting.block_on(async { BenchRuntime::open_with(work, unasked, opener) })
}

/// Subscribes to one whole run; returns its duration, post included as on the baseline side, and how many deltas came.
async fn listen(runtime: &BenchRuntime) -> Result<(f64, usize)> {
    let since = Instant::now();
    let session = runtime.post_new().await?;
    let mut events = runtime.watch(&session, 0);
    let mut heard = 0;
    loop {
        match &events.next().await.context("watch a run")?.body {
            EventBody::MessageDelta { .. } => heard += 1,
            EventBody::RunCompleted(_) => return Ok((since.elapsed().as_secs_f64(), heard)),
            _ => {}
        }
    }
}
