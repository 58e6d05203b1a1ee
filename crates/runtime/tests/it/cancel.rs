//! Stopping: in a model call, in a tool, with mail waiting, from another process, and by closing the house.

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
    let house = TestRuntimeBuilder::new([first, say("second answer")]).build();
    let session = house.post("first").await;
    house
        .wait_until(&session, "a delta", |event| {
            event.body.name() == "message.delta"
        })
        .await;
    house.post_to(&session, "second").await;
    house
        .command(Command::Cancel {
            session: session.clone(),
            run: None,
        })
        .await;
    let end = house.wait_for_run(&session).await;
    assert_eq!(end.status, RunStatus::Cancelled);
    house.wait_for_nth_run(&session, 2).await;
    assert_eq!(
        house.transcript(&session).await,
        "user     first\nmodel    \"one \"\nended    cancelled, 1 turns\n\
         user     second\nmodel    \"second answer\"\nended    completed, 1 turns"
    );
    house.verify().await;
}

#[tokio::test]
async fn cancelling_a_tool_stops_it_and_gives_every_call_a_result() {
    let (step, keeper) = ProbeTool::gated("Step", Effect::LocalMutation);
    let calls = [
        call("Step", json!({"say": "a"})),
        call("Step", json!({"say": "b"})),
    ];
    let house = TestRuntimeBuilder::new([say("").calls(calls)])
        .tools(Toolset::new([step]))
        .build();
    let session = house.post("go").await;
    house.wait_for_event(&session, "tool.started").await;
    house
        .command(Command::Cancel {
            session: session.clone(),
            run: None,
        })
        .await;
    house.wait_for_run(&session).await;
    assert_eq!(
        house.transcript(&session).await,
        r#"user     go
model    Step {"say":"a"} + Step {"say":"b"}
tool     Step cancelled: stopped half-way
tool     Step cancelled: [cancelled]
ended    cancelled, 1 turns"#
    );
    assert_eq!(keeper.started(), 1);
    house.verify().await;
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
    let house = TestRuntimeBuilder::new(script())
        .tools(Toolset::new([look]))
        .build();
    let session = house.post("go").await;
    house.wait_for_event(&session, "tool.started").await;
    let house = house
        .reopen(
            TestRuntimeBuilder::new(script())
                .tools(Toolset::new([ProbeTool::open("Look", Effect::ReadOnly)])),
        )
        .await;
    assert_eq!(house.recover().await, 1);
    house.wait_for_run(&session).await;
    assert_eq!(
        house.transcript(&session).await,
        "user     go\nmodel    \"looking\" Look {\"say\":\"seen\"}\ntool     Look done: seen\nmodel    \"done\"\nended    completed, 2 turns"
    );
    // The stored reply was not asked for again.
    assert_eq!(house.model.requests().len(), 1);
    house.verify().await;
}

#[tokio::test]
async fn closing_the_house_in_the_middle_of_a_reply_keeps_no_half_of_it() {
    let slow = say("one two three four")
        .chunk(4)
        .pace(Duration::from_secs(60));
    let house = TestRuntimeBuilder::new([slow]).build();
    let session = house.post("count").await;
    house
        .wait_until(&session, "a delta", |event| {
            event.body.name() == "message.delta"
        })
        .await;
    let house = house
        .reopen(TestRuntimeBuilder::new([say("one two three four")]))
        .await;
    assert_eq!(house.recover().await, 1);
    assert_eq!(
        house.wait_for_run(&session).await.status,
        RunStatus::Completed
    );
    assert_eq!(
        house.transcript(&session).await,
        "user     count\nmodel    \"one two three four\"\nended    completed, 1 turns"
    );
    house.verify().await;
}

#[tokio::test]
async fn a_cancel_for_a_resting_session_changes_nothing() {
    let house = TestRuntimeBuilder::new([say("one"), say("two")]).build();
    let session = house.post("a").await;
    house.wait_for_run(&session).await;
    house
        .command(Command::Cancel {
            session: session.clone(),
            run: None,
        })
        .await;
    house.post_to(&session, "b").await;
    assert_eq!(
        house.wait_for_nth_run(&session, 2).await.status,
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
    let house = TestRuntimeBuilder::new(script)
        .tools(Toolset::new([step]))
        .build();
    let session = house.post("go").await;
    house.wait_for_event(&session, "tool.started").await;
    let other = house.open_second(TestRuntimeBuilder::new([say("not asked"), say("later")]));
    other.post_to(&session, "and then").await;
    other
        .command(Command::Cancel {
            session: session.clone(),
            run: None,
        })
        .await;
    assert_eq!(
        house.wait_for_run(&session).await.status,
        RunStatus::Cancelled
    );
    house.wait_for_nth_run(&session, 2).await;
    house.verify().await;
}

#[tokio::test]
async fn a_cancel_that_nobody_got_to_does_not_stop_a_later_run() {
    let steps = say("")
        .calls([call("Step", json!({"say": "{{ turn }}"}))])
        .times(2_000);
    let script = [say("done").matching("enough"), say("first"), steps];
    let house = TestRuntimeBuilder::new(script)
        .tools(Toolset::new([ProbeTool::open(
            "Step",
            Effect::LocalMutation,
        )]))
        .max_turns(2_000)
        .build();
    let session = house.post("one").await;
    house.wait_for_run(&session).await;
    let other = house.open_second(TestRuntimeBuilder::new([say("not asked")]));
    let left = Command::Cancel {
        session: session.clone(),
        run: None,
    };
    other
        .handle
        .store()
        .put_command(&session, left, house.clock.now())
        .await
        .unwrap();
    house.clock.advance(Duration::from_secs(1));
    house.post_to(&session, "two").await;
    // The words of another process are heard no earlier than its commands.
    house
        .wait_until(&session, "a step", |event| {
            event.body.name() == "tool.completed"
        })
        .await;
    other.steer(&session, "enough").await;
    assert_eq!(
        house.wait_for_nth_run(&session, 2).await.status,
        RunStatus::Completed
    );
}
