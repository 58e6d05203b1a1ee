//! Every point there is, met in one life: what a hook file may name really happens.

use std::collections::BTreeSet;

use rooftree_protocol::{
    AgentDefinition, Answer, Command, EventBody, PermissionMode, QuestionReply,
};
use rooftree_providers::scripted::{ScriptedFailureKind, call, fail, say};
use rooftree_runtime::{ProjectContext, hooks::POINTS};
use rooftree_tools::{BackgroundProcesses, Toolset};
use serde_json::json;

use super::{asked, elicit::asker, keeps, kept, with};

#[tokio::test]
async fn every_point_that_a_file_may_name_is_met() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let hooks = POINTS.map(|point| asked(point, &keeps(&log))).to_vec();
    let todos = json!([{"content": "write", "status": "completed"}]);
    let entries = [
        say("").calls([
            call("Glob", json!({"pattern": "*"})),
            call("Read", json!({"file_path": "none"})),
        ]),
        say("").calls([call("TodoWrite", json!({ "todos": todos }))]),
        say("").calls([call("mcp__files__ask", json!({}))]),
        say("").calls([call(
            "Write",
            json!({"file_path": "note.txt", "content": "x"}),
        )]),
        say("").calls([call(
            "Task",
            json!({"agent": "helper", "description": "h", "prompt": "Help."}),
        )]),
        say("done ".repeat(400)),
    ];
    let broken = fail(ScriptedFailureKind::Refused)
        .agent("lead")
        .matching("more more");
    let others = [
        say("helped").agent("helper"),
        say("Facts.").agent("compaction").matching(".*"),
    ];
    let entries = entries.into_iter().map(|entry| entry.agent("lead"));
    let entries = [broken].into_iter().chain(entries).chain(others);
    let tools = rooftree_tools::builtin(std::sync::Arc::new(BackgroundProcesses::new(|| 1)));
    let helper = AgentDefinition {
        description: "helps".into(),
        ..AgentDefinition::new("helper")
    };
    let tools = Toolset::new(tools.iter().cloned().chain([asker()]));
    let mut plan = with(entries, hooks)
        .with_delegation(tools)
        .agent(helper)
        .asking(PermissionMode::Ask);
    plan.window = Some(8_000);
    let mut around = ProjectContext::default();
    around.instructions.files.push("AGENTS.md".into());
    plan.project_context = around.into();
    let runtime = plan.build();
    let session = runtime.post("go").await;
    let asked = runtime.wait_for_event(&session, "question.requested").await;
    let EventBody::QuestionRequested { id: question, .. } = &asked.body else {
        unreachable!()
    };
    let (question, reply) = (question.clone(), QuestionReply::Declined { because: None });
    runtime.command(Command::Reply { question, reply }).await;
    let asked = runtime
        .wait_for_event(&session, "permission.requested")
        .await;
    let EventBody::PermissionRequested { id: permission, .. } = &asked.body else {
        unreachable!()
    };
    let (permission, answer) = (permission.clone(), Answer::deny(None));
    runtime
        .command(Command::Permit {
            session: session.clone(),
            permission,
            answer,
        })
        .await;
    runtime.wait_for_run(&session).await;
    // A second prompt: the context is made smaller, then the provider refuses.
    runtime.post_to(&session, &"more ".repeat(4_000)).await;
    runtime.wait_for_nth_run(&session, 2).await;
    runtime.close().await;
    let told = kept(&log);
    let met: BTreeSet<&str> = told
        .iter()
        .filter_map(|told| told["hook_event_name"].as_str())
        .collect();
    let missing: Vec<&str> = POINTS
        .iter()
        .map(|point| point.name())
        .filter(|name| !met.contains(name))
        .collect();
    assert_eq!(missing, Vec::<&str>::new(), "never met");
    for told in &told {
        for field in ["session_id", "cwd", "permission_mode", "hook_event_name"] {
            assert!(told[field].is_string(), "{field} is missing in {told}");
        }
    }
}
