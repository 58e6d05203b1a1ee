//! A program that has another agent asked: with the rights of the session it asks through, in its trace.

use futures::StreamExt;
use rooftree::{
    Agent, AgentSession, ErrorCode, Event, EventBody, RunStatus, Runtime,
    protocol::Origin,
    testing::{ScriptEntry, ScriptedModel, call, say},
};
use serde_json::json;

use crate::fixture::{helper, script};

async fn runtime(entries: impl IntoIterator<Item = ScriptEntry>) -> (Runtime, ScriptedModel) {
    let model = script(entries);
    let reader = Agent::new("reader")
        .describe("Reads.")
        .tools(["Read", "Task"]);
    let builder = Runtime::builder()
        .provider("scripted", model.clone())
        .agent(helper())
        .agent(reader);
    (builder.allow("Write").build().await.unwrap(), model)
}

/// All that a session's journal holds when so many runs have ended.
async fn journal(runtime: &Runtime, session: &AgentSession, mut runs: usize) -> Vec<Event> {
    let mut events = Box::pin(runtime.events().session(session.id()).subscribe());
    let mut all = Vec::new();
    while let Some(event) = events.next().await {
        let event = event.unwrap();
        runs -= usize::from(matches!(event.body, EventBody::RunCompleted(_)));
        all.push(event);
        if runs == 0 {
            break;
        }
    }
    all
}

#[tokio::test]
async fn the_asked_one_has_a_parent_and_its_cost_is_the_parents() {
    let (runtime, model) = runtime([say("Helped.").agent("helper")]).await;
    let session = runtime.session("lead").create().await.unwrap();
    let outcome = session.delegate("helper", "Help").await.unwrap();
    assert_eq!(
        (outcome.text.as_str(), outcome.status),
        ("Helped.", RunStatus::Completed)
    );
    assert_eq!(
        model.requests().len(),
        1,
        "the session's own model is not asked"
    );
    let parents = journal(&runtime, &session, 1).await;
    let Some(EventBody::RunCompleted(end)) = parents.last().map(|event| event.body.clone()) else {
        panic!()
    };
    assert!(end.text.starts_with("Helped."), "{}", end.text);
    assert_eq!(end.delegated, outcome.usage);
    let child = runtime
        .session("helper")
        .id(&outcome.session)
        .await
        .unwrap();
    let started = journal(&runtime, &child, 1)
        .await
        .into_iter()
        .find_map(|event| match event.body {
            EventBody::RunStarted { parent, depth, .. } => Some((parent, depth)),
            _ => None,
        });
    let (parent, depth) = started.unwrap();
    let parent = parent.unwrap();
    assert_eq!((&parent.session, depth), (session.id(), 1));
    assert!(
        parents
            .iter()
            .all(|event| event.run.is_none() || event.run.as_ref() == Some(&parent.run))
    );
    runtime.stop().await;
}

#[tokio::test]
async fn the_asked_one_has_no_right_that_the_session_lacks() {
    let write = call("Write", json!({"file_path": "never.txt", "content": "x"}));
    let entries = [
        say("").calls([write]).agent("helper"),
        say("{{ results[0].text }}").agent("helper"),
    ];
    let (runtime, _) = runtime(entries).await;
    let place = tempfile::tempdir().unwrap();
    let session = runtime
        .session("reader")
        .cwd(place.path())
        .create()
        .await
        .unwrap();
    let outcome = session.delegate("helper", "Write it").await.unwrap();
    assert!(outcome.text.contains("tool_not_allowed"), "{outcome}");
    assert!(!place.path().join("never.txt").exists());
    runtime.stop().await;
}

#[tokio::test]
async fn the_session_reads_what_came_of_it_at_its_next_run_and_is_not_woken() {
    let entries = [
        say("Helped well.").agent("helper"),
        say("I heard.").agent("lead").times(9),
    ];
    let (runtime, model) = runtime(entries).await;
    let session = runtime.session("lead").create().await.unwrap();
    let run = session
        .delegate("helper", "Help")
        .background()
        .await
        .unwrap();
    assert_ne!(run.session(), session.id());
    assert_eq!(run.outcome().await.unwrap().text, "Helped well.");
    let answer = session
        .send("What came of it?")
        .await
        .unwrap()
        .result()
        .await
        .unwrap();
    assert_eq!(answer.text, "I heard.");
    let leads: Vec<_> = model
        .requests()
        .into_iter()
        .filter(|request| &*request.agent == "lead")
        .collect();
    assert_eq!(leads.len(), 1, "only the message woke it");
    let read = format!("{:?}", leads.first().unwrap().messages);
    assert!(
        read.contains("Helped well.") && read.contains("started in background"),
        "{read}"
    );
    let told = journal(&runtime, &session, 2)
        .await
        .into_iter()
        .find_map(|event| match event.body {
            EventBody::MessageUser { message, .. }
                if matches!(message.origin, Origin::Task { .. }) =>
            {
                Some(message)
            }
            _ => None,
        });
    assert!(told.unwrap().silent, "it would have woken the session");
    runtime.stop().await;
}

#[tokio::test]
async fn whoever_may_not_ask_is_refused_with_the_reason() {
    let (runtime, _) = runtime([say("x")]).await;
    let session = runtime.session("helper").create().await.unwrap();
    let unknown = session.delegate("nobody", "Help").await.unwrap_err();
    assert_eq!(unknown.code(), ErrorCode::AgentNotFound);
    let explore = runtime.session("explore").create().await.unwrap();
    let refused = explore.delegate("helper", "Help").await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::ToolNotAllowed, "{refused:?}");
    runtime.stop().await;
}
