//! Rules and definitions that change while an agent works: less at its next turn, more at its next run.

use std::time::Duration;

use rooftree_protocol::{
    AgentDefinition, Command, DefinitionLevel, DefinitionSource, Effect, EventBody, PermissionMode,
    Scope,
};
use rooftree_providers::scripted::{ScriptEntry, call, say};
use rooftree_runtime::{Clock, Definitions};
use rooftree_store::{RuleKind, RuleRow, RuleScope, Store};
use rooftree_testkit::{ProbeTool, TestRuntime, TestRuntimeBuilder, probe_tool::ProbeGate};
use rooftree_tools::{PermissionRule, Policy, Toolset};
use serde_json::json;

use super::{notices, tools};

fn rule(runtime: &TestRuntime, rule: &str) -> RuleRow {
    let (number, kind, scope) = (0, RuleKind::Allow, RuleScope::Always);
    RuleRow {
        number,
        kind,
        rule: rule.into(),
        scope,
        by: "ann".into(),
        at: runtime.clock.now(),
    }
}

async fn begun(keeper: &ProbeGate, calls: u32) {
    while keeper.started() < calls {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Changes something as another process does, and returns when the runtime has heard of it.
async fn elsewhere(runtime: &TestRuntime, change: impl AsyncFnOnce(&dyn Store)) {
    let other = runtime.open_second(TestRuntimeBuilder::new([]));
    let (mut changes, store) = (runtime.store().changes(), other.store());
    change(&**store).await;
    // What is noticed first may be a commit before the change. When the second commit after it is noticed, the
    // runtime has dealt with the first.
    for _ in 0..2 {
        changes.mark_unchanged();
        store
            .put_rule(rule(runtime, "Nothing"), None)
            .await
            .unwrap();
        changes.changed().await.unwrap();
    }
}

/// A runtime in mode ask where a helper, or the lead itself, is held and then changes something.
fn plan(entries: impl IntoIterator<Item = ScriptEntry>) -> (TestRuntimeBuilder, ProbeGate) {
    let (held, keeper) = ProbeTool::gated("Held", Effect::ReadOnly);
    let tools = Toolset::new(tools().iter().cloned().chain([held]));
    let mut plan = TestRuntimeBuilder::new(entries)
        .with_delegation(tools)
        .agent(AgentDefinition::new("helper"));
    plan.rights.policy = Policy {
        mode: PermissionMode::Ask,
        ..Policy::default()
    };
    (plan, keeper)
}

fn works(agent: &str) -> [ScriptEntry; 3] {
    [
        say("").agent(agent).calls([call("Held", json!({}))]),
        say("")
            .agent(agent)
            .calls([call("Change", json!({"say": "x"}))]),
        say("done").agent(agent),
    ]
}

#[tokio::test]
async fn s_b7_a_rule_that_is_taken_away_reaches_a_child_that_works() {
    let task = call(
        "Task",
        json!({"subagent_type": "helper", "prompt": "x", "isolation": "none"}),
    );
    let lead = [say("").agent("lead").calls([task]), say("ok").agent("lead")];
    for (is_removed, wanted) in [(true, "denied"), (false, "done")] {
        let (plan, keeper) = plan(lead.clone().into_iter().chain(works("helper")));
        let runtime = plan.build();
        let store = runtime.store().clone();
        let number = store
            .put_rule(rule(&runtime, "Change"), None)
            .await
            .unwrap();
        let session = runtime.post("go").await;
        begun(&keeper, 1).await;
        if is_removed {
            elsewhere(&runtime, async |store| {
                assert!(store.remove_rule(number, None).await.unwrap())
            })
            .await;
        }
        let child = runtime.children(&session).await.remove(0).id;
        keeper.open(1);
        runtime.wait_for_run(&child).await;
        let story = runtime.transcript(&child).await;
        assert!(
            story.contains(&format!("tool     Change {wanted}")),
            "{story}"
        );
    }
}

#[tokio::test]
async fn s_b7_a_rule_made_by_hand_widens_at_the_next_run_and_an_answer_at_once() {
    for (by, wanted) in [("ann", "denied"), ("ann (answer)", "done")] {
        let again = call("Change", json!({"say": "x"}));
        let entries = works("lead")
            .into_iter()
            .chain([say("").agent("lead").matching("again").calls([again])]);
        let (plan, keeper) = plan(entries);
        let runtime = plan.build();
        let session = runtime.post("go").await;
        begun(&keeper, 1).await;
        let row = RuleRow {
            by: by.into(),
            ..rule(&runtime, "Change")
        };
        elsewhere(&runtime, async |store| {
            assert!(store.put_rule(row, None).await.is_ok())
        })
        .await;
        keeper.open(1);
        runtime.wait_for_run(&session).await;
        let story = runtime.transcript(&session).await;
        assert!(
            story.contains(&format!("tool     Change {wanted}")),
            "this run, {by}: {story}"
        );
        runtime.post_to(&session, "again").await;
        runtime.wait_for_nth_run(&session, 2).await;
        assert!(
            runtime
                .transcript(&session)
                .await
                .contains("tool     Change done"),
            "the next run, {by}"
        );
    }
}

fn lead(names: &[&str], mode: Option<PermissionMode>) -> AgentDefinition {
    let tools = Scope::only(names.iter().copied());
    AgentDefinition {
        tools,
        permission_mode: mode,
        ..AgentDefinition::new("lead")
    }
}

#[tokio::test]
async fn s_b7_a_definition_that_is_changed_narrows_at_the_next_turn_and_widens_at_the_next_run() {
    let all = ["Held", "Change"];
    let table: [(&str, AgentDefinition, Option<AgentDefinition>, &str); 4] = [
        (
            "a tool is taken away",
            lead(&all, None),
            Some(lead(&["Held"], None)),
            "failed: tool_not_allowed",
        ),
        (
            "the mode is lowered",
            lead(&all, None),
            Some(lead(&all, Some(PermissionMode::Plan))),
            "denied",
        ),
        (
            "it is taken away",
            lead(&all, None),
            None,
            "failed: tool_not_allowed",
        ),
        (
            "a tool is added",
            lead(&["Held"], None),
            Some(lead(&all, None)),
            "failed: tool_not_allowed",
        ),
    ];
    for (what, before, after, wanted) in table {
        let (mut plan, keeper) = plan(works("lead"));
        plan.definitions = Definitions::default().with(before);
        plan.rights.policy.mode = PermissionMode::Bypass;
        let definitions = plan.definitions.clone();
        let runtime = plan.build();
        let session = runtime.post("go").await;
        begun(&keeper, 1).await;
        match after {
            Some(after) => drop(definitions.put(after)),
            None => drop(definitions.remove("lead")),
        }
        keeper.open(1);
        runtime.wait_for_run(&session).await;
        let story = runtime.transcript(&session).await;
        assert!(
            story.contains(&format!("tool     Change {wanted}")),
            "{what}: {story}"
        );
    }
}

fn of(level: DefinitionLevel, definition: AgentDefinition) -> AgentDefinition {
    AgentDefinition {
        source: DefinitionSource {
            level,
            ..DefinitionSource::default()
        },
        ..definition
    }
}

#[tokio::test]
async fn s_b6_a_projects_definition_has_no_right_that_the_one_it_hides_lacks() {
    let kid = |names: &[&str]| AgentDefinition {
        tools: Scope::only(names.iter().copied()),
        ..AgentDefinition::new("kid")
    };
    let calls = ["Look", "Change"].map(|tool| call(tool, json!({"say": tool})));
    let mut plan =
        TestRuntimeBuilder::new([say("").agent("kid").calls(calls), say("done").agent("kid")])
            .tools(tools());
    plan = plan
        .agent(of(DefinitionLevel::User, kid(&["Look"])))
        .agent(of(DefinitionLevel::Project, kid(&["Look", "Change"])));
    let runtime = plan.build();
    let session = runtime.post_as("kid", "go").await;
    runtime.wait_for_run(&session).await;
    let story = runtime.transcript(&session).await;
    assert!(story.contains("tool     Look done"), "{story}");
    assert!(
        story.contains("tool     Change failed: tool_not_allowed"),
        "{story}"
    );
    let told = notices(&runtime, &session, "hides").await;
    assert!(told[0].contains("hides the user's one"), "{told:?}");
    assert!(!told[0].contains("builtin/kid"), "{told:?}");
}

#[tokio::test]
async fn s_b6_a_projects_definition_is_no_trusted_peer() {
    let message = call("agents_message", json!({"agentId": "kid", "content": "x"}));
    for (level, wanted) in [
        (DefinitionLevel::Project, "tool_not_allowed"),
        (DefinitionLevel::User, "changed"),
    ] {
        let narrow = AgentDefinition {
            tools: Scope::only(["Look", "Task"]),
            agents: Scope::only(["kid"]),
            ..AgentDefinition::new("lead")
        };
        let runtime = TestRuntimeBuilder::new([
            say("").agent("lead").calls([message.clone()]),
            say("{{ results[0].text }}").agent("lead"),
            say("")
                .agent("kid")
                .calls([call("Change", json!({"say": "changed"}))]),
            say("{{ results[0].text | find('^[a-z_]+') }}").agent("kid"),
        ])
        .with_delegation(tools())
        .agent(of(DefinitionLevel::User, narrow))
        .agent(of(level, AgentDefinition::new("kid")))
        .build();
        let session = runtime.post("go").await;
        let answer: serde_json::Value =
            serde_json::from_str(&runtime.wait_for_run(&session).await.text).unwrap();
        assert_eq!(answer["response"], wanted, "{level:?}");
    }
}

#[tokio::test]
async fn s_m2_a_child_gets_none_of_the_tools_its_parent_lacks_one_by_one() {
    let names = ["Look", "Change", "Destroy", "Act", "Walls", "Write", "Bash"];
    let probes = ["Write", "Bash"].map(|name| ProbeTool::open(name, Effect::LocalMutation));
    for lacking in names {
        let held = names
            .iter()
            .filter(|name| **name != lacking)
            .copied()
            .chain(["Task"]);
        let all = names.map(|name| call(name, json!({"say": name})));
        let task = call(
            "Task",
            json!({"subagent_type": "greedy", "prompt": "x", "isolation": "none"}),
        );
        let runtime = TestRuntimeBuilder::new([
            say("").agent("lead").calls([task]),
            say("ok").agent("lead"),
            say("").agent("greedy").calls(all),
            say("ok").agent("greedy"),
        ])
        .with_delegation(Toolset::new(tools().iter().chain(&probes).cloned()))
        .agent(AgentDefinition {
            tools: Scope::only(held),
            ..AgentDefinition::new("lead")
        })
        .agent(AgentDefinition {
            tools: Scope::only(names),
            ..AgentDefinition::new("greedy")
        })
        .build();
        let session = runtime.post("go").await;
        runtime.wait_for_run(&session).await;
        let child = runtime.children(&session).await.remove(0).id;
        let asked = runtime
            .model
            .requests()
            .into_iter()
            .find(|request| &*request.agent == "greedy")
            .unwrap();
        assert!(
            asked.tools.iter().all(|tool| tool.name != lacking),
            "{lacking}"
        );
        for event in runtime.events(&child).await {
            if let EventBody::ToolCompleted(record) = event.body {
                assert_eq!(
                    record.outcome.is_done(),
                    record.tool != lacking,
                    "{lacking}: {record:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn r2_d14_whoever_is_told_that_something_is_asked_is_told_what_was_decided() {
    let task = call(
        "Task",
        json!({"subagent_type": "helper", "prompt": "x", "isolation": "none", "run_in_background": true}),
    );
    let (mut plan, _) = plan([
        say("").agent("lead").matching("go").calls([task]),
        say("")
            .agent("helper")
            .calls([call("Change", json!({"say": "x"}))]),
        say("done").agent("helper"),
        say("hello").agent("lead").times(9),
    ]);
    plan.rights.approvals = rooftree_runtime::ApprovalSource::Client;
    let runtime = plan.build();
    let first = runtime.post("go").await;
    runtime.wait_for_run(&first).await;
    let child = runtime.children(&first).await.remove(0).id;
    let asked = runtime.wait_for_event(&child, "permission.requested").await;
    let EventBody::PermissionRequested { id, .. } = &asked.body else {
        panic!()
    };
    runtime.clock.advance(Duration::from_secs(1));
    let second = runtime.post("hello there").await;
    runtime.wait_for_run(&second).await;
    let answer = rooftree_protocol::Answer::allow(rooftree_protocol::PermissionScope::Once);
    runtime
        .command(Command::Permit {
            session: child.clone(),
            permission: id.clone(),
            answer,
        })
        .await;
    runtime.wait_for_run(&child).await;
    runtime.wait_for_nth_run(&first, 2).await;
    runtime.post_to(&second, "and?").await;
    runtime.wait_for_nth_run(&second, 2).await;
    assert!(
        runtime
            .transcript(&first)
            .await
            .contains("what it asked is decided")
    );
    assert!(
        !runtime
            .transcript(&second)
            .await
            .contains("what it asked is decided")
    );
}

#[test]
fn a_recorded_rule_that_cannot_be_parsed_narrows() {
    use rooftree_protocol::event::PolicyNote;
    let note = |deny: &[&str]| PolicyNote {
        mode: PermissionMode::Bypass,
        deny: deny.iter().map(|rule| (*rule).to_owned()).collect(),
        ..PolicyNote::default()
    };
    assert_eq!(
        Policy::recorded(&note(&["Act"])).mode,
        PermissionMode::Bypass
    );
    assert!(PermissionRule::parse("Act(").is_err());
    assert_eq!(
        Policy::recorded(&note(&["Act("])).mode,
        PermissionMode::Plan
    );
}
