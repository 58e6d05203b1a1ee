//! Messages posted to the HTTP API, beside a bare axum server with one durable row per request: rate, slowest
//! hundredth, and memory of the server.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use futures::future::try_join_all;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::running_server::{RunningServer, ServerHome};
use crate::{
    baseline::baseline_client::loopback_client,
    compare::{MedianPair, median},
    machine,
    options::BenchOptions,
    program_dir::ProgramDir,
    row::{BenchRow, FigureTarget},
};

const SCRIPT: &str = "[[reply]]\ntext = \"Hello.\"\ntimes = 1000000\n";
const CLIENTS: [usize; 3] = [1, 60, 500];
/// Requests after which memory is looked at.
const MANY: usize = 30_000;
/// How long a client that was refused waits.
const PAUSE: Duration = Duration::from_millis(5);

pub(super) fn measure(place: &ProgramDir, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let Ok(rooftree) = place.rooftree(&["version"]) else {
        let why = "the program is not built";
        return Ok(vec![BenchRow::skipped("API: messages posted", why)]);
    };
    let work = TempDir::new()?;
    let home = ServerHome::new(&rooftree, work.path(), SCRIPT)?;
    let token = home.token("bench")?;
    let server = home.serve()?;
    let mut bare = std::process::Command::new(place.program("bench-bare"));
    let bare = RunningServer::start(bare.arg("serve").arg(work.path()))?;
    let idle = server.memory()?;
    let waiting = machine::multi_thread_runtime()?;
    let client = loopback_client()?;
    let ours = Poster::ours(&client, &server.url, &token);
    let theirs = Poster::bare(&client, &bare.url);
    let during = Duration::from_secs(options.amount(5, 1) as u64);
    let mut rows = Vec::new();
    for clients in CLIENTS {
        let rounds = options.amount(3, 1);
        let (mut our, mut their) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            their.push(waiting.block_on(load(&theirs, clients, Enough::After(during)))?);
            our.push(waiting.block_on(load(&ours, clients, Enough::After(during)))?);
        }
        rows.extend(load_rows(clients, &our, &their));
    }
    rows.push(BenchRow::size(
        "API: memory of an idle server",
        MedianPair {
            ours: idle,
            bare: None,
        },
        FigureTarget::Watched,
        "",
    ));
    rows.push(memory_row(&waiting, &ours, &server, options)?);
    Ok(rows)
}

fn load_rows(clients: usize, our: &[PostLoad], their: &[PostLoad]) -> [BenchRow; 2] {
    let pair = |figure: fn(&PostLoad) -> f64| MedianPair {
        ours: median(our.iter().map(figure).collect()),
        bare: Some(median(their.iter().map(figure).collect())),
    };
    let note = "axum with one durable row per request";
    [
        BenchRow::rate(
            format!("API: messages posted, {clients} clients"),
            pair(|load| load.rate),
            FigureTarget::Watched,
            note,
        ),
        BenchRow::time(
            format!("API: slowest hundredth of posts, {clients} clients"),
            pair(|load| load.slow),
            FigureTarget::Watched,
            note,
        ),
    ]
}

fn memory_row(
    waiting: &Runtime,
    ours: &Poster<'_>,
    server: &RunningServer,
    options: &BenchOptions,
) -> Result<BenchRow> {
    let early = server.memory()?;
    let many = options.amount(MANY, 300);
    waiting.block_on(load(ours, 60, Enough::Posts(many)))?;
    let pair = MedianPair {
        ours: server.memory()?,
        bare: Some(early),
    };
    let name = format!("API: memory after {many} more messages");
    Ok(BenchRow::size(
        name,
        pair,
        FigureTarget::Times(1.2),
        "before them",
    ))
}

/// Figures of one load.
struct PostLoad {
    rate: f64,
    /// The time that 99 of 100 requests do not take.
    slow: f64,
}

/// When a load is over.
#[derive(Clone, Copy)]
enum Enough {
    After(Duration),
    Posts(usize),
}

/// Where to post to.
struct Poster<'a> {
    client: &'a Client,
    url: String,
    /// The token of our API; none for the bare server.
    token: Option<&'a str>,
}

impl<'a> Poster<'a> {
    fn ours(client: &'a Client, url: &str, token: &'a str) -> Self {
        let url = format!("{url}/api/v1/sessions");
        let token = Some(token);
        Self { client, url, token }
    }

    fn bare(client: &'a Client, url: &str) -> Self {
        let (url, token) = (format!("{url}/"), None);
        Self { client, url, token }
    }

    /// The address for the messages of one client: a session of its own.
    async fn open(&self) -> Result<String> {
        let Some(token) = self.token else {
            return Ok(self.url.clone());
        };
        let new = self.client.post(&self.url).bearer_auth(token);
        let opened = new.json(&json!({"agent": "guide"})).send().await?;
        let opened: Value = opened.error_for_status()?.json().await?;
        let id = opened.get("id").and_then(Value::as_str).unwrap_or_default();
        Ok(format!("{}/{id}/messages", self.url))
    }

    /// Posts a message that is stored and starts no run; says whether it was taken.
    async fn post(&self, url: &str) -> Result<bool> {
        let body = json!({"text": "Hello there.", "delivery": "silent"});
        let request = self.client.post(url).json(&body);
        let request = match self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        // Of too many new connections at once from one address the server closes the oldest.
        let Ok(answer) = request.send().await else {
            return Ok(false);
        };
        match answer.status() {
            StatusCode::ACCEPTED | StatusCode::OK => Ok(answer.bytes().await.is_ok()),
            StatusCode::TOO_MANY_REQUESTS => Ok(false),
            other => bail!("the server answers {other}"),
        }
    }
}

/// So many clients, each of which posts again as soon as it has its answer.
async fn load(poster: &Poster<'_>, clients: usize, enough: Enough) -> Result<PostLoad> {
    let urls = try_join_all((0..clients.min(60)).map(|_| poster.open())).await?;
    let since = Instant::now();
    let share = match enough {
        Enough::After(_) => usize::MAX,
        Enough::Posts(posts) => posts.div_ceil(clients),
    };
    let posting = (0..clients).map(|number| {
        let mut url = urls.get(number % urls.len()).cloned().unwrap_or_default();
        async move {
            let mut times = Vec::new();
            while times.len() < share && is_open(enough, since) {
                let begun = Instant::now();
                if poster.post(&url).await? {
                    times.push(begun.elapsed().as_secs_f64());
                } else {
                    // The inbox of the session may be full.
                    tokio::time::sleep(PAUSE).await;
                    url = poster.open().await.unwrap_or(url);
                }
            }
            anyhow::Ok(times)
        }
    });
    let times: Vec<Vec<f64>> = try_join_all(posting).await?;
    let mut times = times.concat();
    let rate = times.len() as f64 / since.elapsed().as_secs_f64();
    times.sort_by(f64::total_cmp);
    let slow = times.get(times.len() * 99 / 100).copied();
    Ok(PostLoad {
        rate,
        slow: slow.unwrap_or(f64::NAN),
    })
}

fn is_open(enough: Enough, since: Instant) -> bool {
    match enough {
        Enough::After(during) => since.elapsed() < during,
        Enough::Posts(_) => true,
    }
}
