//! A home of its own for each test, with sessions written straight into its store.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use rooftree_protocol::{
    CallId, ErrorCode, Event, EventBody, Lane, Message, MessageId, Origin, Outcome, Part, RunId,
    RunStatus, Session, SessionId, Timestamp, ToolCall, Usage,
    event::{self, ReplyPart, ReplyRecord, RunEnd, RunMode, StopReason, ToolRecord},
};
use rooftree_store::{
    AppendBatch, Claim, ClaimOutcome, InboxPost, NewSessionRow, Owner, SqliteStore, prelude::*,
};
use serde_json::{Value, json};

/// The first moment of every story.
const DAWN: Timestamp = Timestamp(1_794_700_000_000);

/// A home directory that goes away with the test.
pub struct House {
    home: tempfile::TempDir,
}

/// What a command did.
#[derive(Debug)]
pub struct Done {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Done {
    /// Standard output of a command that went well.
    #[track_caller]
    pub fn well(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }

    /// Standard error of a command that ended with this code and printed no result.
    #[track_caller]
    pub fn ended(self, code: i32) -> String {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.out, "", "a failure prints no result");
        self.err
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(self) -> Value {
        serde_json::from_str(&self.well()).unwrap()
    }

    /// Standard output as lines of JSON.
    #[track_caller]
    pub fn lines(self) -> Vec<Value> {
        self.well()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

impl House {
    pub fn new() -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self) -> &Path {
        self.home.path()
    }

    pub fn database(&self) -> PathBuf {
        self.path().join("rooftree.db")
    }

    /// The program, about to be run in this home.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rooftree"));
        command
            .args(arguments)
            .current_dir(self.path())
            .env("ROOFTREE_HOME", self.path());
        command
            .env_remove("ROOFTREE_MODEL")
            .env_remove("ROOFTREE_DEFAULT_MODEL")
            .stdin(Stdio::null());
        // Whoever runs the tests may have keys, which must not be used.
        let ends = ["_API_KEY", "_AUTH_TOKEN", "_BASE_URL", "OLLAMA_HOST"];
        let theirs = std::env::vars().map(|(name, _)| name);
        theirs
            .filter(|name| ends.iter().any(|end| name.ends_with(end)))
            .for_each(|name| {
                command.env_remove(name);
            });
        command
    }

