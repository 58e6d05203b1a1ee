//! Stopping: in a model call, in a tool, with mail waiting, from another process, and by closing the runtime.

use std::time::Duration;

use rooftree_protocol::{Command, Effect, RunStatus};
use rooftree_providers::scripted::{call, say};
use rooftree_runtime::Clock;
use rooftree_testkit::{ProbeTool, TestRuntimeBuilder};
use rooftree_tools::Toolset;
use serde_json::json;

#[tokio::test]
async fn cancelling_a_model_call_keeps_what_was_said_and_the_queue() {
    let first = say("one two three four")
        .chunk(4)
        .pace(Duration::from_secs(60));
    let runtime = TestRuntimeBuilder::new([first, say("second answer")]).build();
    let session = runtime.post("first").await;
    runtime
        .wait_until(&session, "a delta", |event| {
            event.body.name() == "message.delta"
        })
        .await;
    runtime.post_to(&session, "second").await;
    runtime
        .command(Command::Cancel {
            session: session.clone(),
            run: None,
        })
        .await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(end.status, RunStatus::Cancelled);
    runtime.wait_for_nth_run(&session, 2).await;
    assert_eq!(
        runtime.transcript(&session).await,
        "user     first\nmodel    \"one \"\nended    cancelled, 1 turns\n\
         user     second\nmodel    \"second answer\"\nended    completed, 1 turns"
    );
    runtime.verify().await;
}

#[tokio::test]
async fn r1_small_the_cost_of_a_reply_that_was_cut_short_is_not_called_complete() {
    let first = say("one two three four")
        .chunk(4)
        .pace(Duration::from_secs(60));
    let mut plan = TestRuntimeBuilder::new([first]);
    plan.price = Some(rooftree_providers::catalog::ModelPrice {
        input: 1.0,
        output: 2.0,
        cache_read: None,
        cache_write: None,
        long: None,
        search: None,
    });
    let runtime = plan.build();
    let session = runtime.post("first").await;
    runtime
        .wait_until(&session, "a delta", |event| {
            event.body.name() == "message.delta"
        })
        .await;
    runtime
        .command(Command::Cancel {
            session: session.clone(),
            run: None,
        })
        .await;
    let end = runtime.wait_for_run(&session).await;
    assert!(!end.usage.cost_complete, "{:?}", end.usage);
}

#[tokio::test]
async fn cancelling_a_tool_stops_it_and_gives_every_call_a_result() {
    let (step, keeper) = ProbeTool::gated("Step", Effect::LocalMutation);
    let calls = [
        call("Step", json!({"say": "a"})),
        call("Step", json!({"say": "b"})),
    ];
    let runtime = TestRuntimeBuilder::new([say("").calls(calls)])
        .tools(Toolset::new([step]))
        .build();
    let session = runtime.post("go").await;
    runtime.wait_for_event(&session, "tool.started").await;
    runtime
        .command(Command::Cancel {
            session: session.clone(),
            run: None,
        })
        .await;
    runtime.wait_for_run(&session).await;
    assert_eq!(
        runtime.transcript(&session).await,
        r#"user     go
model    Step {"say":"a"} + Step {"say":"b"}
tool     Step cancelled: stopped half-way
tool     Step cancelled: [cancelled]
ended    cancelled, 1 turns"#
    );
    assert_eq!(keeper.started(), 1);
    runtime.verify().await;
}

#[tokio::test]
async fn closing_the_house_pauses_a_run_and_reopening_resumes_it() {
    let (look, _held) = ProbeTool::gated("Look", Effect::ReadOnly);
    let script = || {
        [
            say("looking").calls([call("Look", json!({"say": "seen"}))]),
            say("done"),
        ]
    };
    let runtime = TestRuntimeBuilder::new(script())
        .tools(Toolset::new([look]))
        .build();
    let session = runtime.post("go").await;
    runtime.wait_for_event(&session, "tool.started").await;
    let runtime = runtime
        .reopen(
            TestRuntimeBuilder::new(script())
                .tools(Toolset::new([ProbeTool::open("Look", Effect::ReadOnly)])),
        )
        .await;
    assert_eq!(runtime.recover().await, 1);
    runtime.wait_for_run(&session).await;
    assert_eq!(
        runtime.transcript(&session).await,
        "user     go\nmodel    \"looking\" Look {\"say\":\"seen\"}\ntool     Look done: seen\nmodel    \"done\"\nended    completed, 2 turns"
    );
    // The stored reply was not asked for again.
    assert_eq!(runtime.model.requests().len(), 1);
    runtime.verify().await;
}

