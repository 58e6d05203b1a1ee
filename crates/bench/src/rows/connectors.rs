//! Connectors over a wire: a signed webhook request until it is in the inbox, and messages of the outbox until a receiver
//! has them.

use std::{
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Result, ensure};
use axum::{Router, extract::State, routing::post};
use futures::future::{join_all, try_join_all};
use reqwest::{Client, StatusCode};
use ring::hmac;
use rooftree_protocol::{Account, Timestamp};
use rooftree_store::{OutboxBody, OutboxKind, OutboxPost, SqliteStore, prelude::*};
use tempfile::TempDir;
use tokio::net::TcpListener;

use super::running_server::{RunningServer, ServerHome};
use crate::{
    baseline::{DurableTable, baseline_client::loopback_client},
    compare::compare,
    machine,
    options::BenchOptions,
    program_dir::ProgramDir,
    row::{BenchRow, FigureTarget},
};

const SCRIPT: &str = "[[reply]]\ntext = \"Hello.\"\ntimes = 1000000\n";
const SECRET: &str = "a-secret-of-the-benchmark-of-webhooks";
/// Clients that post at once.
const CLIENTS: [usize; 2] = [1, 60];
/// Chats that are delivered to at once.
const CHATS: [usize; 2] = [1, 20];
/// As long as a message of ours.
const MESSAGE: &str =
    r#"{"id":"out_aaaaaaaaaaaaaaaaaaaaaaaa","chat":"chat-1","text":"The build is green."}"#;
/// How long a delivery is waited for.
const PATIENCE: Duration = Duration::from_secs(300);

pub(super) fn measure(place: &ProgramDir, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let Ok(rooftree) = place.rooftree(&["version"]) else {
        let why = "the program is not built";
        return Ok(vec![BenchRow::skipped(
            "webhook: message to inbox commit",
            why,
        )]);
    };
    let mut rows = inbound(place, &rooftree, options)?;
    rows.extend(outbound(&rooftree, options)?);
    Ok(rows)
}

/// Requests that are answered once their message is stored, beside axum with one durable row per request.
fn inbound(place: &ProgramDir, rooftree: &Path, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let work = TempDir::new()?;
    let home = ServerHome::new(rooftree, work.path(), SCRIPT)?;
    let settings = [
        "--setting",
        "debounce_ms=0",
        "--setting",
        "session_from={{chat}}",
    ];
    home.add_webhook("hook", SECRET, &settings)?;
    let server = home.serve()?;
    let mut bare = Command::new(place.program("bench-bare"));
    let bare = RunningServer::start(bare.arg("serve").arg(work.path()))?;
    let waiting = machine::multi_thread_runtime()?;
    let client = loopback_client()?;
    let sender = WebhookSender {
        url: format!("{}/hooks/hook", server.url),
        client: client.clone(),
        count: AtomicU64::new(0),
    };
    waiting.block_on(sender.until_it_is_up())?;
    let plain = format!("{}/", bare.url);
    let mut rows = Vec::new();
    for clients in CLIENTS {
        let each = options.amount(600, 60).div_ceil(clients.min(10));
        let per_request = |seconds: f64| seconds / (clients * each) as f64;
        let ours = || {
            let posting = (0..clients).map(|_| sender.post(each));
            let posting = async { try_join_all(posting).await.map(drop) };
            machine::time_future(&waiting, posting).map(per_request)
        };
        let theirs = || {
            let posting = (0..clients).map(|_| post_plainly(&client, &plain, each));
            let posting = async { try_join_all(posting).await.map(drop) };
            machine::time_future(&waiting, posting).map(per_request)
        };
        let pair = compare(options.rounds, theirs, ours)?;
        let name = format!("webhook: message to inbox commit, {clients} at once");
        let note = "axum with one durable row per request";
        rows.push(BenchRow::time(name, pair, FigureTarget::Watched, note));
    }
    Ok(rows)
}

/// Signs and posts requests. Each is of a chat of its own, so that none waits for the run of the one before.
struct WebhookSender {
    url: String,
    client: Client,
    count: AtomicU64,
}

impl WebhookSender {
    async fn post(&self, times: usize) -> Result<()> {
        for _ in 0..times {
            let status = self.post_one().await?;
            ensure!(
                status == StatusCode::ACCEPTED,
                "the webhook answers {status}"
            );
        }
        Ok(())
    }

    async fn post_one(&self) -> Result<StatusCode> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let body = format!(r#"{{"text":"The build is green.","chat":"chat-{number}"}}"#);
        let time = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
        let tag = hmac::sign(&key, format!("{time}.{body}").as_bytes());
        let hex: String = tag
            .as_ref()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let request = self
            .client
            .post(&self.url)
            .header("content-type", "application/json")
            .header("x-rooftree-signature", format!("t={time},v1={hex}"))
            .body(body);
        let answer = request.send().await?;
        let status = answer.status();
        answer.bytes().await?;
        Ok(status)
    }

