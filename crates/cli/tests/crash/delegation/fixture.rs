//! A lead that asks others in every mode, the server that works for it, and what the disk shows of them.

use std::fs;

use rooftree_protocol::{
    CallId, Event, EventBody, Lane, Message, MessageId, Origin, Part, RunId, Session, SessionId,
    ToolCall,
};
use rooftree_runtime::{Clock, SystemClock};
use rooftree_store::{
    Error, InboxPost, SessionFilter, SqliteStore, TaskRow, prelude::*, verify::VerifyReport,
};

use crate::{
    fixture::{QUICK, Scene, until, wait},
    worker::{Worker, program},
};

/// The lead asks one, three at once, one in background, or one in background whose result it then
/// waits for. Whoever is asked leaves a line and says so.
const SCRIPT: &str = r#"
[[reply]]
on = "task [0-9]+ alone"
[[reply.call]]
tool = "Task"
input = { subagent_type = "lead", isolation = "none", prompt = 'dig {{ user.text | find("task ([0-9]+)") }}a' }
[[reply]]
on = "task [0-9]+ alone"
text = "It is dug."

[[reply]]
on = "task [0-9]+ together"
[[reply.call]]
tool = "Task"
input = { subagent_type = "lead", isolation = "none", prompt = 'dig {{ user.text | find("task ([0-9]+)") }}a' }
[[reply.call]]
tool = "Task"
input = { subagent_type = "lead", isolation = "none", prompt = 'dig {{ user.text | find("task ([0-9]+)") }}b' }
[[reply.call]]
tool = "Task"
input = { subagent_type = "lead", isolation = "none", prompt = 'dig {{ user.text | find("task ([0-9]+)") }}c' }
[[reply]]
on = "task [0-9]+ together"
text = "They are dug."

[[reply]]
on = "task [0-9]+ behind"
[[reply.call]]
tool = "Task"
input = { subagent_type = "lead", isolation = "none", run_in_background = true, prompt = 'dig {{ user.text | find("task ([0-9]+)") }}a' }
[[reply]]
on = "task [0-9]+ behind"
text = "Somebody digs."

[[reply]]
on = "task [0-9]+ fetched"
[[reply.call]]
tool = "Task"
input = { subagent_type = "lead", isolation = "none", run_in_background = true, prompt = 'dig {{ user.text | find("task ([0-9]+)") }}a' }
[[reply]]
on = "task [0-9]+ fetched"
[[reply.call]]
tool = "TaskOutput"
input = { task_id = '{{ results[0].text | find("run_[a-z0-9]+") }}' }
[[reply]]
on = "task [0-9]+ fetched"
text = "I have fetched it."

[[reply]]
on = "child_result"
text = "I have heard of it."

[[reply]]
on = "dig [0-9]+[a-c]"
delay = "15ms"
[[reply.call]]
tool = "Bash"
input = { command = 'echo "{{ user.text | find("dig ([0-9]+[a-c])") }} $$" >> effects; sleep 0.02' }
[[reply]]
on = "dig [0-9]+[a-c]"
delay = "15ms"
text = 'Hole {{ user.text | find("dig ([0-9]+[a-c])") }} is {{ results[0].outcome }}.'
"#;

/// How the lead asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    Foreground,
    Parallel,
    Background,
    /// In background, and then it waits for the result after all.
    Fetched,
}

impl Mode {
    pub const ALL: [Self; 4] = [
        Self::Foreground,
        Self::Parallel,
        Self::Background,
        Self::Fetched,
    ];

    /// The word by which the lead knows it.
    fn word(self) -> &'static str {
        match self {
            Self::Foreground => "alone",
            Self::Parallel => "together",
            Self::Background => "behind",
            Self::Fetched => "fetched",
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Foreground => "foreground",
            Self::Parallel => "parallel",
            Self::Background => "background",
            Self::Fetched => "fetched",
        }
    }
}

/// A lead and all that it has asked.
pub struct House {
    pub scene: Scene,
}

/// A call that asks somebody, and in which mode.
pub struct Asked {
    pub call: ToolCall,
    pub mode: Mode,
}

impl Asked {
    /// The delegated run.
    pub fn task(&self) -> RunId {
        RunId::derived_from(self.call.id.as_str())
    }

    /// The session it runs in.
    pub fn child(&self) -> SessionId {
        SessionId::derived_from(self.call.id.as_str())
    }
}

