//! Calls of one reply: at the same time where they only look, in call order for the model.

use rooftree_protocol::Effect;
use rooftree_providers::{
    ModelMessage,
    scripted::{call, say},
};
use rooftree_testkit::{ProbeTool, TestRuntimeBuilder};
use rooftree_tools::Toolset;
use serde_json::json;

#[tokio::test]
async fn calls_that_only_look_run_at_the_same_time_and_are_read_in_call_order() {
    let (slow, keeper) = ProbeTool::gated("Slow", Effect::ReadOnly);
    let fast = ProbeTool::open("Fast", Effect::ReadOnly);
    let calls = [
        call("Slow", json!({"say": "one"})),
        call("Fast", json!({"say": "two"})),
        call("Slow", json!({"say": "three"})),
    ];
    let runtime = TestRuntimeBuilder::new([say("").calls(calls), say("done")])
        .tools(Toolset::new([slow, fast]))
        .build();
    let session = runtime.post("go").await;
    // The fast one is through while both slow ones stand at the gate.
    runtime.wait_for_event(&session, "tool.completed").await;
    assert_eq!(keeper.started(), 2);
    keeper.open(2);
    runtime.wait_for_run(&session).await;

    let requests = runtime.model.requests();
    let Some(ModelMessage::Results(results)) = requests[1].messages.last().map(AsRef::as_ref)
    else {
        panic!()
    };
    let texts: Vec<String> = results.iter().map(|result| result.text()).collect();
    assert_eq!(texts, ["one", "two", "three"]);
    runtime.verify().await;
}

#[tokio::test]
async fn a_call_with_effects_waits_for_those_before_it() {
    let (look, keeper) = ProbeTool::gated("Look", Effect::ReadOnly);
    let (change, changer) = ProbeTool::gated("Change", Effect::LocalMutation);
    let calls = [
        call("Look", json!({})),
        call("Change", json!({})),
        call("Change", json!({})),
    ];
    let runtime = TestRuntimeBuilder::new([say("").calls(calls), say("done")])
        .tools(Toolset::new([look, change]))
        .build();
    let session = runtime.post("go").await;
    runtime.wait_for_event(&session, "tool.started").await;
    assert_eq!((keeper.started(), changer.started()), (1, 0));
    changer.open(2);
    keeper.open(1);
    runtime.wait_for_run(&session).await;
    assert_eq!(changer.started(), 2);
}

#[tokio::test]
async fn bad_calls_are_answers_for_the_model_not_errors() {
    let calls = [
        call("Fast", json!("not an object")),
        call("Nothing", json!({})),
        call("fast", json!({"say": "any case"})),
        call("Fast", json!({"panic": true})),
    ];
    let tools = Toolset::new([ProbeTool::open("Fast", Effect::ReadOnly)]);
    let runtime = TestRuntimeBuilder::new([say("").calls(calls), say("done")])
        .tools(tools)
        .build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let story = runtime.transcript(&session).await;
    for expected in [
        "tool     Fast failed: input must be an object",
        "tool     Nothing failed: tool_not_found: there is no tool `Nothing`. There are: Fast",
        "tool     Fast done: any case",
        "tool     Fast failed: the tool crashed; this is a bug",
        "ended    completed, 2 turns",
    ] {
        assert!(
            story.contains(expected),
            "missing `{expected}` in:\n{story}"
        );
    }
    runtime.verify().await;
}

#[tokio::test]
async fn a_tool_outside_the_agents_scope_is_refused_when_it_is_called() {
    use rooftree_protocol::{AgentDefinition, Scope};
    let definition = AgentDefinition {
        tools: Scope::only(["Look"]),
        ..AgentDefinition::new("lead")
    };
    let (change, changer) = ProbeTool::gated("Change", Effect::LocalMutation);
    let mut plan =
        TestRuntimeBuilder::new([say("").calls([call("CHANGE", json!({}))]), say("done")]);
    plan.definitions = plan.definitions.with(definition);
    let runtime = plan
        .tools(Toolset::new([
            ProbeTool::open("Look", Effect::ReadOnly),
            change,
        ]))
        .build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    assert!(
        runtime
            .transcript(&session)
            .await
            .contains("failed: tool_not_allowed")
    );
    assert_eq!(changer.started(), 0);
    assert_eq!(runtime.model.requests()[0].tools.len(), 1);
}
