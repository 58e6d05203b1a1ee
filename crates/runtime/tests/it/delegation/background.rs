//! Work that goes on beside: told at the next turn boundary, or waking the one who asked; once.

use std::time::Duration;

use rooftree_protocol::{Effect, EventBody, Origin, RunStatus, event::RunMode};
use rooftree_providers::scripted::{ScriptedFailureKind, call, fail, say};
use rooftree_testkit::{ProbeTool, TestRuntime};
use rooftree_tools::Toolset;
use serde_json::json;

use super::{plan, task_with};

fn in_background(prompt: &str) -> rooftree_providers::scripted::ScriptedCall {
    task_with("helper", prompt, json!({"run_in_background": true}))
}

/// How often the end of a task was told to the model of a session.
async fn times_told(runtime: &TestRuntime, session: &rooftree_protocol::SessionId) -> usize {
    let told = |event: &rooftree_protocol::Event| matches!(&event.body, EventBody::MessageUser { message, .. } if matches!(message.origin, Origin::Task { .. }));
    runtime
        .events(session)
        .await
        .iter()
        .filter(|event| told(event))
        .count()
}

#[tokio::test]
async fn the_result_wakes_whoever_asked_if_it_rests() {
    let (look, keeper) = ProbeTool::gated("Look", Effect::ReadOnly);
    let mut plan = plan([
        say("").agent("lead").calls([in_background("dig")]),
        say("meanwhile").agent("lead"),
        say("heard").agent("lead").matching("child_result"),
        say("").agent("helper").calls([call("Look", json!({}))]),
        say("gold").agent("helper"),
    ]);
    plan.tools = rooftree_runtime::delegation::tools::with_tools(&Toolset::new([look]));
    let runtime = plan.build();
    let session = runtime.post("go").await;
    assert_eq!(runtime.wait_for_run(&session).await.text, "meanwhile");
    keeper.open(1);
    assert_eq!(runtime.wait_for_nth_run(&session, 2).await.text, "heard");
    let child = runtime.children(&session).await.remove(0);
    let last = runtime
        .model
        .requests()
        .into_iter()
        .rfind(|request| &*request.agent == "lead")
        .unwrap();
    let heard = format!("{:?}", last.messages.last().unwrap());
    assert!(heard.contains("[Background sub-agent run_"), "{heard}");
    assert!(heard.contains("(helper) completed]"), "{heard}");
    assert!(heard.contains("Summary: gold"), "{heard}");
    assert_eq!(times_told(&runtime, &session).await, 1);
    let started = runtime.wait_for_event(&child.id, "run.started").await;
    assert!(matches!(
        started.body,
        EventBody::RunStarted {
            mode: RunMode::Background,
            ..
        }
    ));
    runtime.verify().await;
}

#[tokio::test]
async fn the_result_enters_a_run_under_way_at_its_next_boundary_and_never_inside_a_turn() {
    let (step, keeper) = ProbeTool::gated("Step", Effect::ReadOnly);
    // Otherwise the result may be there before the turn begins.
    let (dig, digging) = ProbeTool::gated("Dig", Effect::ReadOnly);
    let mut plan = plan([
        say("").agent("lead").calls([in_background("dig")]),
        say("").agent("lead").calls([
            call("Step", json!({"say": "a"})),
            call("Step", json!({"say": "b"})),
        ]),
        say("done").agent("lead"),
        say("").agent("helper").calls([call("Dig", json!({}))]),
        say("gold").agent("helper"),
    ]);
    plan.tools = rooftree_runtime::delegation::tools::with_tools(&Toolset::new([step, dig]));
    let runtime = plan.build();
    let session = runtime.post("go").await;
    while keeper.started() < 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    digging.open(1);
    let child = runtime.children(&session).await.remove(0);
    runtime.wait_for_run(&child.id).await;
    keeper.open(2);
    runtime.wait_for_run(&session).await;
    let story = runtime.transcript(&session).await;
    let told = story.find("steer    [Background sub-agent").unwrap();
    assert!(story.rfind("tool     Step").unwrap() < told, "{story}");
    assert!(told < story.find("model    \"done\"").unwrap(), "{story}");
    assert_eq!(times_told(&runtime, &session).await, 1);
    runtime.verify().await;
}

