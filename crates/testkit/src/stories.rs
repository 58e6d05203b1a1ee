//! Stories of agents at work, played by the real runtime with a scripted model, for clients that fold their events.

mod interruptions;
pub mod random;

use std::{collections::BTreeMap, time::Duration};

use futures::future::{FutureExt, LocalBoxFuture};
use rooftree_protocol::{
    AgentDefinition, Answer, Command, Effect, EventBody, PermissionMode, PermissionScope,
    QuestionReply, SessionId,
};
use rooftree_runtime::{delegation, people_tools};
use rooftree_tools::Toolset;
use serde_json::{Value, json};

use self::interruptions::{
    cancelled, cleared, compacted, failed, rate_limited, recovered, refuted, retried, steered,
    todos, truncated,
};
use crate::{
    ProbeTool, TestRuntime, TestRuntimeBuilder, recorded_story,
    scripted::{ScriptEntry, ScriptedCall, call, say},
};

/// A story: its name, and how it is played. The result is its events as JSON lines.
pub struct RecordedStory {
    /// Its name, which is that of its file.
    pub name: &'static str,
    /// Plays it.
    pub play: fn() -> LocalBoxFuture<'static, String>,
}

macro_rules! stories {
    ($($name:ident),* $(,)?) => {
        /// All stories.
        pub const STORIES: &[RecordedStory] = &[
            $(RecordedStory { name: stringify!($name), play: || $name().boxed_local() }),*
        ];
    };
}

stories![
    foreground,
    parallel,
    background,
    nested,
    fork,
    permission,
    question,
    cancelled,
    failed,
    truncated,
    cleared,
    compacted,
    recovered,
    rate_limited,
    retried,
    refuted,
    todos,
    steered,
];

/// A reply with usage that does not depend on the machine.
fn reply(agent: &str, text: &str) -> ScriptEntry {
    say(text).agent(agent).usage(120, 30).cost(0.01)
}

fn calling(agent: &str, text: &str, calls: impl IntoIterator<Item = ScriptedCall>) -> ScriptEntry {
    reply(agent, text).calls(calls)
}

fn look(what: &str) -> ScriptedCall {
    call("Look", json!({ "say": what }))
}

fn task(agent: &str, prompt: &str, more: Value) -> ScriptedCall {
    let mut input = json!({"subagent_type": agent, "prompt": prompt});
    if let (Value::Object(input), Value::Object(more)) = (&mut input, more) {
        input.extend(more);
    }
    call("Task", input)
}

fn tools() -> Toolset {
    Toolset::new([
        ProbeTool::open("Look", Effect::ReadOnly),
        ProbeTool::open("Change", Effect::LocalMutation),
    ])
}

fn plan(tools: &Toolset, entries: impl IntoIterator<Item = ScriptEntry>) -> TestRuntimeBuilder {
    let mut plan = TestRuntimeBuilder::new(entries)
        .agent(AgentDefinition::new("helper"))
        .agent(AgentDefinition::new("scout"));
    plan.tools = people_tools::with_tools(&delegation::tools::with_tools(tools));
    plan.limits.depth = Some(2);
    plan
}

async fn played(house: TestRuntime, session: SessionId) -> String {
    house.wait_for_run(&session).await;
    recorded_story::record(&house, &session).await
}

async fn foreground() -> String {
    let entries = [
        calling("lead", "Let me ask.", [task("helper", "dig", json!({}))]),
        reply("lead", "The helper found gold."),
        calling("helper", "", [look("the hole")]),
        reply("helper", "gold"),
    ];
    let house = plan(&tools(), entries).build();
    let session = house.post("What is in the hole?").await;
    played(house, session).await
}

async fn parallel() -> String {
    let (wait, gate) = ProbeTool::gated("Wait", Effect::ReadOnly);
    let tools = Toolset::new([wait, ProbeTool::open("Look", Effect::ReadOnly)]);
    let both = [
        task("helper", "dig", json!({})),
        task("scout", "run ahead", json!({})),
    ];
    let entries = [
        calling("lead", "Both at once.", both),
        reply("lead", "Both are back."),
        calling("helper", "", [look("the hole")]),
        reply("helper", "gold"),
        calling("scout", "", [call("Wait", json!({"say": "for dawn"}))]),
        reply("scout", "the way is clear"),
    ];
    let house = plan(&tools, entries).build();
    let session = house.post("Dig and look ahead").await;
    house.wait_for_event(&session, "tool.completed").await;
    while gate.started() < 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    house.clock.advance(Duration::from_secs(3));
    gate.open(1);
    played(house, session).await
}

