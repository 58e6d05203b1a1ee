//! What an asked agent may do: never more than the one who asks.

use rooftree_protocol::{AgentDefinition, PermissionMode, Scope};
use rooftree_providers::scripted::{call, say};
use rooftree_tools::{PermissionRule, Policy};
use serde_json::json;

use super::{agent, plan, task};

#[tokio::test]
async fn tools_only_narrow_from_parent_to_child() {
    let lead = AgentDefinition {
        tools: Scope::only(["Look", "Task"]),
        ..agent("lead")
    };
    let greedy = AgentDefinition {
        tools: Scope::only(["*"]),
        ..agent("greedy")
    };
    let none = AgentDefinition {
        tools: Scope::only(Vec::<String>::new()),
        ..agent("none")
    };
    let runtime = plan([
        say("")
            .agent("lead")
            .calls([task("greedy", "x"), task("none", "y"), task("helper", "z")]),
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
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let tools = |name: &str| {
        let asked = runtime
            .model
            .requests()
            .into_iter()
            .find(|request| &*request.agent == name)
            .unwrap();
        asked
            .tools
            .iter()
            .map(|tool| tool.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(tools("greedy"), ["Look"], "not more than its parent");
    assert!(tools("none").is_empty(), "an empty list is no tools");
    assert_eq!(
        tools("helper"),
        ["Look"],
        "what is not said comes from the parent"
    );
    let greedy = runtime
        .children(&session)
        .await
        .into_iter()
        .find(|child| child.agent == "greedy")
        .unwrap();
    assert!(
        runtime
            .transcript(&greedy.id)
            .await
            .contains("failed: tool_not_allowed")
    );
}

#[tokio::test]
async fn a_child_is_never_more_permissive_than_its_parent() {
    let bold = AgentDefinition {
        permission_mode: Some(PermissionMode::Bypass),
        ..agent("bold")
    };
    let shy = AgentDefinition {
        permission_mode: Some(PermissionMode::Plan),
        ..agent("shy")
    };
    let mut plan = plan([
        say("")
            .agent("lead")
            .calls([task("bold", "x"), task("shy", "y")]),
        say("done").agent("lead"),
        say("").agent("bold").calls([call("Change", json!({}))]),
        say("ok").agent("bold"),
        say("").agent("shy").calls([call("Change", json!({}))]),
        say("ok").agent("shy"),
    ])
    .agent(bold)
    .agent(shy);
    plan.rights.policy = Policy {
        deny: vec![PermissionRule::parse("Look").unwrap()],
        ..Policy::default()
    };
    let runtime = plan.build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    for child in runtime.children(&session).await {
        let story = runtime.transcript(&child.id).await;
        assert!(
            story.contains("tool     Change denied"),
            "{}: {story}",
            child.agent
        );
    }
}

#[tokio::test]
async fn a_peer_named_by_the_user_works_with_its_own_rights_and_others_with_the_askers() {
    let lead = |agents| AgentDefinition {
        tools: Scope::only(["Look", "Task"]),
        agents,
        ..agent("lead")
    };
    let script = || {
        [
            say("").agent("lead").calls([call(
                "agents_message",
                json!({"agentId": "helper", "content": "x"}),
            )]),
            say("{{ results[0].text }}").agent("lead"),
            say("")
                .agent("helper")
                .calls([call("Change", json!({"say": "changed"}))]),
            say("{{ results[0].text | find('^[a-z_]+') }}").agent("helper"),
        ]
    };
    for (agents, wanted) in [
        (Scope::only(["helper"]), "changed"),
        (Scope::default(), "tool_not_allowed"),
    ] {
        let runtime = plan(script()).agent(lead(agents)).build();
        let session = runtime.post("go").await;
        let answer: serde_json::Value =
            serde_json::from_str(&runtime.wait_for_run(&session).await.text).unwrap();
        assert_eq!(answer["response"], wanted);
        assert_eq!(
            (&answer["status"], &answer["mode"]),
            (&json!("complete"), &json!("sync"))
        );
        assert_eq!(answer["created"], true);
    }
}

/// The same numbers every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    fn scope(&mut self) -> Scope {
        let names = ["Look", "Change", "T*", "*", "look", "Task", "Nobody"];
        let some = |dice: &mut Self| {
            let count = dice.below(4);
            (0..count)
                .map(|_| names[dice.below(7) as usize].to_owned())
                .collect::<Vec<_>>()
        };
        let allow = (self.below(3) > 0).then(|| {
            let mut list = some(self);
            // Most of the time somebody is left to be asked.
            list.extend((self.below(4) > 0).then(|| "Task".to_owned()));
            list
        });
        Scope {
            allow,
            deny: if self.below(3) == 0 {
                some(self)
            } else {
                Vec::new()
            },
        }
    }

    fn mode(&mut self) -> PermissionMode {
        [
            PermissionMode::Plan,
            PermissionMode::Ask,
            PermissionMode::AcceptEdits,
            PermissionMode::Bypass,
        ][self.below(4) as usize]
    }
}

#[tokio::test]
async fn over_random_trees_no_child_has_a_right_that_its_parent_lacks() {
    let mut dice = Dice(4711);
    let (mut pairs, mut lacking) = (0, 0);
    for _ in 0..60 {
        let names = ["lead", "one", "two", "three"];
        let call_all = |next: Option<&str>| {
            let mut calls = vec![call("Look", json!({})), call("Change", json!({}))];
            calls.extend(next.map(|next| task(next, "on")));
            calls
        };
        let mut plan = plan(names.iter().enumerate().flat_map(|(at, name)| {
            [
                say("")
                    .agent(*name)
                    .calls(call_all(names.get(at + 1).copied())),
                say("ok").agent(*name),
            ]
        }));
        for name in names {
            let permission_mode = (dice.below(2) == 0).then(|| dice.mode());
            plan = plan.agent(AgentDefinition {
                tools: dice.scope(),
                permission_mode,
                ..agent(name)
            });
        }
        plan.limits.depth = Some(9);
        plan.rights.policy.mode = dice.mode();
        let runtime = plan.build();
        let mut session = runtime.post("go").await;
        runtime.wait_for_run(&session).await;
        let mut above = rights(&runtime, &session).await;
        while let Some(child) = runtime.children(&session).await.pop() {
            let below = rights(&runtime, &child.id).await;
            for (name, allowed) in &below {
                let of_parent = above.iter().find(|(known, _)| known == name);
                assert!(
                    of_parent.is_some_and(|(_, of_parent)| of_parent >= allowed),
                    "{above:?} → {below:?}"
                );
            }
            lacking += usize::from(below.len() < above.len());
            pairs += 1;
            (session, above) = (child.id, below);
        }
    }
    assert!(
        pairs > 30 && lacking > 5,
        "{pairs} pairs, {lacking} of them narrower"
    );
}

/// The tools a session's model was told of that it also called, and whether the calls were let through.
async fn rights(
    runtime: &rooftree_testkit::TestRuntime,
    session: &rooftree_protocol::SessionId,
) -> Vec<(String, bool)> {
    use rooftree_protocol::EventBody;
    let asked = runtime
        .model
        .requests()
        .into_iter()
        .find(|request| request.session == *session);
    let told: Vec<String> = asked
        .iter()
        .flat_map(|asked| asked.tools.iter().map(|tool| tool.name.clone()))
        .collect();
    let mut rights = Vec::new();
    for event in runtime.events(session).await {
        if let EventBody::ToolCompleted(record) = event.body {
            assert!(
                told.contains(&record.tool) || !record.outcome.is_done(),
                "{} was not in scope",
                record.tool
            );
            if told.contains(&record.tool) && ["Look", "Change"].contains(&record.tool.as_str()) {
                rights.push((record.tool, record.outcome.is_done()));
            }
        }
    }
    rights
}