    /// Runs the program.
    pub fn rooftree(&self, arguments: &[&str]) -> Done {
        let output = self.command(arguments).output().unwrap();
        Done {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// `doctor verify` finds nothing wrong.
    #[track_caller]
    pub fn is_sound(&self) {
        let done = self.rooftree(&["doctor", "verify"]);
        assert!(
            done.code == 0 && done.out.contains("0 violations"),
            "{done:?}"
        );
    }

    /// Writes a session into the store.
    pub fn session(&self, name: Option<&str>, write: impl FnOnce(&mut Writer<'_>)) -> Session {
        let waiting = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let store = SqliteStore::open(self.database()).unwrap();
        let mut writer = Writer::open(&store, &waiting, name);
        write(&mut writer);
        let id = writer.finish();
        waiting.block_on(store.session(&id)).unwrap().unwrap()
    }

    /// A session with one question, one tool call and one answer.
    pub fn talk(&self, name: Option<&str>, question: &str, answer: &str) -> Session {
        self.session(name, |writer| {
            writer.asked(question);
            writer.calls("Read", json!({ "file_path": "notes.md" }));
            writer.returned(Outcome::Done, "first line\nsecond line");
            writer.answered(answer);
            writer.ends(RunStatus::Completed);
        })
    }

    /// The lines `export` writes.
    pub fn exported(&self, session: &str) -> Vec<Value> {
        self.rooftree(&["sessions", "export", session]).lines()
    }
}

/// Writes a session's journal as its agent would.
pub struct Writer<'a> {
    store: &'a SqliteStore,
    waiting: &'a tokio::runtime::Runtime,
    id: SessionId,
    claim: Claim,
    head: u64,
    mail: u64,
    run: Option<RunId>,
    call: Option<(CallId, String)>,
    now: Timestamp,
}

impl<'a> Writer<'a> {
    fn open(
        store: &'a SqliteStore,
        waiting: &'a tokio::runtime::Runtime,
        name: Option<&str>,
    ) -> Self {
        let id = SessionId::from_entropy(chance());
        let new = NewSessionRow {
            id: id.clone(),
            agent: "lead".into(),
            name: name.map(str::to_owned),
            model: Some("scripted/talk.toml".into()),
            cwd: "/somewhere".into(),
            parent: None,
            connector_key: None,
            chat: None,
            account: Default::default(),
            audit: None,
            at: DAWN,
        };
        waiting.block_on(store.open(new)).unwrap();
        let until = DAWN.after(Duration::from_secs(60));
        let claim = waiting
            .block_on(store.claim(&id, &Owner::this_process(), DAWN, until))
            .unwrap();
        let ClaimOutcome::Granted(claimed) = claim else {
            panic!("nobody else is there")
        };
        let mut writer = Self {
            store,
            waiting,
            id,
            claim: claimed.claim,
            head: 0,
            mail: 0,
            run: None,
            call: None,
            now: DAWN,
        };
        writer.note(EventBody::SessionOpened {
            agent: "lead".into(),
            name: name.map(str::to_owned),
            forked_from: None,
        });
        writer
    }

    /// Gives the claim back.
    fn finish(self) -> SessionId {
        self.waiting
            .block_on(self.store.release(self.claim))
            .unwrap();
        self.id
    }

    /// Keeps bytes.
    pub fn keeps(&self, bytes: &[u8]) -> rooftree_protocol::BlobId {
        self.waiting
            .block_on(self.store.put_blob(bytes.to_vec()))
            .unwrap()
    }

    /// A user posts a message, and no agent takes it.
    pub fn leaves(&mut self, text: &str) {
        let id = MessageId::from_entropy(chance());
        let key = id.to_string();
        let message = Message::new(id, vec![Part::text(text)], Origin::User, self.now);
        let post = InboxPost {
            session: self.id.clone(),
            lane: Lane::Mail,
            key,
            message,
            capacity: 10,
        };
        self.waiting.block_on(self.store.post(post)).unwrap();
    }

    /// Somebody asks, and a run starts.
    pub fn asked(&mut self, text: &str) {
        self.asked_with(vec![Part::text(text)]);
    }

    /// Somebody asks with attachments.
    pub fn asked_with(&mut self, parts: Vec<Part>) {
        let id = MessageId::from_entropy(chance());
        let message = Message {
            id: id.clone(),
            parts,
            origin: Origin::User,
            outside: false,
            silent: false,
            context: None,
            mandate: None,
            call: None,
            restriction: None,
            revision: 0,
            who: None,
            at: self.now,
        };
        let (session, key) = (self.id.clone(), id.to_string());
        let post = InboxPost {
            session,
            lane: Lane::Mail,
            key,
            message: message.clone(),
            capacity: 10,
        };
        self.mail = self
            .waiting
            .block_on(self.store.post(post))
            .unwrap()
            .position;
        let run = RunId::from_entropy(chance());
        self.run = Some(run.clone());
        let (lane, position) = (Lane::Mail, self.mail);
        let snippet = Some(message.text());
        let started = EventBody::RunStarted {
            mode: RunMode::Main,
            message: id,
            model: "scripted/talk.toml".into(),
            title: message.text(),
            depth: 0,
            parent: None,
            policy: None,
            bounds: None,
            surroundings: None,
        };
        let bodies = vec![
            started,
            EventBody::MessageUser {
                message,
                lane,
                position,
            },
        ];
        self.append(
            bodies,
            AppendBatch {
                taken: vec![(lane, position)],
                run: Some(Some(run)),
                snippet,
                ..AppendBatch::default()
            },
        );
    }

    /// The model calls a tool.
    pub fn calls(&mut self, tool: &str, input: Value) {
        let call = CallId::from_entropy(chance());
        self.call = Some((call.clone(), tool.to_owned()));
        let part = ReplyPart::Call(ToolCall {
            id: call,
            tool: tool.into(),
            input,
        });
        self.note(reply(String::new(), part, StopReason::Calls));
    }

    /// The tool returns.
    pub fn returned(&mut self, outcome: Outcome, text: &str) {
        self.returned_in_full(outcome, text, None);
    }

    /// The tool returns more than the model reads.
    pub fn returned_in_full(
        &mut self,
        outcome: Outcome,
        text: &str,
        full: Option<rooftree_protocol::BlobId>,
    ) {
        let (call, tool) = self.call.take().unwrap();
        self.note(EventBody::ToolCompleted(ToolRecord {
            call,
            tool,
            title: "notes.md".into(),
            outcome,
            content: vec![Part::text(text)],
            duration_ms: 3,
            full,
            files: Vec::new(),
            diff: None,
            task: None,
            inside: None,
            input: None,
            skill: None,
            usage: None,
        }));
    }

    /// The model answers.
    pub fn answered(&mut self, text: &str) {
        let part = ReplyPart::Text { text: text.into() };
        self.note(reply(text.to_owned(), part, StopReason::End));
    }

    /// The run ends.
    pub fn ends(&mut self, status: RunStatus) {
        let end = RunEnd {
            status,
            text: "done".into(),
            turns: 2,
            calls: 1,
            usage: Usage {
                input: 4_000,
                output: 120,
                ..Usage::none()
            },
            duration_ms: 1_250,
            files: Vec::new(),
            explored: Vec::new(),
            findings: Vec::new(),
            task: String::new(),
            tools: Vec::new(),
            steps: Vec::new(),
            delegated: rooftree_protocol::Usage::none(),
            workspace: None,
            verified: None,
            failed_checks: Vec::new(),
            outside: false,
            denials: Vec::new(),
            error: (status == RunStatus::Failed)
                .then(|| rooftree_protocol::Problem::new(ErrorCode::Internal, "it broke")),
        };
        let done = vec![(Lane::Mail, self.mail)];
        self.append(
            vec![EventBody::RunCompleted(end)],
            AppendBatch {
                done,
                run: Some(None),
                ..AppendBatch::default()
            },
        );
        self.run = None;
    }

    fn note(&mut self, body: EventBody) {
        self.append(vec![body], AppendBatch::default());
    }

    fn append(&mut self, bodies: Vec<EventBody>, batch: AppendBatch) {
        let mut events = Vec::new();
        for body in bodies {
            self.head += 1;
            self.now = self.now.after(Duration::from_secs(1));
            events.push(Event {
                v: event::VERSION,
                id: Some(self.head),
                ts: self.now,
                session: self.id.clone(),
                run: self.run.clone(),
                parent_run: None,
                agent: "lead".into(),
                who: None,
                body,
            });
        }
        self.waiting
            .block_on(
                self.store
                    .append(&self.claim, AppendBatch { events, ..batch }),
            )
            .unwrap();
    }
}

fn reply(text: String, part: ReplyPart, stop: StopReason) -> EventBody {
    let model = "scripted/talk.toml".into();
    EventBody::MessageCompleted(ReplyRecord {
        message: None,
        text,
        parts: vec![part],
        model,
        stop,
        usage: Usage::none(),
        request: None,
    })
}

/// Randomness for ids.
fn chance() -> u128 {
    use rooftree_runtime::Clock;
    rooftree_runtime::SystemClock.entropy()
}