impl House {
    pub fn new() -> Self {
        let scene = Scene::new(&QUICK);
        scene.write_script(SCRIPT);
        fs::write(
            scene.home().join("config.toml"),
            "[permission]\nmode = 'bypass'\n",
        )
        .unwrap();
        Self { scene }
    }

    /// Gives the lead something to do. No server may be at work: it would not look.
    pub fn post(&self, task: u32, mode: Mode) {
        let text = format!("Please do task {task} {}.", mode.word());
        let id = MessageId::from_entropy(SystemClock.entropy());
        let message = Message::new(id, vec![Part::text(text)], Origin::User, SystemClock.now());
        let (session, key) = (self.scene.session.clone(), format!("task-{task}"));
        let store = SqliteStore::open(self.scene.database()).unwrap();
        wait(store.post(InboxPost {
            session,
            lane: Lane::Mail,
            key,
            message,
            capacity: 1_000,
        }))
        .unwrap();
    }

    /// The real server, which goes on with everything that is unfinished.
    pub fn serve(&self, orders: &[(&str, &str)]) -> Worker {
        let mut command = program(&self.scene, &["serve", "--port", "0"]);
        command.envs(orders.iter().copied());
        Worker::spawn(command)
    }

    /// Lets a server work until nothing is left to do.
    pub fn finish(&self, orders: &[(&str, &str)]) {
        let server = self.serve(orders);
        until("nothing is unfinished", || !self.is_unfinished());
        assert!(server.kill().was_killed(), "it stays until it is ended");
    }

    /// Whether anybody has something left to do.
    pub fn is_unfinished(&self) -> bool {
        !wait(self.store().unfinished()).unwrap().is_empty()
    }

    /// Looks without writing, so that the next server still finds the log a killed one left.
    pub fn store(&self) -> SqliteStore {
        SqliteStore::open_read_only(self.scene.database()).unwrap()
    }

    /// A session's journal; empty if there is no such session yet.
    pub fn events(&self, session: &SessionId) -> Vec<Event> {
        match wait(self.store().events(session, 0, 1_000_000)) {
            Err(Error::NoSession(_)) => Vec::new(),
            events => events.unwrap(),
        }
    }

    pub fn children(&self) -> Vec<Session> {
        let filter = SessionFilter {
            parent: Some(self.scene.session.clone()),
            ..SessionFilter::default()
        };
        wait(self.store().sessions(filter)).unwrap()
    }

    pub fn tasks(&self) -> Vec<TaskRow> {
        wait(
            self.store()
                .tasks(rooftree_store::TaskFilter::of(&self.scene.session)),
        )
        .unwrap()
    }

    pub fn report(&self) -> VerifyReport {
        wait(self.store().verify()).unwrap()
    }
}

/// The calls of a lead that ask somebody, in order.
pub fn asked(lead: &[Event]) -> Vec<Asked> {
    let mut mode = Mode::Foreground;
    let mut asked = Vec::new();
    for event in lead {
        match &event.body {
            EventBody::MessageUser { message, .. } if message.origin == Origin::User => {
                let text = message.text();
                let is_meant = |mode: &Mode| text.contains(mode.word());
                mode = Mode::ALL.into_iter().find(is_meant).unwrap();
            }
            EventBody::MessageCompleted(reply) => {
                let asking = reply.calls().filter(|call| call.tool == "Task");
                asked.extend(asking.map(|call| Asked {
                    call: call.clone(),
                    mode,
                }));
            }
            _ => {}
        }
    }
    asked
}

/// How often a lead's conversation tells how this task ended: by a call's result, or by a message.
pub fn arrivals(lead: &[Event], task: &RunId) -> usize {
    let tells = |event: &&Event| match &event.body {
        EventBody::ToolCompleted(record) => record
            .task
            .as_ref()
            .is_some_and(|note| note.task == *task && note.status.is_some()),
        EventBody::MessageUser { message, .. } => {
            matches!(&message.origin, Origin::Task { task: told, .. } if told == task)
        }
        _ => false,
    };
    lead.iter().filter(tells).count()
}

/// The calls of a lead that have no result.
pub fn open_calls(lead: &[Event]) -> Vec<CallId> {
    let mut open = Vec::new();
    for event in lead {
        match &event.body {
            EventBody::MessageCompleted(reply) => {
                open.extend(reply.calls().map(|call| call.id.clone()))
            }
            EventBody::ToolCompleted(record) => open.retain(|call| *call != record.call),
            _ => {}
        }
    }
    open
}
