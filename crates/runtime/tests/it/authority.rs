//! Authority in time: what a run may do after it was interrupted, told something, or its rules and definition changed.

mod changes;
mod corpus;
mod messages;
mod recovery;
mod woken;

use std::sync::Arc;

use futures::future::BoxFuture;
use rooftree_protocol::{
    Effect, EventBody, Lane, Message, MessageId, Origin, Part, RunBounds, RunId, SessionId,
    ToolKind, ToolSpec,
    event::{PolicyNote, RunMode},
};
use rooftree_runtime::Clock;
use rooftree_store::{AppendBatch, ClaimOutcome, InboxPost, NewSessionRow, Owner};
use rooftree_testkit::{ProbeTool, TestRuntime};
use rooftree_tools::{Tool, ToolContext, ToolInfo, ToolOutput, Toolset};
use serde_json::{Value, json};

/// Tools with every effect, and one that says how the programs of its agent would be confined.
fn tools() -> Toolset {
    let probes = [
        ProbeTool::open("Look", Effect::ReadOnly),
        ProbeTool::open("Change", Effect::LocalMutation),
        ProbeTool::open("Destroy", Effect::Destructive),
        ProbeTool::open("Act", Effect::RemoteAction),
    ];
    Toolset::new(
        probes
            .into_iter()
            .chain([Arc::new(Walls::new()) as Arc<dyn Tool>]),
    )
}

/// Says how the programs of its agent would be confined.
struct Walls(ToolSpec);

impl Walls {
    fn new() -> Self {
        let input_schema = json!({"type": "object"});
        Self(ToolSpec {
            name: "Walls".into(),
            description: "Says what confines it.".into(),
            input_schema,
        })
    }
}

const INFO: ToolInfo = ToolInfo::at_run_time(ToolKind::Other, Effect::ReadOnly);

impl Tool for Walls {
    fn info(&self) -> &ToolInfo {
        &INFO
    }

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        Ok(input)
    }

    fn run(&self, _input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let confinement = context.sandbox.map(|sandbox| sandbox.confinement);
        Box::pin(async move { ToolOutput::done(serde_json::to_string(&confinement).unwrap()) })
    }
}

/// A session whose run a process has left open that is gone, as its journal tells it.
async fn left_open(
    runtime: &TestRuntime,
    agent: &str,
    policy: Option<PolicyNote>,
    bounds: Option<RunBounds>,
) -> SessionId {
    let store = runtime.store();
    let (id, at) = (
        SessionId::from_entropy(runtime.clock.entropy()),
        runtime.clock.now(),
    );
    let new = NewSessionRow {
        id: id.clone(),
        agent: agent.into(),
        name: None,
        model: None,
        cwd: runtime.path().into(),
        parent: None,
        connector_key: None,
        chat: None,
        account: Default::default(),
        audit: None,
        at,
    };
    store.open(new).await.unwrap();
    let message = Message::new(
        MessageId::from_entropy(runtime.clock.entropy()),
        vec![Part::text("left open")],
        Origin::User,
        at,
    );
    let (lane, key) = (Lane::Mail, message.id.to_string());
    let post = InboxPost {
        session: id.clone(),
        lane,
        key,
        message: message.clone(),
        capacity: 9,
    };
    store.post(post).await.unwrap();
    let gone = Owner {
        pid: u32::MAX,
        ..Owner::this_process()
    };
    let ClaimOutcome::Granted(claimed) =
        store.claim(&id, &gone, at, at.after(LEASE)).await.unwrap()
    else {
        panic!("nobody has it");
    };
    let run = RunId::from_entropy(runtime.clock.entropy());
    let bodies = [
        EventBody::SessionOpened {
            agent: agent.into(),
            name: None,
            forked_from: None,
        },
        EventBody::RunStarted {
            mode: RunMode::Main,
            message: message.id.clone(),
            model: "scripted/story".into(),
            title: "left open".into(),
            depth: 0,
            parent: None,
            policy: policy.map(Box::new),
            bounds: bounds.map(Box::new),
            surroundings: None,
        },
        EventBody::MessageUser {
            message,
            lane,
            position: 1,
        },
    ];
    let events = bodies
        .into_iter()
        .enumerate()
        .map(|(at_number, body)| rooftree_protocol::Event {
            v: rooftree_protocol::event::VERSION,
            id: Some(at_number as u64 + 1),
            ts: at,
            session: id.clone(),
            run: (at_number > 0).then(|| run.clone()),
            parent_run: None,
            agent: agent.into(),
            who: None,
            body,
        });
    let batch = AppendBatch {
        events: events.collect(),
        taken: vec![(lane, 1)],
        run: Some(Some(run.clone())),
        lease: at.after(LEASE),
        ..AppendBatch::default()
    };
    store.append(&claimed.claim, batch).await.unwrap();
    id
}

const LEASE: std::time::Duration = std::time::Duration::from_secs(15);

/// The messages of a kind of notice in a session.
async fn notices(runtime: &TestRuntime, session: &SessionId, wanted: &str) -> Vec<String> {
    let notice = |event: rooftree_protocol::Event| match event.body {
        EventBody::Notice { code, message, .. } if code == wanted => Some(message),
        _ => None,
    };
    runtime
        .events(session)
        .await
        .into_iter()
        .filter_map(notice)
        .collect()
}