#[tokio::test]
async fn closing_the_house_in_the_middle_of_a_reply_keeps_no_half_of_it() {
    let slow = say("one two three four")
        .chunk(4)
        .pace(Duration::from_secs(60));
    let runtime = TestRuntimeBuilder::new([slow]).build();
    let session = runtime.post("count").await;
    runtime
        .wait_until(&session, "a delta", |event| {
            event.body.name() == "message.delta"
        })
        .await;
    let runtime = runtime
        .reopen(TestRuntimeBuilder::new([say("one two three four")]))
        .await;
    assert_eq!(runtime.recover().await, 1);
    assert_eq!(
        runtime.wait_for_run(&session).await.status,
        RunStatus::Completed
    );
    assert_eq!(
        runtime.transcript(&session).await,
        "user     count\nmodel    \"one two three four\"\nended    completed, 1 turns"
    );
    runtime.verify().await;
}

#[tokio::test]
async fn a_cancel_for_a_resting_session_changes_nothing() {
    let runtime = TestRuntimeBuilder::new([say("one"), say("two")]).build();
    let session = runtime.post("a").await;
    runtime.wait_for_run(&session).await;
    runtime
        .command(Command::Cancel {
            session: session.clone(),
            run: None,
        })
        .await;
    runtime.post_to(&session, "b").await;
    assert_eq!(
        runtime.wait_for_nth_run(&session, 2).await.status,
        RunStatus::Completed
    );
}

#[tokio::test]
async fn a_cancel_reaches_the_process_that_works_while_another_waits_for_its_turn() {
    let (step, _held) = ProbeTool::gated("Step", Effect::LocalMutation);
    let script = [
        say("").calls([call("Step", json!({"say": "a"}))]),
        say("later"),
    ];
    let runtime = TestRuntimeBuilder::new(script)
        .tools(Toolset::new([step]))
        .build();
    let session = runtime.post("go").await;
    runtime.wait_for_event(&session, "tool.started").await;
    let other = runtime.open_second(TestRuntimeBuilder::new([say("not asked"), say("later")]));
    other.post_to(&session, "and then").await;
    other
        .command(Command::Cancel {
            session: session.clone(),
            run: None,
        })
        .await;
    assert_eq!(
        runtime.wait_for_run(&session).await.status,
        RunStatus::Cancelled
    );
    runtime.wait_for_nth_run(&session, 2).await;
    runtime.verify().await;
}

#[tokio::test]
async fn a_cancel_that_nobody_got_to_does_not_stop_a_later_run() {
    let steps = say("")
        .calls([call("Step", json!({"say": "{{ turn }}"}))])
        .times(2_000);
    let script = [say("done").matching("enough"), say("first"), steps];
    let runtime = TestRuntimeBuilder::new(script)
        .tools(Toolset::new([ProbeTool::open(
            "Step",
            Effect::LocalMutation,
        )]))
        .max_turns(2_000)
        .build();
    let session = runtime.post("one").await;
    runtime.wait_for_run(&session).await;
    let other = runtime.open_second(TestRuntimeBuilder::new([say("not asked")]));
    let left = Command::Cancel {
        session: session.clone(),
        run: None,
    };
    other
        .store()
        .put_command(
            &session,
            rooftree_store::CommandRow::new(left, runtime.clock.now()),
        )
        .await
        .unwrap();
    runtime.clock.advance(Duration::from_secs(1));
    runtime.post_to(&session, "two").await;
    // The words of another process are heard no earlier than its commands.
    runtime
        .wait_until(&session, "a step", |event| {
            event.body.name() == "tool.completed"
        })
        .await;
    other.steer(&session, "enough").await;
    assert_eq!(
        runtime.wait_for_nth_run(&session, 2).await.status,
        RunStatus::Completed
    );
}

#[tokio::test]
async fn a_stop_ends_the_run_of_an_accepted_message_however_far_it_has_come() {
    let held = say("never said").delay(Duration::from_secs(3_600));
    let runtime = TestRuntimeBuilder::new([held.times(1_000)]).build();
    let session = runtime.post("first").await;
    for yields in 0..120 {
        if yields > 0 {
            runtime.post_to(&session, "again").await;
        }
        for _ in 0..yields {
            tokio::task::yield_now().await;
        }
        let cancel = Command::Cancel {
            session: session.clone(),
            run: None,
        };
        runtime.command(cancel).await;
        let end = runtime.wait_for_nth_run(&session, yields + 1).await;
        assert_eq!(end.status, RunStatus::Cancelled, "after {yields} steps");
    }
    runtime.verify().await;
}

#[tokio::test]
async fn a_stop_without_work_does_not_reach_a_message_that_comes_a_moment_later() {
    let runtime = TestRuntimeBuilder::new([say("done").times(1_000)]).build();
    let session = runtime.post("first").await;
    runtime.wait_for_run(&session).await;
    for yields in 0..60 {
        for _ in 0..yields {
            tokio::task::yield_now().await;
        }
        let cancel = Command::Cancel {
            session: session.clone(),
            run: None,
        };
        runtime.command(cancel).await;
        runtime.post_to(&session, "again").await;
        let end = runtime.wait_for_nth_run(&session, yields + 2).await;
        assert_eq!(end.status, RunStatus::Completed, "after {yields} steps");
    }
    runtime.verify().await;
}
