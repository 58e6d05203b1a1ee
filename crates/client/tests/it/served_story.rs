//! A runtime with a server before it, and a story with a child, a permission and a reply in many pieces.

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc, time::Duration};

use rooftree_client::{
    EmbeddedClient, RemoteClient, RemoteOptions, RetryPauses, RuntimeClient, Watch,
};
use rooftree_protocol::{
    AccessScope, AgentDefinition, Answer, AuthorizedCaller, Command, Effect, Event, EventBody,
    PermissionMode, PermissionScope, SessionId,
};
use rooftree_runtime::NewAccessToken;
use rooftree_server::{ApiOptions, CallbackOutcome, EmptyCatalog, HttpServer, HttpServerOptions};
use rooftree_testkit::{
    ProbeTool, TestRuntime, TestRuntimeBuilder, Toolset, owner,
    scripted::{ScriptEntry, call, say},
};
use rooftree_view::{RunTreeView, SessionStart, StreamCursor, StreamFrame, StreamRequest};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// How long a test may take before it is called stuck.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A runtime with a server before it.
pub struct Served {
    pub runtime: TestRuntime,
    pub address: SocketAddr,
    pub token: String,
    /// Ends the server.
    pub stop: CancellationToken,
}

/// A lead that looks often, asks a helper that needs a permission, and answers in many pieces.
pub fn entries() -> Vec<ScriptEntry> {
    let look = |at: String| call("Look", json!({"say": at}));
    let mut entries: Vec<ScriptEntry> = (0..6)
        .map(|number| {
            say(format!("Step {number}."))
                .agent("lead")
                .calls(["a", "b", "c"].map(|at| look(format!("{at}{number}"))))
        })
        .collect();
    let ask = call(
        "Task",
        json!({"subagent_type": "helper", "prompt": "change it"}),
    );
    entries.push(say("Now the helper.").agent("lead").calls([ask]));
    entries.push(say(long_text()).chunk(7).agent("lead"));
    entries.push(
        say("I change it.")
            .agent("helper")
            .calls([call("Change", json!({"say": "x"}))]),
    );
    entries.push(say("Changed: ä€😀.").chunk(3).agent("helper"));
    entries
}

/// The last reply.
pub fn long_text() -> String {
    (0..60)
        .map(|number| format!("Line {number}: ä€😀.\n"))
        .collect()
}

pub fn plan(entries: Vec<ScriptEntry>) -> TestRuntimeBuilder {
    let tools = Toolset::new([
        ProbeTool::open("Look", Effect::ReadOnly),
        ProbeTool::open("Change", Effect::LocalMutation),
    ]);
    TestRuntimeBuilder::new(entries)
        .with_delegation(tools)
        .asking(PermissionMode::Ask)
        .agent(AgentDefinition::new("helper"))
}

impl Served {
    pub async fn start(plan: TestRuntimeBuilder) -> Self {
        let definitions = plan.definitions.clone();
        let runtime = plan.build();
        let deliver = Arc::new(|_| CallbackOutcome::Taken);
        let server = HttpServer::listen(HttpServerOptions {
            address: "127.0.0.1:0".parse().unwrap(),
            token: None,
            hosts: Vec::new(),
            public_url: None,
            deliver,
        });
        let server = server.await.unwrap().with_api(ApiOptions {
            handle: runtime.handle.clone(),
            definitions,
            clock: runtime.clock.clone(),
            cwd: runtime.path().into(),
            catalog: Arc::new(EmptyCatalog),
        });
        let new = NewAccessToken {
            name: "test".into(),
            person: None,
            scopes: [AccessScope::Chat, AccessScope::Approve]
                .into_iter()
                .collect(),
            agents: None,
            expires_at: None,
        };
        let maker = AuthorizedCaller {
            principal: owner(),
            scopes: [AccessScope::Admin].into_iter().collect(),
        };
        let token = runtime.handle.create_token(&maker, new).await.unwrap();
        let (address, stop) = (server.address(), CancellationToken::new());
        tokio::spawn(server.run(stop.clone()));
        Self {
            runtime,
            address,
            token: token.secret,
            stop,
        }
    }

    pub fn remote(&self, address: SocketAddr) -> RemoteClient {
        RemoteClient::new(RemoteOptions {
            url: format!("http://{address}"),
            token: Some(self.token.clone()),
            socket: None,
            pauses: RetryPauses {
                first: Duration::from_millis(2),
                longest: Duration::from_millis(20),
            },
        })
        .unwrap()
    }

