//! What an asked agent may do: never more than the one who asks.

use rooftree_protocol::{AgentDefinition, PermissionMode, Scope};
use rooftree_providers::scripted::{call, say};
use rooftree_tools::{Policy, Rule};
use serde_json::json;

use super::{agent, plan, task};

#[tokio::test]
async fn tools_only_narrow_from_parent_to_child() {
    let lead = AgentDefinition { tools: Scope::only(["Look", "Task"]), ..agent("lead") };
    let greedy = AgentDefinition { tools: Scope::only(["*"]), ..agent("greedy") };
    let none = AgentDefinition { tools: Scope::only(Vec::<String>::new()), ..agent("none") };
    let house = plan([
        say("").agent("lead").calls([task("greedy", "x"), task("none", "y"), task("helper", "z")]),
        say("done").agent("lead"),
        say("").agent("greedy").calls([call("Change", json!({}))]),
        say("ok").agent("greedy"),
        say("ok").agent("none"),
        say("ok").agent("helper"),
    ])
    .agent(lead)
    .agent(greedy)
    .agent(none)
    .build();
    let session = house.post("go").await;
    house.finished(&session).await;
    let tools = |name: &str| {
        let asked = house.model.requests().into_iter().find(|request| &*request.agent == name).unwrap();
        asked.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(tools("greedy"), ["Look"], "not more than its parent");
    assert!(tools("none").is_empty(), "an empty list is no tools");
    assert_eq!(tools("helper"), ["Look"], "what is not said comes from the parent");
    let greedy = house.children(&session).await.into_iter().find(|child| child.agent == "greedy").unwrap();
    assert!(house.story(&greedy.id).await.contains("failed: tool_not_allowed"));
}

#[tokio::test]
async fn a_child_is_never_more_permissive_than_its_parent() {
    let bold = AgentDefinition { permission_mode: Some(PermissionMode::Bypass), ..agent("bold") };
    let shy = AgentDefinition { permission_mode: Some(PermissionMode::Plan), ..agent("shy") };
    let mut plan = plan([
        say("").agent("lead").calls([task("bold", "x"), task("shy", "y")]),
        say("done").agent("lead"),
        say("").agent("bold").calls([call("Change", json!({}))]),
        say("ok").agent("bold"),
        say("").agent("shy").calls([call("Change", json!({}))]),
        say("ok").agent("shy"),
    ])
    .agent(bold)
    .agent(shy);
    plan.policy =
        Policy { mode: PermissionMode::Ask, allow: vec![], deny: vec![Rule::parse("Look").unwrap()] };
    let house = plan.build();
    let session = house.post("go").await;
    house.finished(&session).await;
    for child in house.children(&session).await {
        let story = house.story(&child.id).await;
        assert!(story.contains("tool     Change denied"), "{}: {story}", child.agent);
    }
}

#[tokio::test]
async fn a_peer_named_by_the_user_works_with_its_own_rights_and_others_with_the_askers() {
    let lead = |agents| AgentDefinition { tools: Scope::only(["Look", "Task"]), agents, ..agent("lead") };
    let script = || {
        [
            say("")
                .agent("lead")
                .calls([call("agents_message", json!({"agentId": "helper", "content": "x"}))]),
            say("{{ results[0].text }}").agent("lead"),
            say("").agent("helper").calls([call("Change", json!({"say": "changed"}))]),
            say("{{ results[0].text | find('^[a-z_]+') }}").agent("helper"),
        ]
    };
    for (agents, wanted) in [(Scope::only(["helper"]), "changed"), (Scope::default(), "tool_not_allowed")] {
        let house = plan(script()).agent(lead(agents)).build();
        let session = house.post("go").await;
        let answer: serde_json::Value = serde_json::from_str(&house.finished(&session).await.text).unwrap();
        assert_eq!(answer["response"], wanted);
        assert_eq!((&answer["status"], &answer["mode"]), (&json!("complete"), &json!("sync")));
        assert_eq!(answer["created"], true);
    }
}
