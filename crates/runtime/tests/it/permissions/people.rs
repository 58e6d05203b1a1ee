//! The tools that turn to people: questions, plans, permissions asked for and passed on.

use std::collections::BTreeMap;

use rooftree_protocol::{
    AgentDefinition, Command, Effect, EventBody, PermissionMode, PermissionScope, QuestionId,
    QuestionReply, Scope, SessionId,
};
use rooftree_providers::scripted::{ScriptEntry, call, say};
use rooftree_runtime::people_tools;
use rooftree_testkit::{ProbeTool, TestRuntime, TestRuntimeBuilder};
use rooftree_tools::Toolset;
use serde_json::json;

use super::yes;

fn plan(entries: Vec<ScriptEntry>, mode: PermissionMode) -> TestRuntimeBuilder {
    let mut plan = TestRuntimeBuilder::new(entries)
        .with_delegation(Toolset::new([ProbeTool::open(
            "Change",
            Effect::LocalMutation,
        )]))
        .asking(mode);
    plan.tools = people_tools::with_tools(&plan.tools);
    plan
}

async fn asked(runtime: &TestRuntime, session: &SessionId) -> QuestionId {
    let event = runtime.wait_for_event(session, "question.requested").await;
    let EventBody::QuestionRequested { id, .. } = &event.body else {
        panic!()
    };
    id.clone()
}

fn answered(name: &str, said: &str) -> QuestionReply {
    QuestionReply::Answered {
        answers: BTreeMap::from([(name.to_owned(), vec![said.to_owned()])]),
    }
}

fn ask() -> Vec<ScriptEntry> {
    let input =
        json!({"question": "Which colour?", "header": "colour", "options": ["red", "blue"]});
    vec![
        say("").calls([call("AskUserQuestion", input)]),
        say("{{ results[0].text }}"),
    ]
}

#[tokio::test]
async fn a_question_is_answered_to_the_call_that_asked_also_after_a_crash() {
    let runtime = plan(ask(), PermissionMode::Ask).build();
    let session = runtime.post("go").await;
    let id = asked(&runtime, &session).await;
    let runtime = runtime.crash(plan(ask(), PermissionMode::Ask)).await;
    runtime.recover().await;
    assert_eq!(asked(&runtime, &session).await, id);
    runtime
        .command(Command::Reply {
            question: id.clone(),
            reply: answered("colour", "blue"),
        })
        .await;
    assert_eq!(
        runtime.wait_for_run(&session).await.text,
        "Which colour?\n→ blue"
    );
    let requested = runtime.events(&session).await;
    assert_eq!(
        requested
            .iter()
            .filter(|event| event.body.name() == "question.requested")
            .count(),
        1
    );
    let late = runtime
        .handle
        .send(
            &rooftree_testkit::owner(),
            Command::Reply {
                question: id,
                reply: answered("colour", "red"),
            },
        )
        .await;
    assert!(late.is_err());
    runtime.verify().await;
}

/// What people are asked, and their answers, as the database has them.
fn inquiry_rows(runtime: &TestRuntime) -> String {
    let rows = std::fs::read(runtime.path().join("rooftree.db")).unwrap();
    let log = std::fs::read(runtime.path().join("rooftree.db-wal")).unwrap_or_default();
    String::from_utf8_lossy(&rows).into_owned() + &String::from_utf8_lossy(&log)
}

#[tokio::test]
async fn s_m3_a_secret_in_an_answer_of_a_person_is_not_stored() {
    let secret = ["gh", "p_", "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"].concat();
    let runtime = plan(ask(), PermissionMode::Ask).build();
    let session = runtime.post("go").await;
    let id = asked(&runtime, &session).await;
    let reply = answered("colour", &format!("blue, with {secret}"));
    runtime
        .command(Command::Reply {
            question: id,
            reply,
        })
        .await;
    let end = runtime.wait_for_run(&session).await;
    assert!(end.text.contains("blue, with [redacted"), "{}", end.text);
    let stored = inquiry_rows(&runtime);
    assert!(
        stored.contains("blue, with [redacted"),
        "the answer is stored"
    );
    assert!(
        !stored.contains(&secret),
        "the answer is stored with its secret"
    );
    runtime.verify().await;
}

#[tokio::test]
async fn where_nobody_can_be_asked_the_question_is_declined() {
    let mut plan = plan(ask(), PermissionMode::Ask);
    plan.rights.approvals = rooftree_runtime::ApprovalSource::Nobody;
    let runtime = plan.build();
    let session = runtime.post("go").await;
    let end = runtime.wait_for_run(&session).await;
    assert!(
        end.text
            .starts_with("The user gave no answer (no user can be asked"),
        "{}",
        end.text
    );
}

