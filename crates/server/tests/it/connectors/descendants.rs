//! What an agent asks, and those it has started, reaches the chat it works for, and is answered there once.

use rooftree_protocol::{
    AgentDefinition, Effect, EventBody, Isolation, PermissionKind, PermissionMode,
};
use rooftree_server::connectors::ButtonChoice;
use rooftree_store::OutboxBody;
use rooftree_testkit::{
    ProbeTool, TestRuntimeBuilder, Toolset,
    scripted::{ScriptEntry, call, say},
};
use serde_json::json;

use super::{chat_scene::ChatScene, fake_platform::direct, requests::button};
use crate::agent_server::open;

/// An agent `helper`, which a chat talks to, and `worker`, which it delegates to.
fn delegating(entries: Vec<ScriptEntry>) -> TestRuntimeBuilder {
    let tools = Toolset::new([ProbeTool::open("Change", Effect::LocalMutation)]);
    let worker = AgentDefinition {
        description: "The worker.".into(),
        isolation: Isolation::None,
        ..AgentDefinition::new("worker")
    };
    TestRuntimeBuilder::new(entries)
        .agent(open("helper"))
        .agent(worker)
        .with_delegation(tools)
        .asking(PermissionMode::Ask)
}

/// What chats were asked: where, and in which words.
async fn prompts(scene: &ChatScene) -> Vec<(String, String)> {
    let rows = scene.outbox().await.into_iter();
    rows.filter_map(|row| match row.post.body {
        OutboxBody::Inquiry { text, .. } => Some((row.post.target.to_string(), text)),
        _ => None,
    })
    .collect()
}

#[tokio::test]
async fn a_request_of_a_sub_agent_is_asked_in_the_chat_and_answered_once() {
    for is_background in [false, true] {
        let task =
            json!({"subagent_type": "worker", "prompt": "go", "run_in_background": is_background});
        let scene = ChatScene::start(delegating(vec![
            say("").agent("helper").calls([call("Task", task)]),
            say("All done.").agent("helper").times(3),
            say("")
                .agent("worker")
                .calls([call("Change", json!({"say": "x"}))]),
            say("Changed.").agent("worker"),
        ]))
        .await;
        scene.pair("7", "owner", true).await;
        scene.platform.deliver(direct("1", "7", "have it changed"));
        let inquiry = scene.asked().await;
        assert_eq!(inquiry.agent, "worker");
        let told = prompts(&scene).await;
        let [(target, text)] = told.as_slice() else {
            panic!("{told:?}")
        };
        assert_eq!(target, "home:7");
        assert!(
            text.contains("**worker** wants to use **Change**"),
            "{text}"
        );
        let yes = button(&inquiry, ButtonChoice::Allow);
        let said = scene.pressed("prompt", "2", ("7", &yes)).await;
        assert_eq!(said, "Allowed.");
        let again = scene.pressed("prompt", "3", ("7", &yes)).await;
        assert!(again.contains("Not counted"), "{again}");
        scene.hears("All done.").await;
        let events = scene.runtime.events(&inquiry.session).await;
        let resolved = events
            .iter()
            .filter(|event| event.body.name() == "permission.resolved");
        assert_eq!(resolved.count(), 1, "background: {is_background}");
    }
}

#[tokio::test]
async fn a_request_to_start_many_agents_is_asked_in_the_chat_and_answered_once() {
    let tasks = (0..9).map(|number| {
        let prompt = format!("part {number}");
        call("Task", json!({"subagent_type": "worker", "prompt": prompt}))
    });
    let scene = ChatScene::start(delegating(vec![
        say("").agent("helper").calls(tasks),
        say("All done.").agent("helper"),
        say("ok").agent("worker").times(99),
    ]))
    .await;
    scene.pair("7", "owner", true).await;
    scene.platform.deliver(direct("1", "7", "split it up"));
    let inquiry = scene.asked().await;
    assert!(
        matches!(&inquiry.asked, EventBody::PermissionRequested { kind, .. } if *kind != PermissionKind::Call),
        "{inquiry:?}"
    );
    let told = prompts(&scene).await;
    assert!(told[0].1.contains("wants to start agents"), "{told:?}");
    let no = button(&inquiry, ButtonChoice::Deny);
    assert_eq!(scene.pressed("prompt", "2", ("7", &no)).await, "Denied.");
    let yes = button(&inquiry, ButtonChoice::Allow);
    let late = scene.pressed("prompt", "3", ("7", &yes)).await;
    assert!(late.contains("Not counted"), "{late}");
    scene.hears("All done.").await;
    let sessions = scene.sessions().await;
    assert_eq!(sessions.len(), 1, "no agent was started");
}

#[tokio::test]
async fn a_question_is_asked_in_the_chat_and_answered_once() {
    let question =
        json!({"question": "Which colour?", "header": "colour", "options": ["red", "blue"]});
    let mut plan = delegating(vec![
        say("")
            .agent("helper")
            .calls([call("AskUserQuestion", question)]),
        say("It is {{ results[0].text }}").agent("helper"),
    ]);
    plan.tools = rooftree_runtime::people_tools::with_tools(&plan.tools);
    let scene = ChatScene::start(plan).await;
    scene.pair("7", "owner", true).await;
    scene.platform.deliver(direct("1", "7", "paint it"));
    let inquiry = scene.asked().await;
    let told = prompts(&scene).await;
    let [(target, text)] = told.as_slice() else {
        panic!("{told:?}")
    };
    assert_eq!(target, "home:7");
    assert!(text.contains("**helper** asks"), "{text}");
    let blue = button(&inquiry, ButtonChoice::Option(1));
    let said = scene.pressed("prompt", "2", ("7", &blue)).await;
    assert_eq!(said, "Answered: blue");
    let red = button(&inquiry, ButtonChoice::Option(0));
    let late = scene.pressed("prompt", "3", ("7", &red)).await;
    assert!(late.contains("Not counted"), "{late}");
    let (_, answer) = scene.hears("It is").await;
    assert!(
        answer.contains("blue") && !answer.contains("red"),
        "{answer}"
    );
}