async fn background() -> String {
    let (wait, gate) = ProbeTool::gated("Wait", Effect::ReadOnly);
    let beside = task("helper", "dig", json!({"run_in_background": true}));
    let entries = [
        calling("lead", "", [beside]),
        reply("lead", "Meanwhile, something else."),
        reply("lead", "The helper found gold.").matching("child_result"),
        calling("helper", "", [call("Wait", json!({"say": "long"}))]),
        reply("helper", "gold"),
    ];
    let house = plan(&Toolset::new([wait]), entries).build();
    let session = house.post("Dig in the background").await;
    house.wait_for_run(&session).await;
    while gate.started() < 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    house.clock.advance(Duration::from_secs(90));
    gate.open(1);
    house.wait_for_nth_run(&session, 2).await;
    recorded_story::record(&house, &session).await
}

async fn nested() -> String {
    let entries = [
        calling("lead", "", [task("helper", "dig", json!({}))]),
        reply("lead", "Gold, and the way is clear."),
        calling("helper", "", [task("scout", "run ahead", json!({}))]),
        reply("helper", "gold"),
        reply("scout", "the way is clear"),
    ];
    let house = plan(&tools(), entries).build();
    let session = house.post("Dig").await;
    played(house, session).await
}

async fn fork() -> String {
    let alone = call(
        "InvokeAgent",
        json!({"agent_name": "fork", "prompt": "go on alone"}),
    );
    let entries = [
        calling("lead", "", [look("the secret is 42")]),
        calling("lead", "", [alone]),
        reply("lead", "It knows."),
        reply("lead", "I know: 42").matching("^go on alone"),
    ];
    let house = plan(&tools(), entries).build();
    let session = house.post("Find the secret").await;
    played(house, session).await
}

async fn answered(house: &TestRuntime, session: &SessionId, nth: usize, answer: Answer) {
    let seen = std::cell::Cell::new(0);
    let asked = house.wait_until(session, "a permission request", |event| {
        seen.set(seen.get() + usize::from(event.body.name() == "permission.requested"));
        seen.get() == nth
    });
    if let EventBody::PermissionRequested { id, .. } = &asked.await.body {
        let (session, permission) = (session.clone(), id.clone());
        house.clock.advance(Duration::from_secs(5));
        let permit = Command::Permit {
            session,
            permission,
            answer,
        };
        house.command(permit).await;
    }
}

async fn permission() -> String {
    let change = |what: &str| call("Change", json!({ "say": what }));
    let entries = [
        calling("lead", "", [task("helper", "change both", json!({}))]),
        reply("lead", "One of two."),
        calling("helper", "", [change("a.txt")]),
        calling("helper", "", [change("b.txt")]),
        reply("helper", "a.txt is changed"),
    ];
    let mode = PermissionMode::Ask;
    let house = plan(&tools(), entries).asking(mode).build();
    let session = house.post("Change a.txt and b.txt").await;
    let started = house.wait_for_event(&session, "tool.started").await;
    let EventBody::ToolStarted { call, .. } = &started.body else {
        panic!("only tool.started is waited for")
    };
    let child = SessionId::derived_from(call.as_str());
    while house.children(&session).await.is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    answered(&house, &child, 1, Answer::allow(PermissionScope::Once)).await;
    let no = Answer::deny(Some("not that one".into()));
    answered(&house, &child, 2, no).await;
    played(house, session).await
}

async fn question() -> String {
    let input =
        json!({"question": "Which colour?", "header": "colour", "options": ["red", "blue"]});
    let entries = [
        calling("lead", "", [call("AskUserQuestion", input)]),
        reply("lead", "Blue it is."),
    ];
    let house = plan(&tools(), entries).asking(PermissionMode::Ask).build();
    let session = house.post("Paint it").await;
    let asked = house.wait_for_event(&session, "question.requested").await;
    if let EventBody::QuestionRequested { id, .. } = &asked.body {
        let answers = BTreeMap::from([("colour".to_owned(), vec!["blue".to_owned()])]);
        let reply = Command::Reply {
            question: id.clone(),
            reply: QuestionReply::Answered { answers },
        };
        house.clock.advance(Duration::from_secs(20));
        house.command(reply).await;
    }
    played(house, session).await
}
