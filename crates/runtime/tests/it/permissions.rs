//! Calls that need a yes: asked, answered, remembered, denied where nobody can answer.

mod durable;
mod outside;
mod people;

use std::time::Duration;

use rooftree_protocol::{
    Answer, Command, Effect, EventBody, PermissionMode, PermissionScope, SessionId,
};
use rooftree_providers::scripted::{call, say};
use rooftree_testkit::{ProbeTool, TestRuntime, TestRuntimeBuilder};
use rooftree_tools::Toolset;
use serde_json::json;

fn change_twice() -> TestRuntimeBuilder {
    let change = || say("").calls([call("Change", json!({"say": "x"}))]);
    let tools = Toolset::new([ProbeTool::open("Change", Effect::LocalMutation)]);
    TestRuntimeBuilder::new([change(), change(), say("done")]).tools(tools)
}

async fn answer(runtime: &TestRuntime, session: &SessionId, nth: usize, answer: Answer) {
    let seen = std::cell::Cell::new(0);
    let asked = runtime
        .wait_until(session, "a question", |event| {
            seen.set(seen.get() + usize::from(event.body.name() == "permission.requested"));
            seen.get() == nth
        })
        .await;
    let EventBody::PermissionRequested { id, .. } = &asked.body else {
        panic!()
    };
    runtime
        .command(Command::Permit {
            session: session.clone(),
            permission: id.clone(),
            answer,
        })
        .await;
}

fn yes(scope: PermissionScope) -> Answer {
    Answer::allow(scope)
}

#[tokio::test]
async fn a_yes_holds_for_one_call_or_for_the_session() {
    let runtime = change_twice().asking(PermissionMode::Ask).build();
    let session = runtime.post("go").await;
    answer(&runtime, &session, 1, yes(PermissionScope::Once)).await;
    answer(&runtime, &session, 2, yes(PermissionScope::Session)).await;
    runtime.wait_for_run(&session).await;
    assert_eq!(
        runtime.transcript(&session).await.matches("asks").count(),
        2
    );

    let runtime = change_twice().asking(PermissionMode::Ask).build();
    let session = runtime.post("go").await;
    answer(&runtime, &session, 1, yes(PermissionScope::Session)).await;
    runtime.wait_for_run(&session).await;
    assert_eq!(
        runtime.transcript(&session).await.matches("asks").count(),
        1
    );
    runtime.verify().await;
}

#[tokio::test]
async fn a_no_with_words_reaches_the_model_and_the_list_of_denials() {
    let runtime = change_twice().asking(PermissionMode::Ask).build();
    let session = runtime.post("go").await;
    let no = Answer::deny(Some("use the other file".into()));
    answer(&runtime, &session, 1, no).await;
    answer(&runtime, &session, 2, yes(PermissionScope::Once)).await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(end.denials.len(), 1);
    assert!(
        runtime
            .transcript(&session)
            .await
            .contains("tool     Change denied: [rejected: use the other file]")
    );
}

#[tokio::test]
async fn where_nobody_can_answer_it_is_denied_and_listed() {
    let mut plan = change_twice();
    plan.rights.policy.mode = PermissionMode::Ask;
    let runtime = plan.build();
    let session = runtime.post("go").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(end.denials.len(), 2);
    assert!(
        end.denials[0].reason.contains("--allow"),
        "{}",
        end.denials[0].reason
    );
    assert!(!runtime.transcript(&session).await.contains("\nasks"));
}

#[tokio::test]
async fn a_question_nobody_answers_expires_as_a_no() {
    let runtime = change_twice().asking(PermissionMode::Ask).build();
    let session = runtime.post("go").await;
    runtime
        .wait_for_event(&session, "permission.requested")
        .await;
    runtime.clock.advance(Duration::from_secs(3601));
    runtime
        .wait_until(&session, "a denial", |event| {
            event.body.name() == "tool.completed"
        })
        .await;
    assert!(
        runtime
            .transcript(&session)
            .await
            .contains("denied: [auto-rejected: no answer in time]")
    );
}

#[tokio::test]
async fn cancelling_while_a_question_stands_ends_the_run() {
    let runtime = change_twice().asking(PermissionMode::Ask).build();
    let session = runtime.post("go").await;
    runtime
        .wait_for_event(&session, "permission.requested")
        .await;
    runtime
        .command(Command::Cancel {
            session: session.clone(),
            run: None,
        })
        .await;
    runtime.wait_for_run(&session).await;
    assert!(
        runtime
            .transcript(&session)
            .await
            .contains("tool     Change cancelled: [cancelled]\nended    cancelled")
    );
    runtime.verify().await;
}

#[tokio::test]
async fn a_deny_rule_holds_in_bypass_mode() {
    let mut plan = change_twice();
    plan.rights.policy.deny = vec![rooftree_tools::PermissionRule::parse("Change").unwrap()];
    let runtime = plan.build();
    let session = runtime.post("go").await;
    assert_eq!(runtime.wait_for_run(&session).await.denials.len(), 2);
}
