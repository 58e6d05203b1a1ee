//! Where runs end: turns, time, circles; each with its own status.

use std::time::Duration;

use rooftree_protocol::{Command, Effect, RunStatus};
use rooftree_providers::scripted::{call, say};
use rooftree_testkit::{ProbeTool, TestRuntimeBuilder};
use rooftree_tools::Toolset;
use serde_json::json;

fn look() -> Toolset {
    Toolset::new([ProbeTool::open("Look", Effect::ReadOnly)])
}

#[tokio::test]
async fn running_out_of_turns_has_its_own_status_and_one_notice() {
    let entries = (0..3).map(|n| say("still at it").calls([call("Look", json!({"n": n}))]));
    let runtime = TestRuntimeBuilder::new(entries)
        .tools(look())
        .max_turns(2)
        .build();
    let session = runtime.post("go").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(
        (end.status, end.turns, end.text.as_str()),
        (RunStatus::MaxTurns, 2, "still at it")
    );
    let story = runtime.transcript(&session).await;
    assert!(
        story.ends_with("notice   tool_limit\nended    max_turns, 2 turns"),
        "{story}"
    );
    runtime.verify().await;
}

#[tokio::test]
async fn the_tool_limit_notice_needs_a_last_reply_with_tool_calls() {
    let runtime =
        TestRuntimeBuilder::new([say("thinking aloud").chunk(4).pace(Duration::from_secs(1))])
            .max_turns(1)
            .build();
    let session = runtime.post("go").await;
    runtime
        .wait_until(&session, "a delta", |event| {
            event.body.name() == "message.delta"
        })
        .await;
    // This steer arrives during the only turn, so there is none left to answer it.
    runtime.steer(&session, "one more thing").await;
    for _ in 0..4 {
        runtime.clock.advance(Duration::from_secs(1));
        tokio::task::yield_now().await;
    }
    let turning = async {
        loop {
            runtime.clock.advance(Duration::from_secs(1));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let end = tokio::select! { end = runtime.wait_for_run(&session) => end, () = turning => unreachable!() };
    assert_eq!(end.status, RunStatus::MaxTurns);
    assert!(!runtime.transcript(&session).await.contains("tool_limit"));
}

#[tokio::test]
async fn an_answer_at_the_limit_is_completed_not_cut() {
    let runtime = TestRuntimeBuilder::new([say("").calls([call("Look", json!({}))]), say("done")])
        .tools(look())
        .max_turns(2)
        .build();
    let session = runtime.post("go").await;
    assert_eq!(
        runtime.wait_for_run(&session).await.status,
        RunStatus::Completed
    );
}

#[tokio::test]
async fn going_in_circles_ends_the_run() {
    let entries = (0..9).map(|_| say("").calls([call("Look", json!({"same": true}))]));
    let runtime = TestRuntimeBuilder::new(entries).tools(look()).build();
    let session = runtime.post("go").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!((end.status, end.turns), (RunStatus::Failed, 6));
    assert!(end.error.unwrap().message.contains("same Look call"));
    runtime.verify().await;
}

#[tokio::test]
async fn a_run_that_takes_too_long_is_timed_out() {
    let (slow, _held) = ProbeTool::gated("Slow", Effect::ReadOnly);
    let mut plan = TestRuntimeBuilder::new([say("").calls([call("Slow", json!({}))])])
        .tools(Toolset::new([slow]));
    plan.limits.run_timeout = Some(Duration::from_secs(30));
    let runtime = plan.build();
    let session = runtime.post("go").await;
    runtime.wait_for_event(&session, "tool.started").await;
    runtime.clock.advance(Duration::from_secs(31));
    assert_eq!(
        runtime.wait_for_run(&session).await.status,
        RunStatus::TimedOut
    );
    runtime.verify().await;
}

#[tokio::test]
async fn a_script_that_runs_out_fails_loudly() {
    let runtime = TestRuntimeBuilder::new([say("only one").turn(1)]).build();
    let session = runtime.post("a").await;
    runtime.wait_for_run(&session).await;
    runtime.post_to(&session, "b").await;
    let end = runtime.wait_for_nth_run(&session, 2).await;
    assert_eq!(end.status, RunStatus::Failed);
    let error = end.error.unwrap();
    assert_eq!(error.code, rooftree_protocol::ErrorCode::ScriptExhausted);
}

#[tokio::test]
async fn clearing_keeps_the_session_and_starts_the_context_anew() {
    let runtime = TestRuntimeBuilder::new([say("hello").matching(".*")]).build();
    let session = runtime.post("secret plan").await;
    runtime.wait_for_run(&session).await;
    runtime
        .command(Command::Clear {
            session: session.clone(),
            unless_busy: false,
        })
        .await;
    runtime.wait_for_event(&session, "session.cleared").await;
    runtime.post_to(&session, "what plan?").await;
    runtime.wait_for_nth_run(&session, 2).await;
    let requests = runtime.model.requests();
    assert_eq!(
        requests[1].messages.len(),
        1,
        "the model still reads what was cleared"
    );
    assert!(
        runtime
            .transcript(&session)
            .await
            .contains("user     secret plan"),
        "the journal still has it"
    );
    runtime.verify().await;
}
