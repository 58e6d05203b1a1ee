//! What a turn and a streamed delta cost over each wire, from a server on loopback to a watcher.

mod server;

use std::{path::Path, sync::Arc, time::Instant};

use anyhow::{Context, Result};
use futures::future::try_join_all;
use rooftree_protocol::EventBody;
use rooftree_providers::{
    anthropic,
    catalog::Opener,
    gemini,
    http::{Client, Secret, Timeouts},
    openai,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use self::server::Server;
use crate::{
    contest::{Pair, contest, median},
    machine,
    options::Options,
    place::Place,
    quick_model::{Habit, QuickModel},
    raw::{Files, Ledger, loopback::Loopback},
    roof::Roof,
    row::{Row, Target},
};

/// Few, because the server remembers what it is asked.
const TURNS: usize = 20;

/// As many as the sessions of a crowd have elsewhere.
const CROWD_TURNS: usize = 5;

/// A wire: its name, its server, and the way to it.
struct Wire {
    name: &'static str,
    server: &'static str,
    opener: fn(String, Client) -> Opener,
}

const MESSAGES: Wire = Wire {
    name: "Messages",
    server: "anthropic",
    opener: |base_url, client| {
        let options = anthropic::Options::new(client, Secret::fixed("key"));
        anthropic::opener(anthropic::Options { base_url, ..options })
    },
};

const WIRES: [Wire; 4] = [
    MESSAGES,
    Wire {
        name: "Responses",
        server: "openai-responses",
        opener: |url, client| {
            openai::responses::opener(client, openai::Endpoint::new("quick", url), Arc::default())
        },
    },
    Wire {
        name: "Chat",
        server: "openai-chat",
        opener: |url, client| {
            openai::chat::opener(client, openai::Endpoint::new("quick", url), openai::Dialect::PLAIN)
        },
    },
    Wire {
        name: "Gemini",
        server: "gemini",
        opener: |base_url, client| {
            let options = gemini::Options::new(client, Secret::fixed("key"));
            gemini::opener(gemini::Options { base_url, ..options })
        },
    },
];

pub(super) fn measure(place: &Place, options: &Options) -> Result<Vec<Row>> {
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

/// How often the server is asked for the same thing: by both sides, in every round and before the first.
fn times(options: &Options) -> usize {
    2 * (options.rounds + 1)
}

fn turns(wire: &Wire, place: &Place, options: &Options) -> Result<Vec<Row>> {
    let work = TempDir::new()?;
    let files = Files::plant(work.path())?;
    let ledger = Ledger::open(&work.path().join("bare.db"))?;
    let answers: Vec<Value> = (0..2 * times(options)).flat_map(|_| reading(TURNS)).collect();
    let server = Server::start(place, wire, work.path(), &answers)?;
    let waiting = machine::one_thread()?;
    let roof = raise(&waiting, wire, &server, work.path())?;
    let bare = Loopback::new(server.url.clone())?;
    let ours = || machine::until(&waiting, roof.run());
    let bare = |kept| {
        let (bare, files, waiting) = (&bare, &files, &waiting);
        move || machine::until(waiting, bare.turns(files, TURNS, kept))
    };
    let durable = contest(options.rounds, bare(Some(&ledger)), ours)?;
    let loose = contest(options.rounds, bare(None), ours)?;
    waiting.block_on(roof.close());
    let each = |value: f64| value / (TURNS + 1) as f64;
    let each = |pair: Pair| Pair { ours: each(pair.ours), bare: pair.bare.map(each) };
    let name = format!("one turn over {}, Read", wire.name);
    Ok(vec![
        Row::time(
            name.clone(),
            each(durable),
            Target::Times(1.5),
            "read the file, ask over HTTP, one durable commit",
        ),
        Row::time(
            format!("{name}, beside no store"),
            each(loose),
            Target::Watched,
            "read the file, ask over HTTP, keep nothing",
        ),
    ])
}

/// What the model says in one run.
fn reading(turns: usize) -> impl Iterator<Item = Value> {
    let call = |turn| {
        let input = json!({"file_path": Files::name(turn)}).to_string();
        json!({"say": [{"call": "Read", "id": format!("call_{turn}"), "json": [input]}]})
    };
    (0..turns).map(call).chain([json!({"say": [{"text": ["Done."]}]})])
}

fn deltas(wire: &Wire, place: &Place, options: &Options) -> Result<Row> {
    let pieces = options.amount(20_000, 5_000);
    let work = TempDir::new()?;
    let talking = json!({"say": [{"text": vec!["word "; pieces]}]});
    let server = Server::start(place, wire, work.path(), &vec![talking; times(options)])?;
    let waiting = machine::one_thread()?;
    let roof = raise(&waiting, wire, &server, work.path())?;
    let bare = Loopback::new(server.url.clone())?;
    let mut heard = 0;
    let pair = contest(
        options.rounds,
        || machine::until(&waiting, async { bare.ask(&[]).await.map(drop) }),
        || {
            let (seconds, count) = waiting.block_on(listen(&roof))?;
            heard = count;
            Ok(seconds)
        },
    )?;
    waiting.block_on(roof.close());
    let rate = |seconds: f64| pieces as f64 / seconds;
    let pair = Pair { ours: rate(pair.ours), bare: pair.bare.map(rate) };
    let note = format!("the same stream read as JSON over HTTP; {heard} of {pieces} heard");
    Ok(Row::rate(format!("deltas over {}", wire.name), pair, Target::Share(0.5), note))
}

/// Many sessions at once. Each round has a server of its own, which remembers what it is asked.
fn crowd(wire: &Wire, place: &Place, options: &Options) -> Result<Row> {
    let sessions = options.amount(1_000, 200);
    let round = |is_ours: bool| {
        let work = TempDir::new()?;
        let files = Files::plant(work.path())?;
        let answers: Vec<Value> = reading(CROWD_TURNS).collect();
        let server = Server::start_in(place, wire, work.path(), &answers, &["by-turn"])?;
        let waiting = machine::all_threads()?;
        if is_ours {
            let roof = raise(&waiting, wire, &server, work.path())?;
            let took = machine::until(&waiting, async {
                roof.many(sessions).await?;
                roof.rested().await
            })?;
            waiting.block_on(roof.close());
            return Ok(took);
        }
        let bare = Loopback::new(server.url.clone())?;
        let all = (0..sessions).map(|_| bare.turns(&files, CROWD_TURNS, None));
        machine::until(&waiting, async { try_join_all(all).await.map(drop) })
    };
    let pair = contest(options.rounds, || round(false), || round(true))?;
    let name = format!("{sessions} sessions × {CROWD_TURNS} turns over {}", wire.name);
    Ok(Row::time(name, pair, Target::Times(1.5), "the same reads, asked over HTTP, nothing kept"))
}

/// From the end of the reply that asks for a sub-agent to the question of the sub-agent's own model, as the
/// server sees it.
fn helper(wire: &Wire, place: &Place, options: &Options) -> Result<Row> {
    let (before, rounds) = (3, options.amount(21, 7));
    let work = TempDir::new()?;
    let asking = |round: usize| {
        let input =
            json!({"subagent_type": "helper", "isolation": "none", "prompt": format!("Part {round}.")});
        let ask = json!({"call": "Task", "id": format!("call_{round}"), "json": [input.to_string()]});
        let done = json!({"say": [{"text": ["Done."]}]});
        [json!({"say": [ask]}), done.clone(), done]
    };
    let answers: Vec<Value> = (0..before + rounds).flat_map(asking).collect();
    let server = Server::start(place, wire, work.path(), &answers)?;
    let waiting = machine::one_thread()?;
    let opener = opener(wire, &server)?;
    let roof = waiting.block_on(async { Roof::raise_family(work.path(), opener) })?;
    for _ in 0..before + rounds {
        waiting.block_on(roof.run())?;
    }
    waiting.block_on(roof.close());
    let times = server.end()?;
    let started = times.chunks(3).skip(before).map(|asked| match asked {
        [lead, helper, _] => Ok(helper.at - lead.answered.context("a reply that was not sent")?),
        _ => anyhow::bail!("a run of a lead and a helper has three questions"),
    });
    let pair = Pair { ours: median(started.collect::<Result<_>>()?), bare: None };
    let name = format!("sub-agent start over {}", wire.name);
    Ok(Row::time(name, pair, Target::AtMost(1e-3), "from the end of one reply to the next question"))
}

fn opener(wire: &Wire, server: &Server) -> Result<Opener> {
    let client = Client::new(Timeouts::default()).map_err(|problem| anyhow::anyhow!("{problem:?}"))?;
    Ok((wire.opener)(server.url.clone(), client))
}

fn raise(waiting: &Runtime, wire: &Wire, server: &Server, work: &Path) -> Result<Roof> {
    let opener = opener(wire, server)?;
    let unasked = QuickModel::new(Habit::Talk(0));
    waiting.block_on(async { Roof::raise_with(work, unasked, opener) })
}

/// Listens to one whole run, the question included as on the bare side; says how many deltas were heard.
async fn listen(roof: &Roof) -> Result<(f64, usize)> {
    let since = Instant::now();
    let session = roof.begin().await?;
    let mut events = roof.watch(&session, 0);
    let mut heard = 0;
    loop {
        match &events.next().await.context("watch a run")?.body {
            EventBody::MessageDelta { .. } => heard += 1,
            EventBody::RunCompleted(_) => return Ok((since.elapsed().as_secs_f64(), heard)),
            _ => {}
        }
    }
}
