//! A call that waits for another agent, and several that wait at the same time.

use std::time::Duration;

use rooftree_protocol::{AgentDefinition, Effect, EventBody, Limits, RunStatus, event::RunMode};
use rooftree_providers::scripted::{ScriptedFailureKind, call, fail, say};
use rooftree_testkit::ProbeTool;
use rooftree_tools::Toolset;
use serde_json::json;

use super::{plan, task, task_with};

#[tokio::test]
async fn the_answer_of_the_asked_agent_is_the_result_of_the_call() {
    let runtime = plan([
        say("")
            .agent("lead")
            .calls([task("helper", "count the files")]),
        say("there are: {{ results[0].text | first_line }}").agent("lead"),
        say("")
            .agent("helper")
            .calls([call("Look", json!({"say": "3 files"}))]),
        say("3 of them").agent("helper"),
    ])
    .build();
    let session = runtime.post("how many files?").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(
        (end.status, end.text.as_str()),
        (RunStatus::Completed, "there are: 3 of them")
    );
    let child = runtime.children(&session).await.remove(0);
    assert_eq!(
        runtime.transcript(&child.id).await,
        "user     count the files\nmodel    Look {\"say\":\"3 files\"}\ntool     Look done: 3 files\n\
         model    \"3 of them\"\nended    completed, 2 turns"
    );
    // The parent has read nothing of what the child did on the way.
    let parent = runtime.transcript(&session).await;
    assert!(!parent.contains("Look"), "{parent}");
    runtime.verify().await;
}

#[tokio::test]
async fn what_a_run_did_is_told_truthfully() {
    let runtime = plan([
        say("").agent("lead").calls([task("helper", "look twice")]),
        say("ok").agent("lead"),
        say("").agent("helper").calls([
            call("Look", json!({"say": "a"})),
            call("Look", json!({"say": "b"})),
        ]),
        say("seen").agent("helper"),
    ])
    .build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let child = runtime.children(&session).await.remove(0);
    let end = runtime.wait_for_run(&child.id).await;
    assert_eq!((end.turns, end.calls), (2, 2));
    assert_eq!(end.tools, ["Look"]);
    assert_eq!(end.steps.len(), 2);
    let started = runtime.wait_for_event(&child.id, "run.started").await;
    let EventBody::RunStarted {
        mode,
        depth,
        parent,
        ..
    } = &started.body
    else {
        unreachable!()
    };
    assert_eq!((*mode, *depth), (RunMode::Foreground, 1));
    assert_eq!(parent.as_ref().unwrap().session, session);
    assert_eq!(
        started.parent_run,
        runtime.wait_for_event(&session, "run.started").await.run
    );
}

#[tokio::test]
async fn several_calls_in_one_reply_run_at_the_same_time_and_answer_in_call_order() {
    let (look, keeper) = ProbeTool::gated("Look", Effect::ReadOnly);
    let mut plan = plan([
        say("").agent("lead").calls([
            task("helper", "one"),
            task("scout", "two"),
            task("helper", "three"),
        ]),
        say("{% for r in results %}{{ r.text | first_line }};{% endfor %}").agent("lead"),
        say("").agent("helper").calls([call("Look", json!({}))]),
        say("from helper").agent("helper"),
        say("").agent("scout").calls([call("Look", json!({}))]),
        say("from scout").agent("scout"),
    ]);
    plan.tools = rooftree_runtime::delegation::tools::with_tools(&Toolset::new([look]));
    let runtime = plan.build();
    let session = runtime.post("ask all").await;
    while keeper.started() < 3 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let modes: Vec<String> = {
        let mut modes = Vec::new();
        for child in runtime.children(&session).await {
            let started = runtime.wait_for_event(&child.id, "run.started").await;
            let EventBody::RunStarted { mode, .. } = &started.body else {
                unreachable!()
            };
            modes.push(format!("{mode:?}"));
        }
        modes
    };
    assert_eq!(modes, ["Parallel", "Parallel", "Parallel"]);
    keeper.open(3);
    assert_eq!(
        runtime.wait_for_run(&session).await.text,
        "from helper;from scout;from helper;"
    );
    runtime.verify().await;
}

#[tokio::test]
async fn a_failed_agent_is_not_told_as_if_it_had_succeeded() {
    let runtime = plan([
        say("").agent("lead").calls([task("helper", "try")]),
        say("{{ results[0].text | first_line }}").agent("lead"),
        fail(ScriptedFailureKind::Refused).agent("helper"),
    ])
    .build();
    let session = runtime.post("go").await;
    let text = runtime.wait_for_run(&session).await.text;
    assert!(
        text.starts_with("[ERROR: sub-agent 'helper' failed"),
        "{text}"
    );
    assert!(
        runtime
            .transcript(&session)
            .await
            .contains("tool     Task failed")
    );
}

