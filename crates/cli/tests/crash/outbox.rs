//! A delivery worker that is killed between any two states of a message: each text arrives once, or again with a label.
//!
//! The worker is this very test program, started again for one test. The platform is a file: what is written there has
//! arrived, and no kill takes it back.

use std::{
    collections::BTreeMap,
    env, fs,
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use async_trait::async_trait;
use rooftree_connectors::{
    Capabilities, ChatPlace, Connector, Health, Inbound, InboundFile, LengthUnit, OutboundPart,
    PartBody, Receipt, Reconciled, SendError,
};
use rooftree_protocol::Account;
use rooftree_runtime::{Clock, Handle, SystemClock};
use rooftree_server::connectors::{
    ConnectorRegistry, RegisteredConnector, UnknownDeliveryPolicy, delivery_service,
};
use rooftree_store::{OutboxBody, OutboxKind, OutboxPost, SqliteStore, prelude::*};
use tempfile::TempDir;
use tokio::sync::watch;

use crate::{fixture::wait, worker::Worker};

const ORDER: &str = "ROOFTREE_CRASH_DELIVERY";

/// Where the worker is killed: between any two states, and around every commit.
const POINTS: [&str; 7] = [
    "outbox.taken",
    "outbox.planned",
    "outbox.sending",
    "outbox.sent",
    "outbox.receipted",
    "commit.before",
    "commit.after",
];

const LABEL: &str = "(may be a duplicate)";
const CHATS: usize = 3;
const MESSAGES: usize = 8;

/// Kills in one scene at most.
const ENOUGH: u32 = 8;

/// A platform that is a file.
struct FilePlatform(PathBuf);

#[async_trait]
impl Connector for FilePlatform {
    fn platform(&self) -> &'static str {
        "file"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            edit: false,
            buttons: false,
            threads: false,
            files: false,
            typing: false,
            groups: false,
            max_length: 100,
            caption_length: 100,
            button_data: 64,
            upload: 0,
            download: 0,
            unit: LengthUnit::Chars,
        }
    }

    async fn receive(&self) -> Result<Inbound, SendError> {
        std::future::pending().await
    }

    async fn acknowledge(&self, _key: &str) -> Result<(), SendError> {
        Ok(())
    }

    fn split(&self, markdown: &str) -> Vec<OutboundPart> {
        markdown.split('|').map(OutboundPart::text).collect()
    }

    async fn send(&self, to: &ChatPlace, part: &OutboundPart) -> Result<Receipt, SendError> {
        let PartBody::Text { text, .. } = &part.body else {
            panic!("only text")
        };
        let line = format!("{} {}\n", to.chat, text.replace('\n', " "));
        let file = OpenOptions::new().create(true).append(true).open(&self.0);
        file.unwrap().write_all(line.as_bytes()).unwrap();
        Ok(Receipt {
            message: text.clone(),
        })
    }

    async fn edit(
        &self,
        _to: &ChatPlace,
        _message: &str,
        _part: &OutboundPart,
    ) -> Result<(), SendError> {
        Ok(())
    }

    async fn answer_button(&self, _press: &str, _text: &str) -> Result<(), SendError> {
        Ok(())
    }

    async fn typing(&self, _to: &ChatPlace) -> Result<(), SendError> {
        Ok(())
    }

    async fn download(&self, _file: &InboundFile, _limit: u64) -> Result<Vec<u8>, SendError> {
        Ok(Vec::new())
    }

    async fn reconcile(&self, _to: &ChatPlace, _part: &OutboundPart) -> Reconciled {
        Reconciled::Unresolved
    }

    fn health(&self) -> watch::Receiver<Health> {
        watch::channel(Health::Up).1
    }
}

fn database(place: &Path) -> PathBuf {
    place.join("rooftree.db")
}

fn arrived(place: &Path) -> PathBuf {
    place.join("arrived")
}

/// The texts of a chat, in order. Every third message has two parts.
fn parts_of(chat: usize) -> Vec<String> {
    let message = |n: usize| match n % 3 {
        0 => vec![format!("c{chat}m{n}a"), format!("c{chat}m{n}b")],
        _ => vec![format!("c{chat}m{n}")],
    };
    (0..MESSAGES).flat_map(message).collect()
}

/// A database with messages to deliver.
fn scene() -> TempDir {
    let place = TempDir::new().unwrap();
    let store = SqliteStore::open(database(place.path())).unwrap();
    for n in 0..MESSAGES {
        for chat in 0..CHATS {
            let text = match n % 3 {
                0 => format!("c{chat}m{n}a|c{chat}m{n}b"),
                _ => format!("c{chat}m{n}"),
            };
            let post = OutboxPost {
                id: format!("out_{chat}_{n}"),
                key: format!("{chat}/{n}"),
                account: Account::default(),
                session: None,
                run: None,
                kind: OutboxKind::Notice,
                target: format!("file:{chat}").parse().unwrap(),
                body: OutboxBody::Text { text },
                at: SystemClock.now(),
            };
            assert!(wait(store.post_outbox(post, None)).unwrap());
        }
    }
    place
}

