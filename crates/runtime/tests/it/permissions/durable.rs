//! Questions outlive the process that asked them; an answer counts once, for exactly what was asked.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use rooftree_protocol::{
    Answer, Command, Effect, EventBody, InquiryResponse, Origin, PermissionId, PermissionMode,
    PermissionScope, SessionId, ToolSpec,
};
use rooftree_providers::scripted::{ScriptEntry, call, say};
use rooftree_runtime::Clock;
use rooftree_store::{RuleKind, RuleRow, RuleScope};
use rooftree_testkit::{ProbeTool, TestRuntime, TestRuntimeBuilder, probe_tool::ProbeGate};
use rooftree_tools::{Tool, ToolContext, ToolInfo, ToolOutput, Toolset};
use serde_json::{Value, json};

use super::yes;

fn once() -> Vec<ScriptEntry> {
    vec![
        say("").calls([call("Change", json!({"say": "x"}))]),
        say("done"),
    ]
}

fn plan(entries: Vec<ScriptEntry>, tool: Arc<dyn Tool>) -> TestRuntimeBuilder {
    TestRuntimeBuilder::new(entries)
        .with_delegation(Toolset::new([tool]))
        .asking(PermissionMode::Ask)
}

fn counted() -> (Arc<dyn Tool>, ProbeGate) {
    let (tool, keeper) = ProbeTool::gated("Change", Effect::LocalMutation);
    keeper.open(10);
    (tool, keeper)
}

async fn question(runtime: &TestRuntime, session: &SessionId) -> (PermissionId, String) {
    let asked = runtime
        .wait_for_event(session, "permission.requested")
        .await;
    let EventBody::PermissionRequested { id, digest, .. } = &asked.body else {
        panic!()
    };
    (id.clone(), digest.clone())
}

fn permit(session: &SessionId, permission: &PermissionId, answer: Answer) -> Command {
    Command::Permit {
        session: session.clone(),
        permission: permission.clone(),
        answer,
    }
}

#[tokio::test]
async fn a_question_stands_after_a_crash_and_its_answer_makes_the_very_call_once() {
    let (tool, _) = counted();
    let runtime = plan(once(), tool).build();
    let session = runtime.post("go").await;
    let (id, _) = question(&runtime, &session).await;
    let (tool, keeper) = counted();
    let runtime = runtime.crash(plan(once(), tool)).await;
    runtime.recover().await;
    assert_eq!(question(&runtime, &session).await.0, id);
    runtime
        .command(permit(&session, &id, yes(PermissionScope::Once)))
        .await;
    runtime.wait_for_run(&session).await;
    assert_eq!(keeper.started(), 1);
    assert_eq!(
        runtime.transcript(&session).await.matches("asks").count(),
        1,
        "it was asked once"
    );
    assert!(
        runtime.model.requests().len() == 1,
        "the reply that called was not asked for again"
    );
    runtime.verify().await;
}

#[tokio::test]
async fn an_answer_given_while_nobody_is_there_is_found_when_somebody_is() {
    let (tool, _) = counted();
    let runtime = plan(once(), tool).build();
    let session = runtime.post("go").await;
    let (id, _) = question(&runtime, &session).await;
    let (tool, keeper) = counted();
    // Whoever goes on cannot ask anybody, and need not.
    let mut headless = plan(once(), tool);
    headless.rights.approvals = rooftree_runtime::ApprovalSource::Nobody;
    // The runtime that asked is stopped, not only without its lease: otherwise it could find the answer itself.
    let runtime = runtime.restart(headless).await;
    let response = InquiryResponse::Permission(yes(PermissionScope::Once));
    let store = runtime.store().clone();
    let now = runtime.clock.now();
    rooftree_runtime::inquiries::answer(&*store, id.as_str(), answered_by(response, "phone", now))
        .await
        .unwrap();
    runtime.recover().await;
    runtime.wait_for_run(&session).await;
    assert_eq!(keeper.started(), 1);
    let resolved = runtime
        .wait_for_event(&session, "permission.resolved")
        .await;
    assert!(matches!(&resolved.body, EventBody::PermissionResolved { by, .. } if by == "phone"));
}

