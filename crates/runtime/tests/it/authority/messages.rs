//! A message does not wake another session's interrupted run in a foreign process.

use rooftree_protocol::{
    AgentDefinition, Command, Confinement, PermissionMode, RunBounds, event::PolicyNote,
};
use rooftree_providers::scripted::{ScriptedCall, call, say};
use rooftree_testkit::TestRuntimeBuilder;
use rooftree_tools::Policy;
use serde_json::json;

use super::{left_open, tools};

pub(super) fn bounds(mode: PermissionMode) -> RunBounds {
    RunBounds {
        mode,
        sandbox: Confinement::default(),
        ..RunBounds::unrecorded()
    }
}

/// A lead that makes one call, and a scout that would change something.
pub(super) fn plan(calls: ScriptedCall) -> TestRuntimeBuilder {
    let mut plan = TestRuntimeBuilder::new([
        say("").agent("lead").calls([calls]),
        say("{{ results[0].text }}").agent("lead"),
        say("")
            .agent("scout")
            .calls([call("Change", json!({"say": "changed"}))]),
        say("worked").agent("scout"),
    ])
    .with_delegation(tools())
    .agent(AgentDefinition::new("scout"));
    plan.rights.policy = Policy {
        mode: PermissionMode::Bypass,
        ..Policy::default()
    };
    plan
}

#[tokio::test]
async fn r2_d1_a_message_leaves_an_interrupted_run_alone_and_its_sender_is_told() {
    let runtime = plan(call(
        "send_agent_message",
        json!({"to": "scout", "text": "news"}),
    ))
    .build();
    let asking = PolicyNote {
        mode: PermissionMode::Ask,
        ..PolicyNote::default()
    };
    let scout = left_open(
        &runtime,
        "scout",
        Some(asking),
        Some(bounds(PermissionMode::Ask)),
    )
    .await;
    let lead = runtime.post("tell it").await;
    let said = runtime.wait_for_run(&lead).await.text;
    assert!(
        said.starts_with("System message sent.") && said.contains("It is queued"),
        "{said}"
    );
    assert_eq!(
        runtime.events(&scout).await.len(),
        3,
        "its run stays as it is"
    );
    runtime
        .command(Command::Resume {
            session: scout.clone(),
        })
        .await;
    runtime.wait_for_nth_run(&scout, 2).await;
    let story = runtime.transcript(&scout).await;
    assert!(
        story.contains("tool     Change denied"),
        "in the mode it began with: {story}"
    );
    assert!(story.contains("news"), "{story}");
    runtime.verify().await;
}

#[tokio::test]
async fn r2_d1_however_often_it_is_told_something_an_interrupted_run_stays_as_it_is() {
    let runtime = plan(call(
        "send_agent_message",
        json!({"to": "scout", "text": "news"}),
    ))
    .build();
    let scout = left_open(&runtime, "scout", None, None).await;
    let lead = runtime.post("tell it").await;
    runtime.wait_for_run(&lead).await;
    runtime.post_to(&lead, "again").await;
    runtime.wait_for_nth_run(&lead, 2).await;
    assert_eq!(runtime.events(&scout).await.len(), 3);
}

#[tokio::test]
async fn r2_d1_asking_a_peer_whose_run_was_interrupted_is_answered_with_queued() {
    let runtime = plan(call(
        "agents_message",
        json!({"agentId": "scout", "content": "x"}),
    ))
    .build();
    let scout = left_open(&runtime, "scout", None, None).await;
    let lead = runtime.post("ask it").await;
    let said: serde_json::Value =
        serde_json::from_str(&runtime.wait_for_run(&lead).await.text).unwrap();
    assert_eq!(said["status"], "queued", "{said}");
    assert_eq!(runtime.events(&scout).await.len(), 3);
}

#[tokio::test]
async fn r2_d1_a_server_takes_the_message_and_the_run_within_its_bounds() {
    let runtime = plan(call(
        "send_agent_message",
        json!({"to": "scout", "text": "news"}),
    ))
    .build();
    let planning = PolicyNote {
        mode: PermissionMode::Plan,
        ..PolicyNote::default()
    };
    let scout = left_open(
        &runtime,
        "scout",
        Some(planning),
        Some(bounds(PermissionMode::Plan)),
    )
    .await;
    runtime.recover().await;
    runtime.wait_for_run(&scout).await;
    let lead = runtime.post("tell it").await;
    let said = runtime.wait_for_run(&lead).await.text;
    assert!(!said.contains("queued"), "{said}");
    runtime.wait_for_nth_run(&scout, 2).await;
    assert!(
        runtime
            .transcript(&scout)
            .await
            .contains("tool     Change denied: [denied] plan mode only looks")
    );
}
