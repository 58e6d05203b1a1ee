//! Calls from inside that a person must say yes to.

use std::sync::Arc;

use rooftree_protocol::{
    Answer, Command, EventBody, PermissionMode, PermissionScope, SessionId,
    definition::ToolExposure,
};
use rooftree_testkit::TestRuntime;
use rooftree_tools::CallSocketEnv;
use serde_json::json;
use tokio::sync::Notify;

use super::{
    plan,
    shell::{Shell, called},
};

async fn answer(runtime: &TestRuntime, session: &SessionId, answer: Answer) {
    let asked = runtime
        .wait_for_event(session, "permission.requested")
        .await;
    let EventBody::PermissionRequested { id, tool, .. } = &asked.body else {
        panic!()
    };
    assert_eq!(tool, "Change");
    runtime
        .command(Command::Permit {
            session: session.clone(),
            permission: id.clone(),
            answer,
        })
        .await;
}

fn changing() -> Shell {
    Shell::new(
        |way: CallSocketEnv| async move { called(&way, "Change", json!({"say": "x"})).await },
    )
}

#[tokio::test]
async fn a_person_is_asked_and_the_command_waits_for_the_answer() {
    let table = [
        (Answer::allow(PermissionScope::Once), "Bash done: Done: x"),
        (
            Answer::deny(Some("not now".into())),
            "Bash done: Denied: [rejected: not now]",
        ),
    ];
    for (said, wanted) in table {
        let runtime = plan(changing(), ToolExposure::Skills)
            .asking(PermissionMode::Ask)
            .build();
        let session = runtime.post_as("clerk", "go").await;
        answer(&runtime, &session, said).await;
        runtime.wait_for_run(&session).await;
        let story = runtime.transcript(&session).await;
        assert!(story.contains(wanted), "{story}");
        runtime.verify().await;
    }
}

#[tokio::test]
async fn a_question_is_taken_back_when_the_command_ends_without_the_answer() {
    let leave = Arc::new(Notify::new());
    let left = leave.clone();
    let shell = Shell::new(move |way: CallSocketEnv| {
        let left = left.clone();
        async move {
            tokio::select! {
                said = called(&way, "Change", json!({"say": "x"})) => said,
                () = left.notified() => "left".to_owned(),
            }
        }
    });
    let runtime = plan(shell, ToolExposure::Skills)
        .asking(PermissionMode::Ask)
        .build();
    let session = runtime.post_as("clerk", "go").await;
    runtime
        .wait_for_event(&session, "permission.requested")
        .await;
    leave.notify_one();
    runtime.wait_for_run(&session).await;
    let story = runtime.transcript(&session).await;
    assert!(story.contains("tool     Bash done: left"), "{story}");
    assert_eq!(
        story.matches("answer   Deny by cancelled").count(),
        1,
        "{story}"
    );
    assert_eq!(
        story.matches("tool     Change cancelled").count(),
        1,
        "{story}"
    );
    runtime.verify().await;
}

#[tokio::test]
async fn nobody_answers_a_question_that_died_with_its_command() {
    let runtime = plan(changing(), ToolExposure::Skills)
        .asking(PermissionMode::Ask)
        .build();
    let session = runtime.post_as("clerk", "go").await;
    runtime
        .wait_for_event(&session, "permission.requested")
        .await;
    let runtime = runtime
        .crash(plan(changing(), ToolExposure::Skills).asking(PermissionMode::Ask))
        .await;
    runtime.recover().await;
    runtime.wait_for_run(&session).await;
    let story = runtime.transcript(&session).await;
    assert!(story.contains("answer   Deny by interrupted"), "{story}");
    assert!(story.contains("tool     Bash unknown"), "{story}");
    assert_eq!(story.matches("asks     Change").count(), 1, "{story}");
    runtime.verify().await;
}
