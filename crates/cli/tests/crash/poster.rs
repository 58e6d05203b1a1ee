//! The poster: a process of its own that posts tasks and keeps its own list of what was accepted.
//!
//! It is this very test program, started again for one test. It posts every task twice with the
//! same key, as a client does whose answer got lost, and when it is killed and started again it
//! posts everything once more. Its list is on disk before it goes on.

use std::{
    env,
    fs::OpenOptions,
    io::Write,
    ops::RangeInclusive,
    path::PathBuf,
    process::{Command, Stdio},
};

use rooftree_protocol::{Lane, Message, MessageId, Origin, Part, SessionId};
use rooftree_runtime::{Clock, SystemClock};
use rooftree_store::{InboxPost, SqliteStore, prelude::*};

use crate::{
    fixture::{Scene, wait},
    worker::Worker,
};

const ORDER: &str = "ROOFTREE_CRASH_POSTER";

/// A line of a poster's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    pub task: u64,
    pub message: String,
}

/// Starts a poster of these tasks.
pub fn start(
    scene: &Scene,
    name: &str,
    tasks: RangeInclusive<u64>,
    orders: &[(&str, &str)],
) -> Worker {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([
        "poster::as_a_child_post_and_keep_a_list",
        "--exact",
        "--nocapture",
    ]);
    let places = [scene.database(), scene.list(name)].map(|path| path.display().to_string());
    let range = [tasks.start().to_string(), tasks.end().to_string()];
    let order = [&[scene.session.to_string()], &places[..], &range[..]]
        .concat()
        .join("|");
    command.env(ORDER, order).envs(orders.iter().copied());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    Worker::spawn(command)
}

/// Posts and waits until all is accepted.
pub fn post(scene: &Scene, name: &str, tasks: RangeInclusive<u64>, orders: &[(&str, &str)]) {
    start(scene, name, tasks, orders).finish().assert_success();
}

/// What a poster was told.
pub fn accepted(scene: &Scene, name: &str) -> Vec<Accepted> {
    let read = |line: &String| {
        let (task, message) = line.split_once(' ')?;
        Some(Accepted {
            task: task.parse().ok()?,
            message: message.to_owned(),
        })
    };
    scene
        .lines(&scene.list(name))
        .iter()
        .filter_map(read)
        .collect()
}

struct Order {
    session: SessionId,
    database: PathBuf,
    list: PathBuf,
    tasks: RangeInclusive<u64>,
}

fn order() -> Option<Order> {
    let text = env::var(ORDER).ok()?;
    let [session, database, list, first, last] =
        text.split('|').collect::<Vec<_>>().try_into().ok()?;
    Some(Order {
        session: SessionId::parse(session).ok()?,
        database: database.into(),
        list: list.into(),
        tasks: first.parse().ok()?..=last.parse().ok()?,
    })
}

#[test]
fn as_a_child_post_and_keep_a_list() {
    let Some(order) = order() else { return };
    let store = SqliteStore::open(&order.database).unwrap();
    let mut list = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&order.list)
        .unwrap();
    for task in order.tasks {
        for _ in 0..2 {
            let posted = wait(store.post(letter(&order.session, task))).unwrap();
            // In one piece, so that a kill leaves a whole line or none.
            list.write_all(format!("{task} {}\n", posted.message).as_bytes())
                .unwrap();
            list.sync_all().unwrap();
        }
    }
}

/// A new message each time, because a client that tries again does not know the first one's id.
fn letter(session: &SessionId, task: u64) -> InboxPost {
    let message = Message {
        revision: 0,
        id: MessageId::from_entropy(SystemClock.entropy()),
        parts: vec![Part::text(format!("Please do task {task}."))],
        origin: Origin::User,
        outside: false,
        silent: false,
        context: None,
        mandate: None,
        call: None,
        restriction: None,
        who: None,
        at: SystemClock.now(),
    };
    InboxPost {
        session: session.clone(),
        lane: Lane::Mail,
        key: format!("task-{task}"),
        message,
        capacity: 10_000,
    }
}
