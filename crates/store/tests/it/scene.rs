//! What the tests set up: sessions with something in them, and small disks.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use rooftree_protocol::{
    CallId, Event, EventBody, Lane, Message, MessageId, Origin, Outcome, Part, RunId, RunStatus,
    SessionId, Timestamp, ToolCall, Usage,
    event::{ReplyPart, ReplyRecord, RunEnd, RunMode, StopReason, ToolRecord, VERSION},
};
use rooftree_store::{
    AppendBatch, Claim, ClaimOutcome, InboxPost, NewSessionRow, Owner, SqliteStore, Store, TaskRow,
    TaskStatus, prelude::*,
};
use tempfile::TempDir;

pub const NOW: Timestamp = Timestamp(1_800_000_000_000);
pub const MINUTE: Timestamp = Timestamp(NOW.0 + 60_000);

pub fn session_id(number: u128) -> SessionId {
    SessionId::from_entropy(number)
}

pub async fn open(store: &SqliteStore, number: u128) -> SessionId {
    let new = NewSessionRow {
        id: session_id(number),
        agent: "lead".into(),
        name: None,
        model: None,
        cwd: PathBuf::from("/somewhere"),
        parent: None,
        connector_key: None,
        chat: None,
        account: Default::default(),
        audit: None,
        at: NOW,
    };
    SessionStore::open(store, new).await.unwrap().id
}

/// A task that this session has given to another one, which is at work.
pub fn delegated(session: u128) -> TaskRow {
    TaskRow {
        id: "run_delegated".into(),
        session: session_id(session),
        kind: "agent".into(),
        title: "dig".into(),
        status: TaskStatus::Running,
        process_group: None,
        detail: String::new(),
        started_at: NOW,
        ended_at: None,
        child: None,
        data: serde_json::Map::new(),
    }
}

pub fn post(session: &SessionId, key: &str, text: &str) -> InboxPost {
    let entropy = key.bytes().fold(7_u128, |sum, byte| {
        sum.wrapping_mul(257).wrapping_add(u128::from(byte))
    });
    let message = Message {
        id: MessageId::from_entropy(entropy),
        parts: vec![Part::text(text)],
        origin: Origin::User,
        outside: false,
        silent: false,
        context: None,
        mandate: None,
        call: None,
        restriction: None,
        revision: 0,
        who: None,
        at: NOW,
    };
    InboxPost {
        session: session.clone(),
        lane: Lane::Mail,
        key: key.into(),
        message,
        capacity: u64::MAX,
    }
}

pub async fn claim(store: &SqliteStore, session: &SessionId) -> Claim {
    match store
        .claim(session, &Owner::this_process(), NOW, MINUTE)
        .await
        .unwrap()
    {
        ClaimOutcome::Granted(claimed) => claimed.claim,
        ClaimOutcome::Held(owner) => panic!("held by {owner:?}"),
    }
}

fn event(session: &SessionId, id: u64, run: &RunId, body: EventBody) -> Event {
    Event {
        v: VERSION,
        id: Some(id),
        ts: NOW,
        session: session.clone(),
        run: Some(run.clone()),
        parent_run: None,
        agent: "lead".into(),
        who: None,
        body,
    }
}

