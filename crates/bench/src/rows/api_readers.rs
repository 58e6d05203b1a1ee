//! Many readers of event streams while sessions work and connections are cut: what each missed or got twice, and the
//! memory of a reader.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use futures::future::try_join_all;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Barrier;

use super::running_server::{RunningServer, ServerHome};
use crate::{
    baseline::baseline_client::loopback_client,
    compare::MedianPair,
    machine,
    options::BenchOptions,
    program_dir::ProgramDir,
    row::{BenchRow, FigureTarget},
};

/// Five deltas per answer.
const SCRIPT: &str =
    "[[reply]]\ntext = \"One, two, three, four, five.\"\nchunk = 6\ntimes = 1000000\n";
/// The most that a reader may hold in the server.
const PER_READER: f64 = 64.0 * 1024.0;
/// How long readers may take to have everything.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a reader that was refused waits.
const PAUSE: Duration = Duration::from_millis(50);

pub(super) fn measure(place: &ProgramDir, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let Ok(rooftree) = place.rooftree(&["version"]) else {
        let why = "the program is not built";
        return Ok(vec![BenchRow::skipped("API: readers", why)]);
    };
    raise_open_files()?;
    let work = TempDir::new()?;
    let home = ServerHome::new(&rooftree, work.path(), SCRIPT)?;
    let count = options.amount(250, 5);
    let tokens: Result<Vec<String>> = (0..count).map(|at| home.token(&format!("t{at}"))).collect();
    let scene = ReaderScene {
        server: home.serve()?,
        client: loopback_client()?,
        tokens: tokens?,
        poster: home.token("poster")?,
        sessions: options.amount(200, 4),
        readers: options.amount(10, 5),
        seconds: options.amount(10, 3) as u64,
    };
    let figures = machine::multi_thread_runtime()?.block_on(scene.play())?;
    Ok(figures.rows(&scene))
}

/// 2,000 readers need a file each, here and in the server, which inherits the limit.
fn raise_open_files() -> Result<()> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most).context("raise the limit of open files")
}

struct ReaderScene {
    server: RunningServer,
    client: Client,
    /// The tokens of the readers.
    tokens: Vec<String>,
    /// The token that opens sessions and posts.
    poster: String,
    sessions: usize,
    /// Of each session.
    readers: usize,
    /// How long a message is posted to each session every second.
    seconds: u64,
}

/// What came of it.
struct ReaderFigures {
    missed: u64,
    repeated: u64,
    cuts: u64,
    frames: u64,
    seconds: f64,
    per_reader: f64,
}

/// What all readers share.
#[derive(Default)]
struct SharedCounts {
    missed: AtomicU64,
    repeated: AtomicU64,
    cuts: AtomicU64,
    frames: AtomicU64,
    /// The last event of each session, once everything is posted and done.
    heads: Vec<AtomicU64>,
}

impl ReaderScene {
    async fn play(&self) -> Result<ReaderFigures> {
        let sessions = try_join_all((0..self.sessions).map(|_| self.open())).await?;
        let before = self.server.memory()?;
        let counts = SharedCounts {
            heads: sessions.iter().map(|_| AtomicU64::new(u64::MAX)).collect(),
            ..SharedCounts::default()
        };
        let readers = self.sessions * self.readers;
        let (ready, begin) = (Barrier::new(readers + 1), Barrier::new(readers + 1));
        let places = sessions.iter().zip(&counts.heads);
        let reading = places.cycle().zip(self.tokens.iter().cycle()).take(readers);
        let reading = reading
            .enumerate()
            .map(|(number, ((session, head), token))| {
                let reader = StreamReader {
                    scene: self,
                    session,
                    head,
                    token,
                    counts: &counts,
                    last: 0,
                    // The first reader of each session is cut once, each after another frame.
                    cut_at: (number < self.sessions).then_some(3 + number as u64 % 17),
                };
                reader.read(&ready, &begin)
            });
        let posting = async {
            ready.wait().await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            let per_reader = (self.server.memory()? - before) / readers as f64;
            let since = Instant::now();
            begin.wait().await;
            for second in 0..self.seconds {
                try_join_all(sessions.iter().map(|session| self.post(session))).await?;
                let next = since + Duration::from_secs(second + 1);
                tokio::time::sleep_until(next.into()).await;
            }
            let heads = try_join_all(sessions.iter().map(|session| self.head(session))).await?;
            for (known, head) in counts.heads.iter().zip(heads) {
                known.store(head, Ordering::Relaxed);
            }
            // One more message for each, so that every reader looks again.
            try_join_all(sessions.iter().map(|session| self.post(session))).await?;
            anyhow::Ok((per_reader, since.elapsed().as_secs_f64()))
        };
        let read = try_join_all(reading);
        let both = async { tokio::try_join!(posting, read) };
        let ((per_reader, seconds), _) = tokio::time::timeout(PATIENCE, both)
            .await
            .context("a reader never received all events")??;
        let count = |counted: &AtomicU64| counted.load(Ordering::Relaxed);
        Ok(ReaderFigures {
            missed: count(&counts.missed),
            repeated: count(&counts.repeated),
            cuts: count(&counts.cuts),
            frames: count(&counts.frames),
            seconds,
            per_reader,
        })
    }

