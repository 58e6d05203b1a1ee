//! A sub-agent that the result of its own background agent wakes has the rights it was given, and no more.

use std::sync::Arc;

use rooftree_protocol::{
    AgentDefinition, Effect, Event, EventBody, PermissionMode, Scope, SessionId,
};
use rooftree_providers::scripted::{call, say};
use rooftree_testkit::{ProbeTool, TestRuntime, TestRuntimeBuilder};
use rooftree_tools::{Policy, Tool, Toolset};
use serde_json::json;

use super::tools;

/// A lead that may only look, a helper that takes all it can get, and a scout that is held.
fn plan(held: Arc<dyn Tool>, resumed: Arc<dyn Tool>) -> TestRuntimeBuilder {
    let task = |agent: &str, background: bool| {
        let input =
            json!({"subagent_type": agent, "prompt": "work", "run_in_background": background});
        call("Task", input)
    };
    let mut plan = TestRuntimeBuilder::new([
        say("").agent("lead").calls([task("helper", false)]),
        say("done").agent("lead"),
        say("").agent("helper").calls([task("scout", true)]),
        say("started").agent("helper"),
        say("").agent("scout").calls([call("Held", json!({}))]),
        say("found").agent("scout"),
        say("")
            .agent("helper")
            .calls([call("Resumed", json!({"say": "looked"}))]),
        say("")
            .agent("helper")
            .calls([call("Change", json!({})), call("Walls", json!({}))]),
        say("woken").agent("helper"),
    ])
    .with_delegation(Toolset::new(tools().iter().cloned().chain([held, resumed])))
    .agent(AgentDefinition {
        tools: Scope::only(["Look", "Task", "Held", "Resumed"]),
        permission_mode: Some(PermissionMode::Plan),
        ..AgentDefinition::new("lead")
    })
    .agent(AgentDefinition {
        tools: Scope::only(["*"]),
        permission_mode: Some(PermissionMode::Bypass),
        ..AgentDefinition::new("helper")
    })
    .agent(AgentDefinition::new("scout"));
    plan.limits.depth = Some(2);
    plan.rights.policy = Policy {
        mode: PermissionMode::Bypass,
        ..Policy::default()
    };
    plan
}

fn open(name: &str) -> Arc<dyn Tool> {
    ProbeTool::open(name, Effect::ReadOnly)
}

async fn helper_of(runtime: &TestRuntime, lead: &SessionId) -> SessionId {
    runtime.children(lead).await.remove(0).id
}

async fn has_started(runtime: &TestRuntime, session: &SessionId, name: &str) -> bool {
    let events = runtime.events(session).await;
    let starts =
        |event: &Event| matches!(&event.body, EventBody::ToolStarted { tool, .. } if tool == name);
    events.iter().any(starts)
}

/// The woken run began at the depth and in the mode that the lead gave, and no tool of others worked.
async fn assert_narrow(runtime: &TestRuntime, helper: &SessionId) {
    let story = runtime.transcript(helper).await;
    assert!(
        story.contains("tool     Change failed: tool_not_allowed"),
        "{story}"
    );
    assert!(
        story.contains("tool     Walls failed: tool_not_allowed"),
        "{story}"
    );
    let events = runtime.events(helper).await;
    let begun: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::RunStarted { depth, policy, .. } => {
                Some((*depth, policy.as_ref().unwrap().mode))
            }
            _ => None,
        })
        .collect();
    assert_eq!(begun, [(1, PermissionMode::Plan); 2], "{story}");
}

#[tokio::test]
async fn r2_d1_a_sub_agent_woken_by_its_own_background_agent_keeps_its_mandate() {
    let (held, keeper) = ProbeTool::gated("Held", Effect::ReadOnly);
    let runtime = plan(held, open("Resumed")).build();
    let lead = runtime.post("go").await;
    assert_eq!(runtime.wait_for_run(&lead).await.text, "done");
    keeper.open(1);
    let helper = helper_of(&runtime, &lead).await;
    assert_eq!(runtime.wait_for_nth_run(&helper, 2).await.text, "woken");
    assert_narrow(&runtime, &helper).await;
    runtime.verify().await;
}

#[tokio::test]
async fn r2_d1_it_keeps_its_mandate_when_the_woken_run_is_recovered_after_a_crash() {
    let (held, keeper) = ProbeTool::gated("Held", Effect::ReadOnly);
    let (resumed, _never) = ProbeTool::gated("Resumed", Effect::ReadOnly);
    let runtime = plan(held, resumed).build();
    let lead = runtime.post("go").await;
    runtime.wait_for_run(&lead).await;
    keeper.open(1);
    let helper = helper_of(&runtime, &lead).await;
    // Held in its call, the agent writes nothing that would keep its claim alive.
    while !has_started(&runtime, &helper, "Resumed").await {
        tokio::task::yield_now().await;
    }
    let runtime = runtime.crash(plan(open("Held"), open("Resumed"))).await;
    runtime.recover().await;
    assert_eq!(runtime.wait_for_nth_run(&helper, 2).await.text, "woken");
    assert_narrow(&runtime, &helper).await;
    runtime.verify().await;
}
