//! `rooftree serve` under load: requests per second, and memory that does not grow with them.

use std::time::{Duration, Instant};

use anyhow::Result;
use futures::future::try_join_all;
use reqwest::{Client, StatusCode};
use serde_json::json;
use tempfile::TempDir;

use super::running_server::{CHAT_TOKEN, ServerHome};
use crate::{
    baseline::baseline_client::loopback_client,
    compare::{MedianPair, median},
    machine,
    options::BenchOptions,
    program_dir::ProgramDir,
    row::{BenchRow, FigureTarget},
};

const SCRIPT: &str = "[[reply]]\ntext = \"Hello.\"\ntimes = 1000\n";

/// How long a client that was refused waits: none of them is patient.
const PAUSE: Duration = Duration::from_millis(5);

pub(super) fn measure(place: &ProgramDir, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let Ok(rooftree) = place.rooftree(&["version"]) else {
        let why = "the program is not built";
        return Ok(vec![BenchRow::skipped("`serve` under load", why)]);
    };
    let work = TempDir::new()?;
    let server = ServerHome::new(&rooftree, work.path(), SCRIPT)?.serve()?;
    let waiting = machine::multi_thread_runtime()?;
    let client = loopback_client()?;
    let seconds = options.amount(5, 2) as u64;
    let load = |clients: usize| {
        let during = Duration::from_secs(seconds);
        waiting.block_on(load(&client, &server.url, clients, during))
    };
    let mut rates = Vec::new();
    load(1)?;
    let early = server.memory()?;
    for clients in [1, 60, 500] {
        let rounds: Result<Vec<f64>> = (0..options.amount(3, 1)).map(|_| load(clients)).collect();
        rates.push((clients, median(rounds?)));
    }
    let late = server.memory()?;
    let of = |wanted: usize| {
        let found = rates.iter().find(|(clients, _)| *clients == wanted);
        found.map_or(f64::NAN, |(_, rate)| *rate)
    };
    let row = |clients: usize, bare: Option<f64>, target, note: &str| {
        let pair = MedianPair {
            ours: of(clients),
            bare,
        };
        let name = format!("`serve`: requests answered, {clients} clients");
        BenchRow::rate(name, pair, target, note)
    };
    let pair = MedianPair {
        ours: late,
        bare: Some(early),
    };
    Ok(vec![
        row(1, None, FigureTarget::Watched, ""),
        row(
            60,
            Some(4_000.0),
            FigureTarget::Share(1.0),
            "4,000 per second",
        ),
        row(
            500,
            Some(of(60)),
            FigureTarget::Share(0.9),
            "60 clients; those that are refused come again at once",
        ),
        BenchRow::size(
            "`serve`: memory after the load",
            pair,
            FigureTarget::Times(1.2),
            "after the first requests",
        ),
    ])
}

/// Requests answered per second by so many clients, each of which asks again as soon as it has its answer.
async fn load(client: &Client, url: &str, clients: usize, during: Duration) -> Result<f64> {
    let url = format!("{}/v1/chat/completions", url.trim_end_matches('/'));
    let body = json!({"model": "agent:guide", "messages": [{"role": "user", "content": "hi"}]});
    let since = Instant::now();
    let asking = (0..clients).map(|_| async {
        let mut answered = 0_usize;
        while since.elapsed() < during {
            let request = client.post(&url).bearer_auth(CHAT_TOKEN).json(&body);
            // Of too many new connections at once from one address the server closes the oldest.
            let Ok(response) = request.send().await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            match response.status() {
                StatusCode::OK => answered += usize::from(response.bytes().await.is_ok()),
                StatusCode::TOO_MANY_REQUESTS => tokio::time::sleep(PAUSE).await,
                other => anyhow::bail!("the server answers {other}"),
            }
        }
        Ok(answered)
    });
    let answered: usize = try_join_all(asking).await?.into_iter().sum();
    Ok(answered as f64 / since.elapsed().as_secs_f64())
}