/// One message, taken, answered with a tool call and settled: six events from `head` on.
pub async fn conversation(store: &SqliteStore, claim: &Claim, place: u64, head: u64) {
    let session = &claim.session;
    let post = post(session, &format!("talk-{place}"), "plant an oak");
    store.post(post.clone()).await.unwrap();
    let run = RunId::from_entropy(u128::from(place));
    let call = CallId::from_entropy(u128::from(place));
    let bodies = [
        EventBody::RunStarted {
            mode: RunMode::Main,
            message: post.message.id.clone(),
            model: "scripted".into(),
            title: "oak".into(),
            depth: 0,
            parent: None,
            policy: None,
            bounds: None,
            surroundings: None,
        },
        EventBody::MessageUser {
            message: post.message,
            lane: Lane::Mail,
            position: place,
        },
        EventBody::MessageCompleted(reply(&call)),
        EventBody::ToolCompleted(ToolRecord {
            call,
            tool: "Read".into(),
            title: "acorn.txt".into(),
            outcome: Outcome::Done,
            content: vec![Part::text("an acorn")],
            duration_ms: 1,
            full: None,
            inside: None,
            input: None,
            skill: None,
            files: Vec::new(),
            diff: None,
            task: None,
            usage: None,
        }),
        EventBody::RunCompleted(RunEnd {
            failed_checks: Vec::new(),
            status: RunStatus::Completed,
            text: "planted".into(),
            turns: 1,
            calls: 1,
            usage: Usage::default(),
            duration_ms: 2,
            files: Vec::new(),
            explored: Vec::new(),
            findings: Vec::new(),
            task: String::new(),
            tools: Vec::new(),
            steps: Vec::new(),
            delegated: rooftree_protocol::Usage::none(),
            workspace: None,
            verified: None,
            outside: false,
            denials: Vec::new(),
            error: None,
        }),
    ];
    let mut events: Vec<_> = bodies
        .into_iter()
        .zip(head + 1..)
        .map(|(body, id)| event(session, id, &run, body))
        .collect();
    let end = events.split_off(2);
    let begin = AppendBatch {
        events,
        taken: vec![(Lane::Mail, place)],
        run: Some(Some(run)),
        lease: MINUTE,
        ..AppendBatch::default()
    };
    store.append(claim, begin).await.unwrap();
    let settle = AppendBatch {
        events: end,
        done: vec![(Lane::Mail, place)],
        run: Some(None),
        lease: MINUTE,
        ..AppendBatch::default()
    };
    store.append(claim, settle).await.unwrap();
}

/// A run that only answers with this text: three events from `head` on.
pub async fn answer(store: &SqliteStore, claim: &Claim, head: u64, text: &str) {
    let run = RunId::from_entropy(u128::from(head) + 1);
    let bodies = [
        EventBody::RunStarted {
            mode: RunMode::Main,
            message: MessageId::from_entropy(u128::from(head) + 1),
            model: "scripted".into(),
            title: "answer".into(),
            depth: 0,
            parent: None,
            policy: None,
            bounds: None,
            surroundings: None,
        },
        EventBody::MessageCompleted(ReplyRecord {
            message: None,
            text: text.into(),
            parts: vec![ReplyPart::Text { text: text.into() }],
            model: "scripted".into(),
            stop: StopReason::End,
            usage: Usage::default(),
            request: None,
        }),
        EventBody::RunCompleted(RunEnd {
            text: text.into(),
            ..RunEnd::new(RunStatus::Completed)
        }),
    ];
    let events = bodies
        .into_iter()
        .zip(head + 1..)
        .map(|(body, id)| event(&claim.session, id, &run, body))
        .collect();
    let batch = AppendBatch {
        events,
        lease: MINUTE,
        ..AppendBatch::default()
    };
    store.append(claim, batch).await.unwrap();
}

fn reply(call: &CallId) -> ReplyRecord {
    let call = ToolCall {
        id: call.clone(),
        tool: "Read".into(),
        input: serde_json::json!({"file_path": "acorn"}),
    };
    ReplyRecord {
        message: None,
        text: "looking".into(),
        parts: vec![
            ReplyPart::Text {
                text: "looking".into(),
            },
            ReplyPart::Call(call),
        ],
        model: "scripted".into(),
        stop: StopReason::Calls,
        usage: Usage::default(),
        request: None,
    }
}

pub async fn assert_sound(store: &SqliteStore) {
    let report = store.verify().await.unwrap();
    assert!(report.violations.is_empty(), "{:#?}", report.violations);
}

/// A file system in memory, unmounted when dropped.
pub struct SmallDisk(TempDir);

impl SmallDisk {
    /// Mounts one, if this machine lets us; says so if not.
    pub fn mount(size: &str) -> Option<Self> {
        let directory = TempDir::new().unwrap();
        let options = format!("size={size}");
        let mount = ["-t", "tmpfs", "-o", &options, "tmpfs"];
        let mounted = Command::new("mount")
            .args(mount)
            .arg(directory.path())
            .output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(directory));
        }
        eprintln!("left out: this machine does not let us mount a small disk");
        None
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A program that another test is just starting holds copies of our open files until it is executed: the disk is
    /// busy until then.
    pub fn make_read_only(&self) {
        let remount = || {
            let mut mount = Command::new("mount");
            mount.args(["-o", "remount,ro"]).arg(self.path());
            mount.status().unwrap().success()
        };
        let done = (0..200).any(|_| {
            let done = remount();
            if !done {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            done
        });
        assert!(done, "the disk stays busy");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}