    pub fn embedded(&self) -> EmbeddedClient {
        EmbeddedClient::new(
            self.runtime.handle.clone(),
            self.runtime.clock.clone(),
            owner(),
        )
    }

    /// Plays the story to its end.
    pub async fn played(&self) -> SessionId {
        let session = self.runtime.post("go").await;
        let watch = self.embedded().watch(whole_tree(&session));
        allow_all(&self.embedded(), watch).await;
        session
    }
}

/// The session and all below it, from the beginning.
pub fn whole_tree(session: &SessionId) -> StreamRequest {
    let cursor = StreamCursor {
        after: Some(0),
        tree: true,
        ..StreamCursor::default()
    };
    StreamRequest {
        sessions: BTreeMap::from([(session.clone(), SessionStart::Detailed(cursor))]),
        ..StreamRequest::default()
    }
}

/// Everything that a watch received.
#[derive(Default)]
pub struct Received {
    pub frames: Vec<StreamFrame>,
    pub view: RunTreeView,
}

impl Received {
    /// Durable events, by session.
    pub fn durable(&self) -> BTreeMap<SessionId, Vec<Event>> {
        let mut all: BTreeMap<SessionId, Vec<Event>> = BTreeMap::new();
        for frame in &self.frames {
            if let StreamFrame::Event(event) = frame
                && event.id.is_some()
            {
                all.entry(event.session.clone())
                    .or_default()
                    .push(Event::clone(event));
            }
        }
        all
    }

    pub fn take(&mut self, frame: StreamFrame) {
        match &frame {
            StreamFrame::Event(event) => {
                self.view.apply(event);
            }
            StreamFrame::Snapshot(snapshot) => self.view.apply_snapshot(snapshot),
            StreamFrame::Meta(meta) => self.view.apply_meta(meta),
            _ => {}
        }
        for run in self.view.runs() {
            let streamed = &run.reply.streamed;
            assert!(
                is_beginning_of_a_reply(streamed),
                "{streamed:?} after {frame:?}"
            );
        }
        self.frames.push(frame);
    }
}

/// What is shown of a reply that is coming is never anything else than its beginning.
fn is_beginning_of_a_reply(text: &str) -> bool {
    let replies = [
        "Step ",
        "Now the helper.",
        "I change it.",
        "Changed: ä€😀.",
        "Again.",
        "Hello.",
    ];
    let is_step = text.starts_with("Step ") && text.len() <= 7;
    is_step || long_text().starts_with(text) || replies.iter().any(|reply| reply.starts_with(text))
}

/// Whether a frame is the end of the lead's run.
pub fn is_end(frame: &StreamFrame) -> bool {
    matches!(frame, StreamFrame::Event(event)
        if event.agent == "lead" && matches!(event.body, EventBody::RunCompleted(_)))
}

/// Reads until the lead's run has ended.
pub async fn until_end(watch: &mut Watch) -> Received {
    let mut received = Received::default();
    let read = async {
        loop {
            let frame = watch.next_frame().await.unwrap().unwrap();
            let is_last = is_end(&frame);
            received.take(frame);
            if is_last {
                break;
            }
        }
    };
    let read = tokio::time::timeout(PATIENCE, read).await;
    assert!(read.is_ok(), "the end of the run was never received");
    received
}

/// Reads until the lead's run has ended, and allows whatever is asked.
pub async fn allow_all(client: &dyn RuntimeClient, mut watch: Watch) -> Received {
    let mut received = Received::default();
    let read = async {
        loop {
            let frame = watch.next_frame().await.unwrap().unwrap();
            if let StreamFrame::Event(event) = &frame
                && let EventBody::PermissionRequested { id, .. } = &event.body
            {
                let answer = Command::Permit {
                    session: event.session.clone(),
                    permission: id.clone(),
                    answer: Answer::allow(PermissionScope::Once),
                };
                client.send(answer).await.unwrap();
            }
            let is_last = is_end(&frame);
            received.take(frame);
            if is_last {
                break;
            }
        }
    };
    let read = tokio::time::timeout(PATIENCE, read).await;
    assert!(read.is_ok(), "the end of the run was never received");
    received
}
