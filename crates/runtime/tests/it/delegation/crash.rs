//! The process dies while one agent waits for another: every answer arrives, once.

use std::time::Duration;

use rooftree_protocol::{Effect, EventBody, Origin, RunStatus};
use rooftree_providers::scripted::{ScriptEntry, call, say};
use rooftree_testkit::{ProbeTool, TestRuntimeBuilder};
use rooftree_tools::Toolset;
use serde_json::json;

use super::{plan, task, task_with};

fn script() -> Vec<ScriptEntry> {
    vec![
        say("")
            .agent("lead")
            .calls([task("helper", "dig"), task("scout", "search")]),
        say("{% for r in results %}{{ r.text | first_line }};{% endfor %}").agent("lead"),
        say("").agent("helper").calls([call("Look", json!({}))]),
        say("gold").agent("helper"),
        say("map").agent("scout"),
    ]
}

fn with(
    look: std::sync::Arc<dyn rooftree_tools::Tool>,
    entries: Vec<ScriptEntry>,
) -> TestRuntimeBuilder {
    let mut plan = plan(entries);
    plan.tools = rooftree_runtime::delegation::tools::with_tools(&Toolset::new([look]));
    plan
}

#[tokio::test]
async fn a_wait_goes_on_after_a_crash_and_nobody_is_asked_twice() {
    let (look, keeper) = ProbeTool::gated("Look", Effect::ReadOnly);
    let runtime = with(look, script()).build();
    let session = runtime.post("go").await;
    while keeper.started() < 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let scout = loop {
        let children = runtime.children(&session).await;
        if let Some(scout) = children.into_iter().find(|child| child.agent == "scout") {
            break scout;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    runtime.wait_for_run(&scout.id).await;
    let runtime = runtime
        .crash(with(ProbeTool::open("Look", Effect::ReadOnly), script()))
        .await;
    runtime.recover().await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(
        (end.status, end.text.as_str()),
        (RunStatus::Completed, "gold;map;")
    );
    assert_eq!(
        runtime.children(&session).await.len(),
        2,
        "no child was started twice"
    );
    assert!(
        runtime
            .model
            .requests()
            .iter()
            .all(|request| &*request.agent != "scout"),
        "the scout had answered"
    );
    runtime.verify().await;
}

#[tokio::test]
async fn a_result_that_came_while_the_process_was_gone_is_told_once() {
    let script = || {
        vec![
            say("").agent("lead").calls([task_with(
                "helper",
                "dig",
                json!({"run_in_background": true}),
            )]),
            say("meanwhile").agent("lead"),
            say("heard").agent("lead").matching("child_result"),
            say("").agent("helper").calls([call("Look", json!({}))]),
            say("gold").agent("helper"),
        ]
    };
    let (look, keeper) = ProbeTool::gated("Look", Effect::ReadOnly);
    let runtime = with(look, script()).build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    while keeper.started() < 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let runtime = runtime
        .crash(with(ProbeTool::open("Look", Effect::ReadOnly), script()))
        .await;
    runtime.recover().await;
    assert_eq!(runtime.wait_for_nth_run(&session, 2).await.text, "heard");
    let runtime = runtime
        .reopen(with(ProbeTool::open("Look", Effect::ReadOnly), script()))
        .await;
    runtime.recover().await;
    let told = |event: &rooftree_protocol::Event| matches!(&event.body, EventBody::MessageUser { message, .. } if matches!(message.origin, Origin::Task { .. }));
    assert_eq!(
        runtime
            .events(&session)
            .await
            .iter()
            .filter(|event| told(event))
            .count(),
        1
    );
    runtime.verify().await;
}