    async fn open(&self) -> Result<String> {
        let url = format!("{}/api/v1/sessions", self.server.url);
        let new = self.client.post(url).bearer_auth(&self.poster);
        let opened = new.json(&json!({"agent": "guide"})).send().await?;
        let opened: Value = opened.error_for_status()?.json().await?;
        let id = opened.get("id").and_then(Value::as_str);
        Ok(id.context("a session has an id")?.to_owned())
    }

    async fn post(&self, session: &str) -> Result<()> {
        let url = format!("{}/api/v1/sessions/{session}/messages", self.server.url);
        let post = self.client.post(url).bearer_auth(&self.poster);
        post.json(&json!({"text": "Go on."}))
            .send()
            .await?
            .error_for_status()?;
        Ok(())
    }

    /// The number of a session's last event, once nothing is left to do in it.
    async fn head(&self, session: &str) -> Result<u64> {
        let url = format!("{}/api/v1/sessions/{session}", self.server.url);
        loop {
            let shown = self.client.get(&url).bearer_auth(&self.poster);
            let shown: Value = shown.send().await?.error_for_status()?.json().await?;
            let field = |name: &str| shown.get(name).unwrap_or(&Value::Null);
            if field("state") == "resting" {
                return field("head").as_u64().context("a session has a head");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// One reader of one session, which continues after its last event when it is cut off.
struct StreamReader<'a> {
    scene: &'a ReaderScene,
    session: &'a str,
    token: &'a str,
    counts: &'a SharedCounts,
    head: &'a AtomicU64,
    last: u64,
    cut_at: Option<u64>,
}

impl StreamReader<'_> {
    async fn read(mut self, ready: &Barrier, begin: &Barrier) -> Result<()> {
        let mut response = self.connect().await?;
        ready.wait().await;
        begin.wait().await;
        let (mut rest, mut frames) = (Vec::new(), 0);
        loop {
            let Some(piece) = response.chunk().await? else {
                (response, rest) = (self.connect().await?, Vec::new());
                continue;
            };
            rest.extend_from_slice(&piece);
            while let Some(end) = rest.windows(2).position(|pair| pair == b"\n\n") {
                let frame: Vec<u8> = rest.drain(..end + 2).collect();
                frames += 1;
                self.take(&frame);
                if self.last > self.head.load(Ordering::Relaxed) {
                    return Ok(());
                }
            }
            if self.cut_at.is_some_and(|at| frames >= at) {
                self.cut_at = None;
                self.counts.cuts.fetch_add(1, Ordering::Relaxed);
                drop(response);
                (response, rest) = (self.connect().await?, Vec::new());
            }
        }
    }

    async fn connect(&self) -> Result<Response> {
        let url = format!("{}/api/v1/stream", self.scene.server.url);
        let body = json!({"sessions": {self.session: self.last}});
        let since = Instant::now();
        loop {
            let request = self.scene.client.post(&url).bearer_auth(self.token);
            let response = request.json(&body).send().await;
            match response {
                Ok(response) if response.status().is_success() => return Ok(response),
                Ok(response) if response.status() != StatusCode::TOO_MANY_REQUESTS => {
                    response.error_for_status()?;
                }
                // The place of the connection that was cut may not be free yet.
                _ => ensure!(
                    since.elapsed() < PATIENCE,
                    "a reader was refused for too long"
                ),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Counts a frame. One with an id of the session must be the next event.
    fn take(&mut self, frame: &[u8]) {
        self.counts.frames.fetch_add(1, Ordering::Relaxed);
        let text = String::from_utf8_lossy(frame);
        if text.starts_with("event: session.snapshot") {
            return;
        }
        let id = text.lines().find_map(|line| line.strip_prefix("id: "));
        let Some(number) = id.and_then(|id| id.strip_prefix(self.session)) else {
            return;
        };
        let Ok(number) = number.trim_start_matches(':').parse::<u64>() else {
            return;
        };
        if number <= self.last {
            self.counts.repeated.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let missed = number - self.last - 1;
        self.counts.missed.fetch_add(missed, Ordering::Relaxed);
        self.last = number;
    }
}

impl ReaderFigures {
    fn rows(&self, scene: &ReaderScene) -> Vec<BenchRow> {
        let readers = scene.sessions * scene.readers;
        let alone = |ours: f64| MedianPair { ours, bare: None };
        let note = format!("{} sessions, {} cuts", scene.sessions, self.cuts);
        let none = FigureTarget::AtMost(0.0);
        vec![
            BenchRow::count(
                format!("API: events missed by {readers} readers"),
                alone(self.missed as f64),
                none,
                note.clone(),
            ),
            BenchRow::count(
                format!("API: events received twice by {readers} readers"),
                alone(self.repeated as f64),
                none,
                note,
            ),
            BenchRow::rate(
                format!("API: frames received by {readers} readers"),
                alone(self.frames as f64 / self.seconds),
                FigureTarget::Watched,
                "",
            ),
            BenchRow::size(
                "API: memory of the server per idle reader",
                alone(self.per_reader),
                FigureTarget::AtMost(PER_READER),
                "",
            ),
        ]
    }
}