#[tokio::test]
async fn a_sub_agent_cannot_ask_the_user() {
    let entries = vec![
        say("").agent("lead").calls([call(
            "Task",
            json!({"description": "d", "prompt": "p", "subagent_type": "task", "isolation": "none"}),
        )]),
        say("{{ results[0].text }}").agent("lead"),
        say("").agent("task").calls([call("AskUser", json!({"question": "May I?"}))]),
        say("{{ results[0].text }}").agent("task"),
    ];
    let runtime = plan(entries, PermissionMode::Ask).build();
    let session = runtime.post("go").await;
    let end = runtime.wait_for_run(&session).await;
    assert!(
        end.text
            .contains("AskUser is not available inside a sub-agent"),
        "{}",
        end.text
    );
}

fn planning() -> Vec<ScriptEntry> {
    let change = || call("Change", json!({"say": "x"}));
    vec![
        say("").calls([call("EnterPlanMode", json!({})), change()]),
        say("").calls([call("ExitPlanMode", json!({"plan": "paint it"}))]),
        say("").calls([change()]),
        say("done"),
    ]
}

fn outcomes(story: &str) -> Vec<&str> {
    story
        .lines()
        .filter(|line| line.starts_with("tool     Change"))
        .collect()
}

#[tokio::test]
async fn in_plan_mode_nothing_changes_until_the_person_agrees() {
    let runtime = plan(planning(), PermissionMode::AcceptEdits).build();
    let session = runtime.post("go").await;
    let id = asked(&runtime, &session).await;
    let reply = answered("plan", "Yes, and change files without asking");
    runtime
        .command(Command::Reply {
            question: id,
            reply,
        })
        .await;
    runtime.wait_for_run(&session).await;
    let story = runtime.transcript(&session).await;
    let changes = outcomes(&story);
    assert!(
        changes[0].contains("denied: [denied] plan mode only looks"),
        "{story}"
    );
    assert!(!changes[1].contains("denied"), "{story}");
}

#[tokio::test]
async fn words_of_ones_own_are_no_agreement() {
    let runtime = plan(planning(), PermissionMode::AcceptEdits).build();
    let session = runtime.post("go").await;
    let id = asked(&runtime, &session).await;
    runtime
        .command(Command::Reply {
            question: id,
            reply: answered("plan", "Yes, but later"),
        })
        .await;
    runtime.wait_for_run(&session).await;
    let story = runtime.transcript(&session).await;
    assert!(
        outcomes(&story).iter().all(|line| line.contains("denied")),
        "{story}"
    );
    assert!(story.contains("The user says: Yes, but later"), "{story}");
}

#[tokio::test]
async fn what_an_agent_entered_itself_it_can_leave_without_anybody() {
    let mut plan = plan(planning(), PermissionMode::AcceptEdits);
    plan.rights.approvals = rooftree_runtime::ApprovalSource::Nobody;
    let runtime = plan.build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let story = runtime.transcript(&session).await;
    let changes = outcomes(&story);
    assert!(
        changes[0].contains("denied") && !changes[1].contains("denied"),
        "{story}"
    );
}

#[tokio::test]
async fn a_plan_mode_people_chose_is_not_left_without_them() {
    let mut plan = plan(planning(), PermissionMode::Plan);
    plan.rights.approvals = rooftree_runtime::ApprovalSource::Nobody;
    let runtime = plan.build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let story = runtime.transcript(&session).await;
    assert!(
        outcomes(&story).iter().all(|line| line.contains("denied")),
        "{story}"
    );
}

#[tokio::test]
async fn a_child_changes_no_mode_but_its_own() {
    let task =
        json!({"description": "d", "prompt": "p", "subagent_type": "task", "isolation": "none"});
    let entries = vec![
        say("").agent("lead").calls([call("Task", task)]),
        say("")
            .agent("lead")
            .calls([call("Change", json!({"say": "x"}))]),
        say("done").agent("lead"),
        say("")
            .agent("task")
            .calls([call("EnterPlanMode", json!({}))]),
        say("")
            .agent("task")
            .calls([call("Change", json!({"say": "y"}))]),
        say("told").agent("task"),
    ];
    let runtime = plan(entries, PermissionMode::AcceptEdits).build();
    let session = runtime.post("go").await;
    let end = runtime.wait_for_run(&session).await;
    assert!(end.denials.is_empty(), "{:?}", end.denials);
    let child = runtime.children(&session).await.remove(0).id;
    assert!(
        runtime
            .transcript(&child)
            .await
            .contains("plan mode only looks")
    );
}

fn worker() -> AgentDefinition {
    AgentDefinition {
        tools: Scope::only(["Change", "RequestPermission"]),
        ..AgentDefinition::new("worker")
    }
}

fn requesting() -> Vec<ScriptEntry> {
    let task = json!({"description": "d", "prompt": "p", "subagent_type": "worker", "isolation": "none",
        "run_in_background": true});
    let request = json!({"permission": "Change(x)", "reason": "to change it"});
    vec![
        say("").agent("lead").calls([call("Task", task)]),
        say("heard").agent("lead").matching("child_result"),
        say("meanwhile").agent("lead"),
        say("")
            .agent("worker")
            .calls([call("request_permission", request)]),
        say("")
            .agent("worker")
            .calls([call("Change", json!({"say": "x"}))]),
        say("worked").agent("worker"),
    ]
}

