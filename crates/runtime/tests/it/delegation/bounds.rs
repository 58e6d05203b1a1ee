//! How deep, how many, who may ask whom.

use std::time::Duration;

use rooftree_protocol::{AgentDefinition, Effect, Limits, Scope, UseAs};
use rooftree_providers::scripted::{call, say};
use rooftree_testkit::ProbeTool;
use rooftree_tools::Toolset;
use serde_json::json;

use super::{agent, plan, task, task_with};

#[tokio::test]
async fn at_the_default_depth_a_sub_agent_has_no_task_tool_and_is_refused_if_it_calls_it() {
    let runtime = plan([
        say("").agent("lead").calls([task("helper", "delegate on")]),
        say("{{ results[0].text | first_line }}").agent("lead"),
        say("").agent("helper").calls([task("scout", "you do it")]),
        say("{{ results[0].text }}").agent("helper"),
    ])
    .build();
    let session = runtime.post("go").await;
    let text = runtime.wait_for_run(&session).await.text;
    assert!(
        text.starts_with("Task is not available inside a sub-agent."),
        "{text}"
    );
    let helpers = runtime
        .model
        .requests()
        .into_iter()
        .find(|request| &*request.agent == "helper")
        .unwrap();
    let names: Vec<&str> = helpers
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert!(
        !names.contains(&"Task") && names.contains(&"Look"),
        "{names:?}"
    );
    assert_eq!(runtime.children(&session).await.len(), 1);
}

#[tokio::test]
async fn with_a_depth_of_two_a_sub_agent_may_ask_and_the_third_may_not() {
    let mut plan = plan([
        say("").agent("lead").calls([task("helper", "one")]),
        say("{{ results[0].text | first_line }}").agent("lead"),
        say("").agent("helper").calls([task("scout", "two")]),
        say("{{ results[0].text | first_line }}").agent("helper"),
        say("").agent("scout").calls([task("task", "three")]),
        say("{{ results[0].text | cut(40) }}").agent("scout"),
    ]);
    plan.limits.depth = Some(2);
    let runtime = plan.build();
    let session = runtime.post("go").await;
    let text = runtime.wait_for_run(&session).await.text;
    assert!(text.starts_with("Task is not available inside"), "{text}");
}

#[tokio::test]
async fn nobody_waits_for_somebody_who_waits_for_them() {
    let mut plan = plan([
        say("").agent("lead").calls([task("helper", "one")]),
        say("{{ results[0].text | first_line }}").agent("lead"),
        say("").agent("helper").calls([task("lead", "back to you")]),
        say("{{ results[0].text | first_line }}").agent("helper"),
    ]);
    plan.limits.depth = Some(5);
    let runtime = plan.build();
    let session = runtime.post("go").await;
    let text = runtime.wait_for_run(&session).await.text;
    assert!(
        text.contains("it would wait for itself (lead → helper → lead)"),
        "{text}"
    );
}

#[tokio::test]
async fn who_may_ask_whom_is_in_the_definitions() {
    let lead = AgentDefinition {
        agents: Scope::only(["scout*"]),
        ..agent("lead")
    };
    let primary = AgentDefinition {
        use_as: UseAs::Primary,
        ..agent("scout-main")
    };
    let runtime = plan([
        say("").agent("lead").calls([
            task("helper", "x"),
            task("scout", "y"),
            task("scout-main", "z"),
            task("nobody", "z"),
            call("ListAgents", json!({})),
        ]),
        say("{% for r in results %}{{ r.text | first_line }}\n{% endfor %}").agent("lead"),
        say("fine").agent("scout"),
    ])
    .agent(lead)
    .agent(primary)
    .build();
    let session = runtime.post("go").await;
    let text = runtime.wait_for_run(&session).await.text;
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].contains("agent_not_accessible: agent 'helper' may not be asked by 'lead'"),
        "{text}"
    );
    assert_eq!(lines[1], "fine");
    assert!(lines[2].contains("agent_not_accessible"), "{text}");
    assert_eq!(lines[3], "Unknown agent type \"nobody\". Available: scout");
    assert_eq!(lines[4], "- scout: The scout.");
}

#[tokio::test]
async fn one_more_than_may_be_at_work_is_refused_and_the_others_go_on() {
    let (look, keeper) = ProbeTool::gated("Look", Effect::ReadOnly);
    let limits = Limits {
        children: 2,
        ..Limits::default()
    };
    let mut plan = plan([
        say("")
            .agent("lead")
            .calls((0..3).map(|_| task_with("helper", "x", json!({"run_in_background": true})))),
        say("{% for r in results %}{{ r.text | cut(30) }}\n{% endfor %}").agent("lead"),
        say("heard").agent("lead").matching("child_result"),
        say("").agent("helper").calls([call("Look", json!({}))]),
        say("done").agent("helper"),
    ])
    .agent(AgentDefinition {
        limits,
        ..agent("lead")
    });
    plan.tools = rooftree_runtime::delegation::tools::with_tools(&Toolset::new([look]));
    let runtime = plan.build();
    let session = runtime.post("go").await;
    let text = runtime.wait_for_run(&session).await.text;
    assert_eq!(
        text.matches("[ERROR: sub-agent 'helper' was").count(),
        1,
        "{text}"
    );
    keeper.open(2);
    for child in runtime.children(&session).await {
        runtime.wait_for_run(&child.id).await;
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    runtime.verify().await;
}
