//! What a command tries that it may not: every way is judged like a call of the model, or not let in at all.

use std::sync::{Arc, Mutex};

use rooftree_protocol::{Effect, PermissionMode, Scope, definition::ToolExposure};
use rooftree_providers::scripted::{call, say};
use rooftree_testkit::{ProbeTool, TestRuntimeBuilder};
use rooftree_tools::{CallSocketEnv, PermissionRule, Toolset};
use serde_json::{Value, json};

use super::{
    agent, plan,
    shell::{Shell, ask, called, say_raw, told},
};

/// What the commands of one run were told, one line each.
async fn lines(plan: TestRuntimeBuilder, agent: &str) -> String {
    let runtime = plan.build();
    let session = runtime.post_as(agent, "go").await;
    runtime.wait_for_run(&session).await;
    runtime.verify().await;
    let mut said = String::new();
    for event in runtime.events(&session).await {
        if let rooftree_protocol::EventBody::ToolCompleted(record) = event.body
            && record.tool == "Bash"
            && record.inside.is_none()
        {
            said += &rooftree_protocol::message::text_of(&record.content);
        }
    }
    said
}

/// A shell that calls each of these, one after the other.
fn calling(tools: &'static [&'static str]) -> Shell {
    Shell::new(move |way: CallSocketEnv| async move {
        let mut said = Vec::new();
        for tool in tools {
            said.push(called(&way, tool, json!({"say": "x"})).await);
        }
        said.join("\n")
    })
}

#[tokio::test]
async fn scope_holds_whatever_name_is_used() {
    let shell = calling(&[
        "Look", "LOOK", "Change", "change", "Nothing", "Bash", "shell", "Read", "look ", "Lооk",
    ]);
    let mut narrow = agent(ToolExposure::Skills);
    narrow.tools = Scope {
        allow: Some(vec!["Bash".into(), "Look".into(), "Read".into()]),
        deny: vec![],
    };
    let mut plan = plan(shell, ToolExposure::Skills).agent(narrow);
    let more = [ProbeTool::open("Read", Effect::ReadOnly)];
    plan.tools = Toolset::new(plan.tools.iter().cloned().chain(more));
    let said = lines(plan, "clerk").await;
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[..2], ["Done: x", "Done: x"], "{said}");
    for line in &lines[2..4] {
        assert!(
            line.starts_with("ToolNotAllowed: tool_not_allowed: this agent may not use"),
            "{line}"
        );
    }
    assert!(lines[4].starts_with("ToolNotFound"), "{said}");
    // Bash inside Bash, and what the agent calls itself.
    for line in &lines[5..8] {
        assert!(
            line.starts_with("ToolNotAllowed") && line.contains("is not for commands"),
            "{line}"
        );
    }
    // A blank and letters that only look alike are other names.
    assert!(
        lines[8..]
            .iter()
            .all(|line| line.starts_with("ToolNotFound")),
        "{said}"
    );
}

#[tokio::test]
async fn rules_and_modes_hold_for_commands_as_for_the_model() {
    let mut denying = plan(calling(&["Change", "Look"]), ToolExposure::Skills);
    denying.rights.policy.deny = vec![PermissionRule::parse("Change").unwrap()];
    let said = lines(denying, "clerk").await;
    assert_eq!(
        said,
        "Denied: [denied] the deny rule `Change` refuses it, in every mode\nDone: x"
    );

    let mut planning = plan(calling(&["Change", "Look"]), ToolExposure::Skills);
    planning.rights.policy.mode = PermissionMode::Plan;
    let said = lines(planning, "clerk").await;
    assert!(
        said.starts_with("Denied: [denied] plan mode only looks") && said.ends_with("\nDone: x"),
        "{said}"
    );

    // Nobody can be asked.
    let mut asking = plan(calling(&["Change"]), ToolExposure::Skills);
    asking.rights.policy.mode = PermissionMode::Ask;
    assert!(
        lines(asking, "clerk")
            .await
            .starts_with("Denied: [auto-rejected: no user can be asked]")
    );
}

#[tokio::test]
async fn a_token_is_good_for_one_call_and_for_nobody_elses() {
    let stolen: Arc<Mutex<Vec<CallSocketEnv>>> = Arc::default();
    let thief = stolen.clone();
    let shell = Shell::new(move |way: CallSocketEnv| {
        let before = { thief.lock().unwrap().clone() };
        thief.lock().unwrap().push(way.clone());
        async move {
            let mut said = Vec::new();
            for old in before {
                said.push(called(&old, "Look", json!({"say": "old"})).await);
            }
            for token in ["", "x", "rtcall_00000000000000000000000000000000"] {
                let request = json!({"token": token, "tool": "Look", "input": {}});
                said.push(told(&ask(&way, &request).await));
            }
            said.join("\n")
        }
    });
    let script = [
        say("").calls([call("Bash", json!({}))]),
        say("one"),
        say("").calls([call("Bash", json!({}))]),
        say("two"),
    ];
    let mut plan = plan(shell, ToolExposure::Skills);
    plan.entries = script.into();
    let runtime = plan.build();
    let first = runtime.post_as("clerk", "go").await;
    runtime.wait_for_run(&first).await;
    // After the run it is of no use, not even to the same session.
    let left = stolen.lock().unwrap()[0].clone();
    let late = called(&left, "Look", json!({})).await;
    assert!(
        late.starts_with("Unauthorized: this token is of no call that is running"),
        "{late}"
    );
    runtime.post_to(&first, "again").await;
    runtime.wait_for_nth_run(&first, 2).await;
    let story = runtime.transcript(&first).await;
    assert!(!story.contains("Done: old"), "{story}");
    assert_eq!(story.matches("tool     Look").count(), 0, "{story}");
    assert_eq!(
        story.matches("tool     Bash done: Unauthorized").count(),
        2,
        "{story}"
    );
}

