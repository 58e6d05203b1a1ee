//! Hooks in agents that another one asked: the same points, with their own id; and an agent's own hooks.

use rooftree_protocol::{AgentDefinition, Effect};
use rooftree_providers::scripted::{call, say};
use rooftree_runtime::hooks::HookPoint;
use rooftree_testkit::{ProbeTool, TestRuntimeBuilder};
use rooftree_tools::Toolset;
use serde_json::{Value, json};

use super::{asked, asked_about, keeps, kept, story_of, with};

/// The lead asks the helper, who does something.
fn delegating(
    hooks: Vec<rooftree_runtime::hooks::ConfiguredHook>,
    helper: AgentDefinition,
) -> TestRuntimeBuilder {
    let ask = call(
        "Task",
        json!({"agent": "helper", "description": "help", "prompt": "Help."}),
    );
    let entries = [
        say("").calls([ask]).agent("lead"),
        say("{{ results[0].text }}").agent("lead"),
        say("")
            .calls([call("Do", json!({"say": "effect"}))])
            .agent("helper"),
        say("{{ results[0].text }}").agent("helper"),
        say("{{ user.text }}").agent("helper").times(9),
    ];
    with(entries, hooks)
        .with_delegation(Toolset::new([ProbeTool::open("Do", Effect::LocalMutation)]))
        .agent(helper)
}

fn helper() -> AgentDefinition {
    AgentDefinition {
        description: "helps".into(),
        ..AgentDefinition::new("helper")
    }
}

#[tokio::test]
async fn what_a_child_does_is_asked_about_with_its_own_id_and_depth() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let points = [
        HookPoint::SubagentStart,
        HookPoint::PreToolUse,
        HookPoint::SubagentStop,
        HookPoint::Stop,
        HookPoint::SessionStart,
    ];
    let hooks = points.map(|point| asked(point, &keeps(&log))).to_vec();
    let (runtime, session, _) = story_of(delegating(hooks, helper())).await;
    let child = runtime.children(&session).await.remove(0);
    let told = kept(&log);
    let inside: Vec<&Value> = told
        .iter()
        .filter(|told| told["agent_id"] == json!(child.id))
        .collect();
    let names: Vec<&str> = inside
        .iter()
        .map(|told| told["hook_event_name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["SubagentStart", "PreToolUse", "SubagentStop"]);
    for told in &inside {
        assert_eq!(
            (&told["agent_type"], &told["depth"]),
            (&json!("helper"), &json!(1)),
            "{told}"
        );
        assert_eq!(
            told["session_id"],
            json!(session),
            "people know the session above: {told}"
        );
    }
    let above: Vec<&Value> = told
        .iter()
        .filter(|told| told["agent_id"].is_null())
        .collect();
    let names: Vec<&str> = above
        .iter()
        .map(|told| told["hook_event_name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["SessionStart", "PreToolUse", "Stop"]);
}

#[tokio::test]
async fn a_child_is_refused_what_a_hook_refuses_and_a_matcher_knows_other_names_of_tools() {
    let (_, _, story) = story_of(delegating(
        vec![asked_about(HookPoint::PreToolUse, "Do", "exit 2")],
        helper(),
    ))
    .await;
    assert!(story.contains("a hook refuses it"), "{story}");
    let (_, _, story) = story_of(delegating(
        vec![asked_about(HookPoint::PreToolUse, "Agent", "exit 2")],
        helper(),
    ))
    .await;
    assert!(story.contains("tool     Task denied"), "{story}");
}

#[tokio::test]
async fn an_agents_own_hooks_are_asked_while_it_works_and_its_end_is_that_of_a_sub_agent() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let command = json!([{"hooks": [{"type": "command", "command": keeps(&log)}]}]);
    let own = json!({"PreToolUse": command, "Stop": command});
    let definition = AgentDefinition {
        hooks: Some(own),
        ..helper()
    };
    story_of(delegating(vec![], definition)).await;
    let told = kept(&log);
    let names: Vec<(&str, &str)> = told
        .iter()
        .map(|told| {
            (
                told["hook_event_name"].as_str().unwrap(),
                told["agent_type"].as_str().unwrap_or(""),
            )
        })
        .collect();
    assert_eq!(
        names,
        [("PreToolUse", "helper"), ("SubagentStop", "helper")]
    );
}

#[tokio::test]
async fn a_childs_end_can_be_put_off_too() {
    let once = r#"grep -q '"stop_hook_active":true' && exit 0; echo 'look closer' >&2; exit 2"#;
    let (runtime, session, _) = story_of(delegating(
        vec![asked(HookPoint::SubagentStop, once)],
        helper(),
    ))
    .await;
    let child = runtime.children(&session).await.remove(0);
    let story = runtime.transcript(&child.id).await;
    assert!(
        story.contains("hook     SubagentStop blocks: look closer"),
        "{story}"
    );
    runtime.verify().await;
}

#[tokio::test]
async fn the_first_agents_own_hooks_hear_of_the_beginning_and_the_end_of_the_session() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let command = json!([{"hooks": [{"type": "command", "command": keeps(&log)}]}]);
    let own = json!({"SessionStart": command, "SessionEnd": command});
    let lead = AgentDefinition {
        hooks: Some(own),
        ..AgentDefinition::new("lead")
    };
    let (runtime, _, _) = story_of(with([say("done")], vec![]).agent(lead)).await;
    runtime.close().await;
    let told = kept(&log);
    let names: Vec<&str> = told
        .iter()
        .map(|told| told["hook_event_name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["SessionStart", "SessionEnd"]);
}