#[tokio::test]
async fn of_two_who_answer_the_first_wins_and_the_other_is_told() {
    let (tool, keeper) = counted();
    let runtime = plan(once(), tool).build();
    let session = runtime.post("go").await;
    let (id, _) = question(&runtime, &session).await;
    let answers = [
        yes(PermissionScope::Once),
        Answer::deny(None),
        Answer::deny(None),
    ];
    let owner = rooftree_testkit::owner();
    let sent = answers.map(|answer| runtime.handle.send(&owner, permit(&session, &id, answer)));
    let outcomes = futures::future::join_all(sent).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    let refused = outcomes
        .into_iter()
        .find_map(Result::err)
        .unwrap()
        .problem();
    assert!(refused.message.contains("settled already"), "{refused}");
    runtime.wait_for_run(&session).await;
    assert_eq!(
        runtime
            .transcript(&session)
            .await
            .matches("permission")
            .count()
            .min(1),
        0
    );
    assert!(keeper.started() <= 1);
}

#[tokio::test]
async fn an_answer_to_something_else_is_refused() {
    let (tool, keeper) = counted();
    let runtime = plan(once(), tool).build();
    let session = runtime.post("go").await;
    let (id, digest) = question(&runtime, &session).await;
    let stale = Answer {
        digest: Some("0".repeat(64)),
        ..yes(PermissionScope::Once)
    };
    let refused = runtime
        .handle
        .send(&rooftree_testkit::owner(), permit(&session, &id, stale))
        .await
        .unwrap_err()
        .problem();
    assert!(
        refused.message.contains("asks something else now"),
        "{refused}"
    );
    assert_eq!(keeper.started(), 0);
    let right = Answer {
        digest: Some(digest),
        ..yes(PermissionScope::Once)
    };
    runtime.command(permit(&session, &id, right)).await;
    runtime.wait_for_run(&session).await;
    assert_eq!(keeper.started(), 1);
}

/// The same tool of another version, which takes the same call for something else.
struct Newer(Arc<dyn Tool>);

impl Tool for Newer {
    fn info(&self) -> &ToolInfo {
        self.0.info()
    }

    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn normalise(&self, called_as: &str, input: Value) -> Result<Value, String> {
        let mut input = self.0.normalise(called_as, input)?;
        input["force"] = json!(true);
        Ok(input)
    }

    fn effect(&self, input: &Value) -> Effect {
        self.0.effect(input)
    }

    fn title(&self, input: &Value) -> String {
        self.0.title(input)
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        self.0.run(input, context)
    }
}

#[tokio::test]
async fn a_yes_does_not_hold_for_a_call_that_has_become_another_one() {
    for is_answered in [true, false] {
        let (tool, _) = counted();
        let runtime = plan(once(), tool).build();
        let session = runtime.post("go").await;
        let (id, _) = question(&runtime, &session).await;
        let (tool, keeper) = counted();
        let runtime = runtime.reopen(plan(once(), Arc::new(Newer(tool)))).await;
        if is_answered {
            let response = InquiryResponse::Permission(yes(PermissionScope::Once));
            let store = runtime.store().clone();
            let now = runtime.clock.now();
            rooftree_runtime::inquiries::answer(
                &*store,
                id.as_str(),
                answered_by(response, "ann", now),
            )
            .await
            .unwrap();
        }
        runtime.recover().await;
        runtime.wait_for_run(&session).await;
        assert_eq!(keeper.started(), 0);
        let story = runtime.transcript(&session).await;
        assert!(
            story.contains("the call is not the one that was asked about"),
            "{is_answered}: {story}"
        );
        runtime.verify().await;
    }
}

#[tokio::test]
async fn a_question_is_as_old_after_a_restart_as_it_was_before() {
    let (tool, _) = counted();
    let runtime = plan(once(), tool).build();
    let session = runtime.post("go").await;
    question(&runtime, &session).await;
    runtime.clock.advance(Duration::from_secs(3500));
    let (tool, keeper) = counted();
    let runtime = runtime.crash(plan(once(), tool)).await;
    runtime.recover().await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    runtime.clock.advance(Duration::from_secs(60));
    runtime.wait_for_run(&session).await;
    assert_eq!(keeper.started(), 0);
    assert!(
        runtime
            .transcript(&session)
            .await
            .contains("no answer in time")
    );
}

fn delegating(mode: serde_json::Value) -> Vec<ScriptEntry> {
    let mut input = json!({"description": "dig", "prompt": "dig", "subagent_type": "task", "isolation": "none"});
    input
        .as_object_mut()
        .unwrap()
        .extend(mode.as_object().unwrap().clone());
    vec![
        say("").agent("lead").calls([call("Task", input)]),
        say("heard").agent("lead").matching("child_result"),
        say("over").agent("lead"),
        say("")
            .agent("task")
            .calls([call("Change", json!({"say": "x"}))]),
        say("dug").agent("task"),
    ]
}