#[tokio::test]
async fn what_task_output_has_told_is_not_told_again() {
    let runtime = plan([
        say("").agent("lead").calls([in_background("dig")]),
        say("").agent("lead").calls([call(
            "TaskOutput",
            json!({"task_id": "{{ results[0].text | find('run_[a-z0-9]+') }}"}),
        )]),
        say("{{ results[0].text | first_line }}").agent("lead"),
        say("gold").agent("helper"),
    ]);
    // The id the model was told is the one that works.
    let runtime = runtime.build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let child = runtime.children(&session).await.remove(0);
    let run = runtime
        .wait_for_event(&child.id, "run.started")
        .await
        .run
        .clone()
        .unwrap();
    assert!(runtime.transcript(&session).await.contains(run.as_str()));
    let listed = runtime.store().task(run.as_str()).await.unwrap().unwrap();
    assert_eq!(listed.child, Some(child.id));
}

#[tokio::test]
async fn a_poller_and_the_inbox_tell_one_result_once() {
    let (look, keeper) = ProbeTool::gated("Look", Effect::ReadOnly);
    let entries = |task: &str| {
        [
            say("").agent("lead").calls([in_background("dig")]),
            say("started").agent("lead"),
            say("")
                .agent("lead")
                .matching("^wait")
                .calls([call("TaskOutput", json!({"task_id": task, "timeout": 600}))]),
            say("told: {{ results[0].text | first_line }}")
                .agent("lead")
                .matching("gold"),
            say("").agent("helper").calls([call("Look", json!({}))]),
            say("gold").agent("helper"),
        ]
    };
    let mut first = plan(entries("none"));
    first.tools = rooftree_runtime::delegation::tools::with_tools(&Toolset::new([look.clone()]));
    let runtime = first.build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let child = runtime.children(&session).await.remove(0);
    let run = runtime
        .wait_for_event(&child.id, "run.started")
        .await
        .run
        .clone()
        .unwrap();
    let mut second = plan(entries(run.as_str()));
    second.tools = rooftree_runtime::delegation::tools::with_tools(&Toolset::new([look]));
    let runtime = runtime.reopen(second).await;
    runtime.recover().await;
    runtime.post_to(&session, "wait for it").await;
    runtime
        .wait_until(
            &session,
            "the poll",
            |event| matches!(&event.body, EventBody::ToolStarted { tool, .. } if tool == "TaskOutput"),
        )
        .await;
    keeper.open(2);
    assert_eq!(
        runtime.wait_for_nth_run(&session, 2).await.text,
        "told: gold"
    );
    runtime.wait_for_event(&session, "inbox.delivered").await;
    assert_eq!(
        times_told(&runtime, &session).await,
        0,
        "{}",
        runtime.transcript(&session).await
    );
    assert!(
        runtime
            .store()
            .waiting(&session, rooftree_protocol::Lane::Boundary, 9)
            .await
            .unwrap()
            .is_empty()
    );
    runtime.verify().await;
}

#[tokio::test]
async fn a_failed_background_agent_posts_exactly_one_failure_notice() {
    let runtime = plan([
        say("").agent("lead").calls([in_background("dig")]),
        say("meanwhile").agent("lead").times(1),
        say("heard").agent("lead").matching("child_result"),
        fail(ScriptedFailureKind::Refused).agent("helper"),
    ])
    .build();
    let session = runtime.post("go").await;
    runtime.wait_until(&session, "the notice", |event| {
        matches!(&event.body, EventBody::MessageUser { message, .. } if message.text().contains("[ERROR: sub-agent 'helper' failed"))
    }).await;
    assert_eq!(times_told(&runtime, &session).await, 1);
}