#[tokio::test]
async fn a_permission_asked_for_beforehand_holds_for_the_one_who_asked() {
    let runtime = plan(requesting(), PermissionMode::Ask)
        .agent(worker())
        .build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let child = runtime.children(&session).await.remove(0).id;
    let event = runtime.wait_for_event(&child, "permission.requested").await;
    let EventBody::PermissionRequested {
        id, rule, detail, ..
    } = &event.body
    else {
        panic!()
    };
    assert_eq!(
        (rule.as_str(), detail.as_str()),
        ("Change(x)", "to change it")
    );
    let permit = Command::Permit {
        session: child.clone(),
        permission: id.clone(),
        answer: yes(PermissionScope::Once),
    };
    runtime.command(permit).await;
    runtime.wait_for_run(&child).await;
    let story = runtime.transcript(&child).await;
    assert_eq!(story.matches("asks").count(), 1, "{story}");
    assert!(!story.contains("denied"), "{story}");
}

#[tokio::test]
async fn an_agent_grants_what_it_has_and_nothing_else() {
    let table = [
        (PermissionMode::Ask, vec![], false),
        (PermissionMode::Ask, vec!["Change(y)"], false),
        (PermissionMode::Ask, vec!["Change(x)"], true),
        (PermissionMode::Ask, vec!["Change"], true),
        (PermissionMode::Auto, vec![], false),
    ];
    for (mode, allow, granted) in table {
        let task = json!({"description": "d", "prompt": "p", "subagent_type": "worker", "isolation": "none",
            "run_in_background": true});
        let entries = vec![
            say("").agent("boss").calls([call("Task", task)]),
            say("").agent("boss").calls([call(
                "grant_permission",
                json!({"to": "{{ results[0].text | find('run_[a-z0-9]+') }}", "permission": "Change(x)"}),
            )]),
            say("done").agent("boss"),
            say("idle").agent("worker"),
        ];
        let boss = AgentDefinition {
            tools: Scope::only(["Change", "Task", "GrantPermission"]),
            ..AgentDefinition::new("boss")
        };
        let mut plan = plan(entries, mode).agent(worker()).agent(boss);
        plan.rights.policy.allow = allow
            .iter()
            .map(|rule| rooftree_tools::PermissionRule::parse(rule).unwrap())
            .collect();
        let runtime = plan.build();
        let session = runtime.post_as("boss", "go").await;
        runtime.wait_for_run(&session).await;
        let rules = runtime.store().rules().await.unwrap().1;
        assert_eq!(
            rules.len() == 1,
            granted,
            "{mode:?} {allow:?}: {}",
            runtime.transcript(&session).await
        );
    }
}

#[tokio::test]
async fn r2_d8_the_agent_of_start_background_agent_can_ask_for_a_permission() {
    let request = json!({"permission": "@write:/srv/site", "reason": "to publish"});
    let entries = vec![
        say("").agent("lead").calls([call(
            "start_background_agent",
            json!({"prompt": "publish it", "name": "publisher"}),
        )]),
        say("done").agent("lead").times(9),
        say("")
            .agent("task")
            .calls([call("request_permission", request)]),
        say("{{ results[0].text }}").agent("task"),
    ];
    let runtime = plan(entries, PermissionMode::Ask).build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let child = runtime.children(&session).await.remove(0).id;
    let event = runtime.wait_for_event(&child, "permission.requested").await;
    let EventBody::PermissionRequested { id, rule, .. } = &event.body else {
        panic!()
    };
    assert_eq!(rule, "Write(/srv/site{,/**})");
    let permit = Command::Permit {
        session: child.clone(),
        permission: id.clone(),
        answer: yes(PermissionScope::Once),
    };
    runtime.command(permit).await;
    let said = runtime.wait_for_run(&child).await.text;
    assert_eq!(said, "Permitted: Write(/srv/site{,/**})");
}

#[tokio::test]
async fn r2_d8_an_agent_that_was_not_started_so_does_not_have_it_and_a_list_leaves_it_out() {
    let request = call(
        "request_permission",
        json!({"permission": "@web", "reason": "r"}),
    );
    let entries = |asked: &str, start: rooftree_providers::scripted::ScriptedCall| {
        vec![
            say("").agent("lead").calls([start]),
            say("done").agent("lead").times(9),
            say("").agent(asked).calls([request.clone()]),
            say("{{ results[0].text }}").agent(asked),
        ]
    };
    let task = call("Task", json!({"prompt": "p", "subagent_type": "task"}));
    let listed = call(
        "start_background_agent",
        json!({"prompt": "p", "agent": "listed"}),
    );
    for (agent, start) in [("task", task), ("listed", listed)] {
        let runtime = plan(entries(agent, start), PermissionMode::Ask)
            .agent(AgentDefinition {
                tools: Scope::only(["Change"]),
                ..AgentDefinition::new("listed")
            })
            .build();
        let session = runtime.post("go").await;
        runtime.wait_for_run(&session).await;
        let child = runtime.children(&session).await.remove(0).id;
        let said = runtime.wait_for_run(&child).await.text;
        assert!(said.contains("tool_not_allowed"), "{agent}: {said}");
    }
}