#[tokio::test]
async fn a_child_in_background_asks_and_is_answered_after_a_crash() {
    let script = || delegating(json!({"run_in_background": true}));
    let (tool, _) = counted();
    let runtime = plan(script(), tool).build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let child = runtime.children(&session).await.remove(0).id;
    let (id, _) = question(&runtime, &child).await;
    let (tool, keeper) = counted();
    let runtime = runtime.crash(plan(script(), tool)).await;
    runtime.recover().await;
    let open = runtime.store().inquiries(Some(&session)).await.unwrap();
    assert_eq!(
        open.iter().map(|open| open.id.as_str()).collect::<Vec<_>>(),
        [id.as_str()]
    );
    runtime
        .command(permit(&child, &id, yes(PermissionScope::Once)))
        .await;
    let end = runtime.wait_for_nth_run(&session, 2).await;
    assert_eq!(end.text, "heard");
    assert_eq!(keeper.started(), 1);
    runtime.verify().await;
}

#[tokio::test]
async fn what_a_child_asks_is_told_silently_to_the_session_a_person_talks_to() {
    let (tool, _) = counted();
    let runtime = plan(delegating(json!({"run_in_background": true})), tool).build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let child = runtime.children(&session).await.remove(0).id;
    let (id, _) = question(&runtime, &child).await;
    runtime
        .command(permit(&child, &id, yes(PermissionScope::Once)))
        .await;
    runtime.wait_for_nth_run(&session, 2).await;
    let told: Vec<String> = runtime
        .events(&session)
        .await
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::MessageUser { message, .. } => match &message.origin {
                Origin::System { about } if about == "approval" && message.silent => {
                    Some(message.text())
                }
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].starts_with("task asks: Change x"), "{told:?}");
    assert!(told[1].contains("allow by user"), "{told:?}");
}

#[tokio::test]
async fn a_yes_for_the_session_holds_for_whoever_works_for_it_and_after_a_restart() {
    let script = || {
        let mut entries = delegating(json!({}));
        entries.push(
            say("")
                .agent("lead")
                .calls([call("Change", json!({"say": "x"}))])
                .matching("again"),
        );
        entries
    };
    let (tool, _) = counted();
    let runtime = plan(script(), tool).build();
    let session = runtime.post("go").await;
    let child = loop {
        match runtime.children(&session).await.pop() {
            Some(child) => break child.id,
            None => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    };
    let (id, _) = question(&runtime, &child).await;
    runtime
        .command(permit(&child, &id, yes(PermissionScope::Session)))
        .await;
    runtime.wait_for_run(&session).await;
    let (tool, keeper) = counted();
    let runtime = runtime.reopen(plan(script(), tool)).await;
    runtime.post_to(&session, "again").await;
    runtime.wait_for_nth_run(&session, 2).await;
    assert_eq!(keeper.started(), 1, "it was not asked about again");
    assert!(
        !runtime
            .transcript(&session)
            .await
            .contains("asks     Change")
    );
}

#[tokio::test]
async fn a_rule_that_is_taken_away_does_not_hold_any_more_and_one_elsewhere_never_did() {
    let (tool, keeper) = counted();
    let twice = vec![
        say("").calls([call("Change", json!({"say": "x"}))]),
        say("done"),
        say("")
            .calls([call("Change", json!({"say": "x"}))])
            .matching("again"),
    ];
    let runtime = plan(twice, tool).build();
    let store = runtime.store().clone();
    let rule = |scope| RuleRow {
        number: 0,
        kind: RuleKind::Allow,
        rule: "Change(x)".into(),
        scope,
        by: "ann".into(),
        at: runtime.clock.now(),
    };
    store
        .put_rule(rule(RuleScope::Project("/somewhere/else".into())), None)
        .await
        .unwrap();
    let number = store
        .put_rule(rule(RuleScope::Project(runtime.path().into())), None)
        .await
        .unwrap();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    assert_eq!(keeper.started(), 1);
    runtime.command(Command::RemoveRule { number }).await;
    runtime.post_to(&session, "again").await;
    question(&runtime, &session).await;
}

/// The answer of a person with this name.
fn answered_by(
    response: InquiryResponse,
    name: &str,
    at: rooftree_protocol::Timestamp,
) -> rooftree_store::InquiryAnswer {
    rooftree_store::InquiryAnswer {
        response,
        by: name.into(),
        who: None,
        at,
    }
}
