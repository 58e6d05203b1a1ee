//! An answer is held while somebody must say yes, and what is asked outlives the wait for it.

use std::time::Duration;

use rooftree_protocol::{
    AgentDefinition, Answer, Command, Effect, EventBody, PermissionId, PermissionMode,
    PermissionScope, SessionId,
};
use rooftree_testkit::{
    ProbeTool, TestRuntimeBuilder, Toolset,
    scripted::{ScriptEntry, call, say},
};
use serde_json::{Value, json};

use crate::agent_server::{HELD, Reached, Streaming, joined, question, with};

fn changing() -> Vec<ScriptEntry> {
    vec![
        say("I change it.")
            .calls([call("Change", json!({"say": "x"}))])
            .usage(10, 5),
        say("Done.").usage(20, 5),
    ]
}

fn plan(entries: Vec<ScriptEntry>) -> TestRuntimeBuilder {
    let tools = Toolset::new([ProbeTool::open("Change", Effect::LocalMutation)]);
    TestRuntimeBuilder::new(entries)
        .with_delegation(tools)
        .asking(PermissionMode::Ask)
}

async fn permission(reached: &Reached, session: &SessionId) -> PermissionId {
    let asked = reached
        .runtime
        .wait_for_event(session, "permission.requested")
        .await;
    let EventBody::PermissionRequested { id, .. } = &asked.body else {
        panic!("{asked:?}")
    };
    id.clone()
}

async fn allow(reached: &Reached, session: &SessionId, permission: PermissionId) {
    let answer = Answer::allow(PermissionScope::Once);
    reached
        .runtime
        .command(Command::Permit {
            session: session.clone(),
            permission,
            answer,
        })
        .await;
}

/// Lets time pass until the server has waited long enough; all pieces of the stream.
async fn given_up(reached: &Reached, mut stream: Streaming) -> Vec<Value> {
    while stream.is_alive().await {
        reached.runtime.clock.advance(HELD);
    }
    stream.seen
}

#[tokio::test]
async fn a_stream_lives_until_the_permission_is_given_elsewhere_and_goes_on() {
    let reached = Reached::start(plan(changing())).await;
    let mut stream = reached.stream(&question("go"), &[]).await;
    let session = stream.session().clone();
    let id = permission(&reached, &session).await;
    assert!(stream.is_alive().await && stream.is_alive().await);
    allow(&reached, &session, id).await;
    let pieces = stream.rest().await;
    assert!(joined(&pieces, "content").ends_with("Done."), "{pieces:?}");
    assert_eq!(pieces.last().unwrap()["rooftree"]["status"], "completed");
}

#[tokio::test]
async fn after_a_while_the_answer_names_the_permission_which_can_still_be_given() {
    let reached = Reached::start(plan(changing())).await;
    let wanted = with(
        question("go"),
        json!({"stream_options": {"include_usage": true}}),
    );
    let mut stream = reached.stream(&wanted, &[]).await;
    let session = stream.session().clone();
    let id = permission(&reached, &session).await;
    assert!(stream.is_alive().await);
    reached
        .runtime
        .clock
        .advance(HELD - Duration::from_millis(1));
    assert!(
        stream.is_alive().await && stream.is_alive().await,
        "not yet"
    );
    let pieces = given_up(&reached, stream).await;
    let [.., end, cost] = pieces.as_slice() else {
        panic!("{pieces:?}")
    };
    let text = joined(&pieces, "content");
    assert!(
        text.contains(id.as_str()) && text.contains("rooftree permissions allow"),
        "{text}"
    );
    assert_eq!(end["choices"][0]["finish_reason"], "stop");
    assert_eq!(end["rooftree"]["status"], "needs_permission");
    assert_eq!(end["rooftree"]["permission"], id.as_str());
    assert_eq!(cost["usage"]["total_tokens"], 15);
    assert!(!reached.is_put_away(&session).await, "it is not over");
    allow(&reached, &session, id).await;
    assert_eq!(reached.runtime.wait_for_run(&session).await.text, "Done.");
}

#[tokio::test]
async fn a_request_behind_one_that_is_held_is_told_the_same() {
    let reached = Reached::start(plan(changing())).await;
    let bound = with(question("go"), json!({"user": "ada"}));
    let first = reached.stream(&bound, &[]).await;
    let session = first.session().clone();
    let id = permission(&reached, &session).await;
    let second = reached.stream(&bound, &[]).await;
    for stream in [first, second] {
        let pieces = given_up(&reached, stream).await;
        assert_eq!(
            pieces.last().unwrap()["rooftree"]["permission"],
            id.as_str(),
            "{pieces:?}"
        );
    }
}

#[tokio::test]
async fn what_a_child_asks_holds_the_answer_if_the_agent_waits_for_it() {
    let entries = vec![
        say("").agent("helper").calls([call(
            "Task",
            json!({"subagent_type": "worker", "prompt": "go"}),
        )]),
        say("")
            .agent("worker")
            .calls([call("Change", json!({"say": "x"}))]),
        say("Changed.").agent("worker"),
        say("All done.").agent("helper"),
    ];
    let reached = Reached::start(plan(entries).agent(AgentDefinition::new("worker"))).await;
    let stream = reached
        .stream(&question("go"), &["x-rooftree-verbose: 1"])
        .await;
    let session = stream.session().clone();
    reached
        .runtime
        .wait_for_event(&session, "tool.started")
        .await;
    let child = loop {
        if let Some(child) = reached.runtime.children(&session).await.pop() {
            break child.id;
        }
        tokio::task::yield_now().await;
    };
    let id = permission(&reached, &child).await;
    let pieces = given_up(&reached, stream).await;
    assert_eq!(
        pieces.last().unwrap()["rooftree"]["permission"],
        id.as_str(),
        "{pieces:?}"
    );
    allow(&reached, &child, id).await;
    assert_eq!(
        reached.runtime.wait_for_run(&session).await.text,
        "All done."
    );
    assert!(
        joined(&pieces, "reasoning_content").starts_with("Task "),
        "{pieces:?}"
    );
}

#[tokio::test]
async fn a_question_of_the_agent_is_held_and_named_as_well() {
    let asks = json!({"questions": [{"question": "Which wall?", "header": "Wall"}]});
    let entries = vec![say("").calls([call("AskUser", asks)]), say("Thanks.")];
    let mut plan = plan(entries);
    plan.tools = rooftree_runtime::people_tools::with_tools(&plan.tools);
    let reached = Reached::start(plan).await;
    let stream = reached.stream(&question("go"), &[]).await;
    let session = stream.session().clone();
    let asked = reached
        .runtime
        .wait_for_event(&session, "question.requested")
        .await;
    let EventBody::QuestionRequested { id, .. } = &asked.body else {
        panic!("{asked:?}")
    };
    let pieces = given_up(&reached, stream).await;
    let end = &pieces.last().unwrap()["rooftree"];
    assert_eq!(
        (&end["status"], &end["question"]),
        (&json!("needs_answer"), &json!(id.as_str()))
    );
    assert!(
        joined(&pieces, "content").contains("Which wall?"),
        "{pieces:?}"
    );
}
