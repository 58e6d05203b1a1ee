//! Questions about tool calls: answered by the program, or refused.

use futures::StreamExt;
use rooftree::{
    Decision, ErrorCode, PermissionMode, PermissionRequest, Runtime,
    testing::{call, say},
};
use serde_json::json;

use crate::fixture::{Notes, script, scripted};

fn entries() -> [rooftree::testing::ScriptEntry; 2] {
    let write = call("Write", json!({"file_path": "note.txt", "content": "hi"}));
    [say("").calls([write]), say("{{ results[0].text }}")]
}

#[tokio::test]
async fn what_would_have_to_be_asked_is_refused_if_nobody_answers() {
    let place = tempfile::tempdir().unwrap();
    let outcome = scripted("Write", entries())
        .cwd(place.path())
        .await
        .unwrap();
    assert!(
        outcome.text.contains("no user can be asked"),
        "{}",
        outcome.text
    );
}

#[tokio::test]
async fn the_program_is_asked_and_its_answer_holds() {
    for (decision, expected) in [
        (Decision::allow(), true),
        (Decision::deny("not today"), false),
    ] {
        let place = tempfile::tempdir().unwrap();
        let notes = Notes::default();
        let asked = notes.clone();
        let query = scripted("Write", entries()).cwd(place.path()).approve(
            move |question: PermissionRequest| {
                asked.take(format!("{} {}", question.tool, question.title));
                let decision = decision.clone();
                async move { decision }
            },
        );
        let outcome = query.await.unwrap();
        assert_eq!(place.path().join("note.txt").exists(), expected);
        assert_eq!(
            outcome.text.contains("not today"),
            !expected,
            "{}",
            outcome.text
        );
        assert_eq!(notes.read(), ["Write note.txt"]);
    }
}

#[tokio::test]
async fn a_rule_allows_what_it_says() {
    let place = tempfile::tempdir().unwrap();
    scripted("Write", entries())
        .cwd(place.path())
        .allow("Write(note.txt)")
        .await
        .unwrap();
    assert!(place.path().join("note.txt").exists());
    let place = tempfile::tempdir().unwrap();
    scripted("Write", entries())
        .cwd(place.path())
        .permission_mode(PermissionMode::AcceptEdits)
        .await
        .unwrap();
    assert!(place.path().join("note.txt").exists());
}

#[tokio::test]
async fn an_approver_that_crashes_means_no() {
    let place = tempfile::tempdir().unwrap();
    let query = scripted("Write", entries()).cwd(place.path());
    let outcome = query
        .approve(async |_| -> Decision { panic!("oh") })
        .await
        .unwrap();
    assert!(outcome.text.contains("crashed"), "{}", outcome.text);
}

#[tokio::test]
async fn a_question_is_read_from_the_events_and_answered_once() {
    let place = tempfile::tempdir().unwrap();
    let runtime = Runtime::builder()
        .provider("scripted", script(entries()))
        .cwd(place.path())
        .ask_by_events();
    let runtime = runtime.build().await.unwrap();
    let mut events = runtime.events().subscribe();
    let run = runtime
        .session("lead")
        .create()
        .await
        .unwrap()
        .send("Write")
        .await
        .unwrap();
    let question = loop {
        if let Some(question) = PermissionRequest::from_event(&events.next().await.unwrap()) {
            break question;
        }
    };
    assert_eq!(question.run.as_ref(), Some(run.id()));
    runtime
        .respond(&question.id, Decision::allow().for_session())
        .await
        .unwrap();
    run.result().await.unwrap();
    assert!(place.path().join("note.txt").exists());
    let again = runtime
        .respond(&question.id, Decision::allow())
        .await
        .unwrap_err();
    assert_eq!(again.code(), ErrorCode::InvalidArguments);
    runtime.stop().await;
}

#[tokio::test]
async fn a_yes_for_the_project_holds_for_its_next_session() {
    let (place, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let builder = Runtime::builder()
        .provider("scripted", script(entries()))
        .cwd(place.path())
        .ask_by_events();
    let runtime = builder
        .store(home.path().join("agents.db"))
        .build()
        .await
        .unwrap();
    let mut asked = Vec::new();
    for _ in 0..2 {
        let mut run = runtime
            .session("lead")
            .create()
            .await
            .unwrap()
            .send("Write")
            .await
            .unwrap();
        while let Some(event) = run.next().await {
            if let Some(question) = PermissionRequest::from_event(&event.unwrap()) {
                runtime
                    .respond(&question.id, Decision::allow().for_project())
                    .await
                    .unwrap();
                asked.push(question.rule);
            }
        }
        assert!(place.path().join("note.txt").exists());
        std::fs::remove_file(place.path().join("note.txt")).unwrap();
    }
    assert_eq!(asked.len(), 1, "{asked:?}");
    runtime.stop().await;
}

#[tokio::test]
async fn the_program_answers_what_an_agent_asks() {
    use rooftree::protocol::QuestionReply;
    let entries = || {
        let ask = call(
            "AskUser",
            json!({"question": "Which colour?", "header": "colour", "options": ["red", "blue"]}),
        );
        [say("").calls([ask]), say("{{ results[0].text }}")]
    };
    let place = tempfile::tempdir().unwrap();
    let query = scripted("AskUser", entries())
        .cwd(place.path())
        .answer(|questions| async move {
            let answers = questions.into_iter().map(|question| {
                let last = question.choices.last().map(|choice| choice.label.clone());
                (question.name, last.into_iter().collect())
            });
            QuestionReply::Answered {
                answers: answers.collect(),
            }
        });
    assert_eq!(query.await.unwrap().text, "Which colour?\n→ blue");
    let alone = scripted("AskUser", entries())
        .cwd(place.path())
        .await
        .unwrap();
    assert!(
        alone.text.contains("tool_not_"),
        "without anybody to answer there is no such tool: {}",
        alone.text
    );
}

#[tokio::test]
async fn whoever_only_answers_questions_permits_nothing() {
    let place = tempfile::tempdir().unwrap();
    let query = scripted("Write", entries())
        .cwd(place.path())
        .answer(|_| async move { rooftree::protocol::QuestionReply::Declined { because: None } });
    assert!(query.await.unwrap().text.contains("no user can be asked"));
    assert!(!place.path().join("note.txt").exists());
}