#[tokio::test]
async fn noise_and_floods_are_answered_or_dropped_and_change_nothing() {
    let shell = Shell::new(|way: CallSocketEnv| async move {
        let mut said = Vec::new();
        let huge = vec![b'x'; 10 * 1024 * 1024];
        let deep = "[".repeat(100_000) + "\n";
        let fine = json!({"token": way.token, "tool": "Look", "input": {}}).to_string();
        let other = json!({"token": way.token, "tool": "Look", "input": {}, "as": "root"})
            .to_string()
            + "\n";
        let flags = json!([{"name": "say", "value": "x"}]);
        let both = json!({"token": way.token, "tool": "Look", "input": {}, "flags": flags})
            .to_string()
            + "\n";
        let list = json!({"token": way.token, "tool": "Look", "input": [1]}).to_string() + "\n";
        let tool = json!({"token": way.token, "tool": "x".repeat(500_000), "input": {}})
            .to_string()
            + "\n";
        let noises: [&[u8]; 9] = [
            &huge,
            deep.as_bytes(),
            b"\n",
            b"\0\0\0\xff\xfe\n",
            b"GET / HTTP/1.1\n",
            other.as_bytes(),
            list.as_bytes(),
            tool.as_bytes(),
            both.as_bytes(),
        ];
        for noise in noises {
            let reply = say_raw(&way, noise).await;
            said.push(reply.map_or_else(
                || "dropped".to_owned(),
                |reply| format!("{:?}", reply.outcome),
            ));
        }
        // Half a request, and whoever leaves before the answer.
        drop(super::shell::stream(&way).await);
        said.push(told(
            &ask(&way, &serde_json::from_str::<Value>(&fine).unwrap()).await,
        ));
        said.join("\n")
    });
    let said = lines(plan(shell, ToolExposure::Skills), "clerk").await;
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 10, "{said}");
    // Whoever says too much may find the door closed before the answer can be read.
    assert!(
        lines[0] == "dropped" || lines[0] == "Failed(InvalidArguments)",
        "{said}"
    );
    for line in [
        lines[1], lines[2], lines[3], lines[4], lines[5], lines[6], lines[8],
    ] {
        assert_eq!(line, "Failed(InvalidArguments)", "{said}");
    }
    assert_eq!(lines[7], "Failed(ToolNotFound)", "{said}");
    assert_eq!(lines[9], "Done: ok", "{said}");
}

#[tokio::test]
async fn calls_from_inside_are_bounded() {
    let shell = Shell::new(|way: CallSocketEnv| async move {
        let mut done = 0;
        for _ in 0..10 {
            done += u32::from(called(&way, "Look", json!({})).await.starts_with("Done"));
        }
        format!("{done} {}", called(&way, "Look", json!({})).await)
    });
    let mut agent = agent(ToolExposure::Skills);
    agent.limits.inner_calls = 4;
    let runtime = plan(shell, ToolExposure::Skills).agent(agent).build();
    let session = runtime.post_as("clerk", "go").await;
    runtime.wait_for_run(&session).await;
    let story = runtime.transcript(&session).await;
    assert_eq!(
        story.matches("tool     Look").count(),
        4,
        "what is above the limit is not even kept: {story}"
    );
    let said = story.split("Bash done: ").nth(1).unwrap();
    assert!(
        said.starts_with("4 LimitReached: limit_reached: one call may make 4 calls"),
        "{said}"
    );
}

#[tokio::test]
async fn a_child_calls_with_its_own_rights_and_not_with_those_above() {
    let shell = calling(&["Look", "Change", "mcp__x__y"]);
    let mut child = agent(ToolExposure::Skills);
    (child.name, child.description) = ("child".into(), "Helps.".into());
    child.tools = Scope::only(["Bash".to_owned(), "Look".to_owned()]);
    let ask = call(
        "Task",
        json!({"subagent_type": "child", "prompt": "go", "description": "d"}),
    );
    let script = [
        say("").calls([ask]).agent("clerk"),
        say("").calls([call("Bash", json!({}))]).agent("child"),
        say("{{ results[0].text }}").agent("child"),
        say("done").agent("clerk"),
    ];
    let mut plan = plan(shell, ToolExposure::Skills).agent(child);
    plan.entries = script.into();
    plan.tools = rooftree_runtime::delegation::tools::with_tools(&plan.tools);
    let runtime = plan.build();
    let session = runtime.post_as("clerk", "go").await;
    runtime.wait_for_run(&session).await;
    let children = runtime.children(&session).await;
    let story = runtime.transcript(&children[0].id).await;
    assert!(story.contains("tool     Look done: x"), "{story}");
    assert!(
        story.contains("tool     Change failed: tool_not_allowed"),
        "{story}"
    );
    assert!(
        story.contains("tool     mcp__x__y failed: tool_not_found"),
        "{story}"
    );
    runtime.verify().await;
}
