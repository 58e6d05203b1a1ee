//! Calls from inside that are cut off: by a crash, by a person, by the end of their command.

use std::sync::Arc;

use rooftree_protocol::{Command, Effect, RunStatus, definition::ToolExposure};
use rooftree_testkit::{ProbeTool, TestRuntime, TestRuntimeBuilder, probe_tool::ProbeGate};
use rooftree_tools::{CallSocketEnv, Toolset};
use serde_json::json;
use tokio::sync::Notify;

use super::{
    plan,
    shell::{Shell, called},
};

/// A plan whose command makes a call that is held.
fn held(effect: Effect) -> (TestRuntimeBuilder, ProbeGate) {
    let shell =
        Shell::new(
            |way: CallSocketEnv| async move { called(&way, "Held", json!({"say": "x"})).await },
        );
    let (probe, keeper) = ProbeTool::gated("Held", effect);
    let mut plan = plan(shell, ToolExposure::Skills);
    plan.tools = Toolset::new(plan.tools.iter().cloned().chain([probe]));
    (plan, keeper)
}

async fn under_way(runtime: &TestRuntime) -> rooftree_protocol::SessionId {
    let session = runtime.post_as("clerk", "go").await;
    runtime
        .wait_until(&session, "the call from inside", |event| {
            matches!(&event.body, rooftree_protocol::EventBody::ToolStarted { tool, .. } if tool == "Held")
        })
        .await;
    session
}

#[tokio::test]
async fn after_a_crash_both_calls_say_that_nobody_knows_and_neither_is_made_again() {
    for effect in [Effect::ReadOnly, Effect::LocalMutation] {
        let (before, _keeper) = held(effect);
        let runtime = before.build();
        let session = under_way(&runtime).await;
        let (after, keeper) = held(effect);
        let runtime = runtime.crash(after).await;
        runtime.recover().await;
        assert_eq!(
            runtime.wait_for_run(&session).await.status,
            RunStatus::Completed
        );
        let story = runtime.transcript(&session).await;
        assert_eq!(
            story
                .matches("tool     Held unknown: unknown: interrupted")
                .count(),
            1,
            "{story}"
        );
        assert_eq!(
            story
                .matches("tool     Bash unknown: unknown: interrupted")
                .count(),
            1,
            "{story}"
        );
        assert_eq!(keeper.started(), 0, "it was made again");
        runtime.verify().await;
    }
}

#[tokio::test]
async fn a_cancelled_run_stops_the_calls_of_its_commands() {
    let (plan, _keeper) = held(Effect::LocalMutation);
    let runtime = plan.build();
    let session = under_way(&runtime).await;
    runtime
        .command(Command::Cancel {
            session: session.clone(),
            run: None,
        })
        .await;
    assert_eq!(
        runtime.wait_for_run(&session).await.status,
        RunStatus::Cancelled
    );
    let story = runtime.transcript(&session).await;
    assert!(story.contains("tool     Held cancelled"), "{story}");
    runtime.verify().await;
}

#[tokio::test]
async fn a_stopped_runtime_leaves_no_call_from_inside_open() {
    let (before, _keeper) = held(Effect::ReadOnly);
    let runtime = before.build();
    let session = under_way(&runtime).await;
    let (after, keeper) = held(Effect::ReadOnly);
    let runtime = runtime.reopen(after).await;
    keeper.open(10);
    runtime.recover().await;
    runtime.wait_for_run(&session).await;
    let story = runtime.transcript(&session).await;
    assert!(story.contains("tool     Held cancelled"), "{story}");
    assert_eq!(
        keeper.started(),
        0,
        "the command is made again without being asked for: {story}"
    );
    runtime.verify().await;
}

#[tokio::test]
async fn when_the_command_ends_so_does_the_call_it_left() {
    let leave = Arc::new(Notify::new());
    let left = leave.clone();
    let shell = Shell::new(move |way: CallSocketEnv| {
        let left = left.clone();
        // It does not hang up: it is the command that ends.
        tokio::spawn(async move { called(&way, "Held", json!({})).await });
        async move {
            left.notified().await;
            "left".to_owned()
        }
    });
    let (probe, keeper) = ProbeTool::gated("Held", Effect::LocalMutation);
    let mut plan = plan(shell, ToolExposure::Skills);
    plan.tools = Toolset::new(plan.tools.iter().cloned().chain([probe]));
    let runtime = plan.build();
    let session = under_way(&runtime).await;
    leave.notify_one();
    assert_eq!(
        runtime.wait_for_run(&session).await.status,
        RunStatus::Completed
    );
    let story = runtime.transcript(&session).await;
    assert!(story.contains("tool     Bash done: left"), "{story}");
    assert!(
        story.contains("tool     Held failed: stopped half-way"),
        "{story}"
    );
    assert_eq!(keeper.started(), 1);
    runtime.verify().await;
}
