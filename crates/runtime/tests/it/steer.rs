//! What is said to a busy session: mail waits, a steer enters at the next boundary.

use rooftree_protocol::Effect;
use rooftree_providers::scripted::{call, say};
use rooftree_testkit::{ProbeTool, TestRuntimeBuilder};
use rooftree_tools::Toolset;
use serde_json::json;

#[tokio::test]
async fn a_steer_lets_running_calls_finish_and_skips_the_rest() {
    let (step, keeper) = ProbeTool::gated("Step", Effect::LocalMutation);
    let calls = [
        call("Step", json!({"say": "first"})),
        call("Step", json!({"say": "second"})),
    ];
    let runtime = TestRuntimeBuilder::new([say("").calls(calls), say("stopped as you said")])
        .tools(Toolset::new([step]))
        .build();
    let session = runtime.post("do two steps").await;
    runtime.wait_for_event(&session, "tool.started").await;
    runtime.steer(&session, "stop after this one").await;
    runtime.steer(&session, "and tell me").await;
    keeper.open(5);
    runtime.wait_for_run(&session).await;
    assert_eq!(
        runtime.transcript(&session).await,
        r#"user     do two steps
model    Step {"say":"first"} + Step {"say":"second"}
tool     Step done: first
tool     Step cancelled: cancelled: steered
steer    stop after this one
steer    and tell me
model    "stopped as you said"
ended    completed, 2 turns"#
    );
    assert_eq!(keeper.started(), 1);
    runtime.verify().await;
}

#[tokio::test]
async fn mail_for_a_busy_session_waits_for_its_own_run() {
    let (step, keeper) = ProbeTool::gated("Step", Effect::ReadOnly);
    let runtime = TestRuntimeBuilder::new([
        say("").calls([call("Step", json!({}))]),
        say("one done"),
        say("two done"),
    ])
    .tools(Toolset::new([step]))
    .build();
    let session = runtime.post("one").await;
    runtime.wait_for_event(&session, "tool.started").await;
    runtime.post_to(&session, "two").await;
    keeper.open(1);
    runtime.wait_for_nth_run(&session, 2).await;
    assert_eq!(
        runtime.transcript(&session).await,
        "user     one\nmodel    Step {}\ntool     Step done: ok\nmodel    \"one done\"\nended    completed, 2 turns\n\
         user     two\nmodel    \"two done\"\nended    completed, 1 turns"
    );
}

#[tokio::test]
async fn a_steer_to_a_resting_session_wakes_it_and_a_silent_message_does_not() {
    let runtime = TestRuntimeBuilder::new([say("hello"), say("thanks for both")]).build();
    let session = runtime.post("hi").await;
    runtime.wait_for_run(&session).await;
    runtime.post_silent(&session, "the build is green").await;
    runtime.steer(&session, "what is new?").await;
    runtime.wait_for_nth_run(&session, 2).await;
    let story = runtime.transcript(&session).await;
    assert!(
        story.ends_with("silent   the build is green\nsteer    what is new?\nmodel    \"thanks for both\"\nended    completed, 1 turns"),
        "{story}"
    );
    runtime.verify().await;
}