#[tokio::test]
async fn an_agent_that_uses_up_its_turns_says_how_far_it_got() {
    let looking = || {
        say("")
            .agent("helper")
            .calls([call("Look", json!({"say": "{{ turn }}"}))])
    };
    let runtime = plan([
        say("")
            .agent("lead")
            .calls([task_with("helper", "look on", json!({"max_turns": 2}))]),
        say("{{ results[0].text }}").agent("lead"),
        looking(),
        looking(),
        say("I have seen two of them").agent("helper"),
    ])
    .build();
    let session = runtime.post("go").await;
    let text = runtime.wait_for_run(&session).await.text;
    assert!(
        text.starts_with("[ERROR: sub-agent 'helper' used up its turns"),
        "{text}"
    );
    assert!(text.contains("I have seen two of them"), "{text}");
    let child = runtime.children(&session).await.remove(0);
    assert_eq!(
        runtime.wait_for_run(&child.id).await.status,
        RunStatus::MaxTurns
    );
    let last = runtime
        .model
        .requests()
        .into_iter()
        .rfind(|request| &*request.agent == "helper")
        .unwrap();
    assert_eq!(last.tool_choice, rooftree_providers::ToolChoice::Nothing);
}

#[tokio::test]
async fn cancelling_the_asker_stops_the_asked() {
    let (look, keeper) = ProbeTool::gated("Look", Effect::ReadOnly);
    let mut plan = plan([
        say("").agent("lead").calls([task("helper", "wait")]),
        say("").agent("helper").calls([call("Look", json!({}))]),
    ]);
    plan.tools = rooftree_runtime::delegation::tools::with_tools(&Toolset::new([look]));
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
    assert_eq!(
        runtime.wait_for_run(&session).await.status,
        RunStatus::Cancelled
    );
    let child = runtime.children(&session).await.remove(0);
    assert_eq!(
        runtime.wait_for_run(&child.id).await.status,
        RunStatus::Cancelled
    );
    runtime.verify().await;
}

#[tokio::test]
async fn a_wait_that_takes_too_long_goes_on_in_background_and_is_told_later() {
    let (look, keeper) = ProbeTool::gated("Look", Effect::ReadOnly);
    let mut plan = plan([
        say("")
            .agent("lead")
            .calls([task_with("helper", "slowly", json!({"timeout": 5}))]),
        say("waiting: {{ results[0].text }}").agent("lead"),
        say("told: {{ last }}")
            .agent("lead")
            .matching("child_result"),
        say("").agent("helper").calls([call("Look", json!({}))]),
        say("at last").agent("helper"),
    ]);
    plan.tools = rooftree_runtime::delegation::tools::with_tools(&Toolset::new([look]));
    let runtime = plan.build();
    let session = runtime.post("go").await;
    while keeper.started() < 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    runtime.clock.advance(Duration::from_secs(6));
    let first = runtime.wait_for_run(&session).await;
    assert!(first.text.contains("[detached]"), "{}", first.text);
    keeper.open(1);
    let second = runtime.wait_for_nth_run(&session, 2).await;
    assert!(second.text.contains("at last"), "{}", second.text);
    runtime.verify().await;
}

#[tokio::test]
async fn more_results_than_are_looked_at_together_are_all_put_aside() {
    // A few more than are looked at together.
    const MANY: usize = 70;
    let limits = Limits {
        concurrent_calls: MANY,
        children: MANY,
        descendants: MANY,
        ..Limits::default()
    };
    let asked = (0..MANY).map(|number| task("helper", &format!("part {number}")));
    let runtime = plan([
        say("").agent("lead").calls(asked),
        say("all").agent("lead"),
        say("mine").agent("helper"),
    ])
    .agent(AgentDefinition {
        limits,
        ..AgentDefinition::new("lead")
    })
    .build();
    let session = runtime.post("go").await;
    assert_eq!(runtime.wait_for_run(&session).await.text, "all");
    let put_aside = |events: &[rooftree_protocol::Event]| {
        events
            .iter()
            .filter(|event| matches!(event.body, EventBody::InboxDelivered { .. }))
            .count()
    };
    while put_aside(&runtime.events(&session).await) < MANY {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(runtime.recover().await, 0, "nothing is unfinished");
    runtime.verify().await;
}