    /// The server takes requests of a webhook a moment after it serves. Few attempts: too many would lock us out.
    async fn until_it_is_up(&self) -> Result<()> {
        for _ in 0..10 {
            if self.post_one().await? == StatusCode::ACCEPTED {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        self.post(1).await
    }
}

async fn post_plainly(client: &Client, url: &str, times: usize) -> Result<()> {
    for _ in 0..times {
        let answer = client.post(url).body(MESSAGE).send().await?;
        answer.error_for_status()?.bytes().await?;
    }
    Ok(())
}

/// Messages that another process put into the outbox, beside a loop that keeps a durable row before and after each post.
fn outbound(rooftree: &Path, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let work = TempDir::new()?;
    let waiting = machine::multi_thread_runtime()?;
    let receiver = waiting.block_on(Receiver::start())?;
    let home = ServerHome::new(rooftree, work.path(), SCRIPT)?;
    let settings = [
        "--url",
        &receiver.url,
        "--setting",
        "private_addresses=true",
    ];
    home.add_webhook("hook", SECRET, &settings)?;
    let server = home.serve()?;
    let store = waiting.block_on(async { SqliteStore::open(home.database()) })?;
    let ledger = DurableTable::open(&work.path().join("bare.db"))?;
    let client = loopback_client()?;
    let mut rows = Vec::new();
    let mut round = 0;
    for chats in CHATS {
        let each = options.amount(1_000, 100) / chats;
        let per_second = |seconds: f64| (chats * each) as f64 / seconds;
        let ours = || {
            round += 1;
            let delivered = deliver(&store, &receiver, round, (chats, each));
            machine::time_future(&waiting, delivered).map(per_second)
        };
        let theirs = || {
            let sending = send_plainly(&client, &receiver, &ledger, (chats, each));
            machine::time_future(&waiting, sending).map(per_second)
        };
        let pair = compare(options.rounds, theirs, ours)?;
        let name = format!("outbox: messages delivered, {chats} chats");
        let note = "a durable row before and after each request";
        rows.push(BenchRow::rate(name, pair, FigureTarget::Watched, note));
    }
    drop(server);
    Ok(rows)
}

/// Puts messages into the outbox and waits until the receiver has them.
async fn deliver(
    store: &SqliteStore,
    receiver: &Receiver,
    round: usize,
    (chats, each): (usize, usize),
) -> Result<()> {
    let before = receiver.count();
    let posts = (0..each).flat_map(|number| (0..chats).map(move |chat| (number, chat)));
    let posts = posts.map(|(number, chat)| store.post_outbox(message(round, number, chat), None));
    for stored in join_all(posts).await {
        stored?;
    }
    receiver.wait_for(before + chats * each).await
}

fn message(round: usize, number: usize, chat: usize) -> OutboxPost {
    let key = format!("bench/{round}/{chat}/{number}");
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    OutboxPost {
        id: format!("out_{round}_{chat}_{number}"),
        key,
        account: Account::default(),
        session: None,
        run: None,
        kind: OutboxKind::Notice,
        target: rooftree_protocol::ChatTarget {
            connector: "hook".to_owned(),
            chat: format!("chat-{chat}"),
            thread: None,
            reply_to: None,
            group: false,
        },
        body: OutboxBody::Text {
            text: "The build is green.".to_owned(),
        },
        at: Timestamp(since.map_or(0, |since| since.as_millis() as i64)),
    }
}

/// The same with a commit for all chats together before and after.
async fn send_plainly(
    client: &Client,
    receiver: &Receiver,
    ledger: &DurableTable,
    (chats, each): (usize, usize),
) -> Result<()> {
    for _ in 0..each {
        ledger.commit((0..chats).map(|_| MESSAGE))?;
        try_join_all((0..chats).map(|_| post_plainly(client, &receiver.url, 1))).await?;
        ledger.commit((0..chats).map(|_| MESSAGE))?;
    }
    Ok(())
}

/// A server in this process that counts what it is sent.
struct Receiver {
    url: String,
    received: Arc<AtomicUsize>,
}

impl Receiver {
    async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let received = Arc::new(AtomicUsize::new(0));
        let router = Router::new()
            .route("/", post(take))
            .with_state(received.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self { url, received })
    }

    fn count(&self) -> usize {
        self.received.load(Ordering::Relaxed)
    }

    async fn wait_for(&self, count: usize) -> Result<()> {
        let since = Instant::now();
        while self.count() < count {
            ensure!(since.elapsed() < PATIENCE, "only {} arrived", self.count());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }
}

async fn take(State(received): State<Arc<AtomicUsize>>, _body: String) {
    received.fetch_add(1, Ordering::Relaxed);
}