#[tokio::test]
async fn stopping_a_task_stops_its_run_and_says_so_once() {
    let (look, keeper) = ProbeTool::gated("Look", Effect::ReadOnly);
    let mut plan = plan([
        say("").agent("lead").calls([in_background("dig")]),
        say("").agent("lead").calls([call(
            "TaskStop",
            json!({"task_id": "{{ results[0].text | find('run_[a-z0-9]+') }}"}),
        )]),
        say("{{ results[0].text }}").agent("lead"),
        say("").agent("helper").calls([call("Look", json!({}))]),
    ]);
    plan.tools = rooftree_runtime::delegation::tools::with_tools(&Toolset::new([look]));
    let runtime = plan.build();
    let session = runtime.post("go").await;
    let child = loop {
        if let Some(child) = runtime.children(&session).await.pop() {
            break child;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    let end = runtime.wait_for_run(&session).await;
    assert!(end.text.contains("was stopped"), "{}", end.text);
    assert_eq!(
        runtime.wait_for_run(&child.id).await.status,
        RunStatus::Cancelled
    );
    assert_eq!(keeper.started().min(1), keeper.started());
    runtime.verify().await;
}

#[tokio::test]
async fn stopping_the_asker_stops_its_background_work() {
    let (look, keeper) = ProbeTool::gated("Look", Effect::ReadOnly);
    let (step, _held) = ProbeTool::gated("Step", Effect::ReadOnly);
    let mut plan = plan([
        say("").agent("lead").calls([in_background("dig")]),
        say("").agent("lead").calls([call("Step", json!({}))]),
        say("heard").agent("lead").matching("child_result"),
        say("").agent("helper").calls([call("Look", json!({}))]),
    ]);
    plan.tools = rooftree_runtime::delegation::tools::with_tools(&Toolset::new([look, step]));
    let runtime = plan.build();
    let session = runtime.post("go").await;
    while keeper.started() < 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    runtime
        .command(rooftree_protocol::Command::Cancel {
            session: session.clone(),
            run: None,
        })
        .await;
    let child = runtime.children(&session).await.remove(0);
    assert_eq!(
        runtime.wait_for_run(&child.id).await.status,
        RunStatus::Cancelled
    );
}

#[tokio::test]
async fn a_task_that_was_stopped_wakes_nobody_and_is_told_at_the_next_run() {
    let (look, keeper) = ProbeTool::gated("Look", Effect::ReadOnly);
    let mut plan = plan([
        say("").agent("lead").calls([in_background("dig")]),
        say("meanwhile").agent("lead"),
        say("I know").agent("lead"),
        say("").agent("helper").calls([call("Look", json!({}))]),
        say("gold").agent("helper"),
    ]);
    plan.tools = rooftree_runtime::delegation::tools::with_tools(&Toolset::new([look]));
    let runtime = plan.build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    while keeper.started() < 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let child = runtime.children(&session).await.remove(0);
    let run = runtime
        .wait_for_event(&child.id, "run.started")
        .await
        .run
        .clone();
    runtime
        .command(rooftree_protocol::Command::Cancel {
            session: child.id.clone(),
            run,
        })
        .await;
    assert_eq!(
        runtime.wait_for_run(&child.id).await.status,
        RunStatus::Cancelled
    );
    assert!(
        !runtime
            .store()
            .unfinished()
            .await
            .unwrap()
            .contains(&session),
        "nothing is left to do"
    );
    runtime.post_to(&session, "and now?").await;
    assert_eq!(runtime.wait_for_nth_run(&session, 2).await.text, "I know");
    assert_eq!(times_told(&runtime, &session).await, 1);
    let last = runtime
        .model
        .requests()
        .into_iter()
        .rfind(|request| &*request.agent == "lead")
        .unwrap();
    assert!(
        format!("{:?}", last.messages).contains("(helper) cancelled]"),
        "{:?}",
        last.messages
    );
    runtime.verify().await;
}

#[tokio::test]
async fn r1_d9_a_long_answer_from_background_says_where_the_rest_is() {
    let long = "a line of the answer\n".repeat(3_000);
    let runtime = super::plan([
        rooftree_providers::scripted::say("")
            .agent("lead")
            .calls([super::task_with(
                "helper",
                "x",
                serde_json::json!({"run_in_background": true}),
            )]),
        rooftree_providers::scripted::say("done")
            .agent("lead")
            .times(9),
        rooftree_providers::scripted::say(long.trim()).agent("helper"),
    ])
    .build();
    let lead = runtime.post("go").await;
    let told = runtime
        .wait_until(&lead, "the answer of the task", |event| {
            matches!(&event.body, rooftree_protocol::EventBody::MessageUser { message, .. }
                if matches!(message.origin, rooftree_protocol::Origin::Task { .. }))
        })
        .await;
    let rooftree_protocol::EventBody::MessageUser { message, .. } = &told.body else {
        panic!("a message")
    };
    let text = message.text();
    let blob = text
        .split("blob:")
        .nth(1)
        .unwrap_or_else(|| panic!("{text}"))
        .split('"')
        .next()
        .unwrap();
    let blob = rooftree_protocol::BlobId::parse(blob).unwrap();
    let kept = runtime.store().blob(&blob).await.unwrap().unwrap();
    assert_eq!(String::from_utf8(kept).unwrap(), long.trim());
}