/// Lets a worker deliver until it is killed or done. Says whether it was killed.
fn deliver(place: &Path, orders: &[(&str, &str)]) -> bool {
    let mut command = Command::new(env::current_exe().unwrap());
    let test = "outbox::as_a_child_deliver_until_nothing_is_left";
    command
        .args([test, "--exact", "--nocapture"])
        .env(ORDER, place)
        .envs(orders.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let ending = Worker::spawn(command).finish();
    assert!(ending.was_killed() || ending.status.success(), "{ending:?}");
    ending.was_killed()
}

#[test]
fn as_a_child_deliver_until_nothing_is_left() {
    let Some(place) = env::var_os(ORDER).map(PathBuf::from) else {
        return;
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let store = Arc::new(SqliteStore::open(database(&place)).unwrap());
        let handle = Handle::without_agents(store.clone(), Arc::new(SystemClock));
        let registry = Arc::new(ConnectorRegistry::default());
        let registered = RegisteredConnector {
            connector: Arc::new(FilePlatform(arrived(&place))),
            unknown: UnknownDeliveryPolicy::Resend,
        };
        registry.insert("file", registered);
        let stop = delivery_service(registry).start(&handle);
        while !store.outbox_counts("default").await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        stop().await;
    });
}

/// What arrived, by chat: the text, and whether it has the label.
fn received(place: &Path) -> BTreeMap<usize, Vec<(String, bool)>> {
    let text = fs::read_to_string(arrived(place)).unwrap_or_default();
    let mut chats: BTreeMap<usize, Vec<(String, bool)>> = BTreeMap::new();
    for line in text.lines() {
        let (chat, text) = line.split_once(' ').unwrap();
        let bare = text.trim_end_matches(LABEL).trim_end();
        let is_labelled = bare.len() < text.len();
        let told = (bare.to_owned(), is_labelled);
        chats.entry(chat.parse().unwrap()).or_default().push(told);
    }
    chats
}

/// What is wrong with what arrived; the number of labelled copies.
fn audit(place: &Path) -> (Vec<String>, usize) {
    let mut wrong = Vec::new();
    let (all, mut labelled) = (received(place), 0);
    for chat in 0..CHATS {
        let got = all.get(&chat).cloned().unwrap_or_default();
        let wanted = parts_of(chat);
        let places: Vec<Option<usize>> = got
            .iter()
            .map(|(text, _)| wanted.iter().position(|known| known == text))
            .collect();
        if !places.is_sorted() {
            wrong.push(format!("chat {chat} is out of order: {got:?}"));
        }
        labelled += got.iter().filter(|(_, is_labelled)| *is_labelled).count();
        for text in &wanted {
            let copies = got.iter().filter(|(known, _)| known == text);
            let (with, without): (Vec<_>, Vec<_>) =
                copies.partition(|(_, is_labelled)| *is_labelled);
            if with.len() + without.len() == 0 {
                wrong.push(format!("{text} is lost"));
            }
            if without.len() > 1 {
                wrong.push(format!(
                    "{text} arrived {} times without a label",
                    without.len()
                ));
            }
        }
    }
    (wrong, labelled)
}

/// Kills workers at a point again and again, until all is delivered. Gives the kills and what is wrong.
fn series(point: &str, every: u32, control: &[(&str, &str)]) -> (u32, Vec<String>, usize) {
    let scene = scene();
    let order = format!("{point}:{every}");
    let orders = [&[("ROOFTREE_FAILPOINT", order.as_str())], control].concat();
    let mut kills = 0;
    // A worker that is always killed before it has stored anything would never be done.
    while kills < ENOUGH && deliver(scene.path(), &orders) {
        kills += 1;
    }
    assert!(!deliver(scene.path(), control));
    let (wrong, labelled) = audit(scene.path());
    (kills, wrong, labelled)
}

#[test]
fn a_text_arrives_once_or_again_with_a_label_wherever_the_worker_is_killed() {
    let (mut kills, mut labelled) = (0, 0);
    for every in [1, 3, 4, 5, 7, 13, 17] {
        for point in POINTS {
            let (more, wrong, copies) = series(point, every, &[]);
            assert!(wrong.is_empty(), "{point}:{every}: {wrong:#?}");
            kills += more;
            labelled += copies;
        }
    }
    eprintln!("{kills} kills of a delivery worker: nothing lost, {labelled} copies with a label");
    assert!(kills >= 200, "only {kills}");
}

#[test]
fn without_the_note_that_a_part_is_being_sent_copies_have_no_label() {
    let (kills, wrong, _) = series("outbox.sent", 5, &[("ROOFTREE_WITHOUT", "sending")]);
    assert!(kills > 0);
    let copies = wrong
        .iter()
        .filter(|words| words.contains("without a label"));
    assert!(copies.count() > 0, "the audit finds no copies: {wrong:?}");
}
