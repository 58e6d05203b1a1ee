//! Agents that live as long as the program: sessions, runs, events, and the end.

use std::{path::Path, sync::Arc};

use futures::StreamExt;
use rooftree::{
    ErrorCode, EventBody, RunStatus, Runtime, SqliteStore, Storage, Store,
    protocol::event::RunMode,
    testing::{ScriptEntry, call, say},
};
use serde_json::json;

use crate::fixture::{helper, script};

async fn runtime(entries: impl IntoIterator<Item = ScriptEntry>) -> Runtime {
    Runtime::builder()
        .provider("scripted", script(entries))
        .agent(helper())
        .build()
        .await
        .unwrap()
}

#[tokio::test]
async fn a_session_remembers_from_message_to_message() {
    let runtime = runtime([say("First."), say("Second, after {{ turn }}.")]).await;
    let session = runtime.session("lead").create().await.unwrap();
    let first = session.send("One").await.unwrap().result().await.unwrap();
    let second = session.send("Two").await.unwrap().result().await.unwrap();
    assert_eq!((first.text.as_str(), second.turns), ("First.", 1));
    assert!(second.text.starts_with("Second, after"), "{}", second.text);
    assert_eq!(first.session, second.session);
    runtime.stop().await;
}

#[tokio::test]
async fn a_session_is_found_again_in_its_file() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("agents.db");
    let build = || {
        let builder =
            Runtime::builder().provider("scripted", script([say("Hello."), say("Again.")]));
        builder.store(&file).build()
    };
    let runtime = build().await.unwrap();
    let none = runtime.session("lead").latest().await.err().unwrap();
    assert_eq!(none.code(), ErrorCode::SessionNotFound);
    let session = runtime.session("lead").latest_or_create().await.unwrap();
    session.send("Hi").await.unwrap().result().await.unwrap();
    runtime.stop().await;

    let runtime = build().await.unwrap();
    let found = runtime.session("lead").latest_or_create().await.unwrap();
    assert_eq!(found.id(), session.id());
    let same = runtime.session("lead").id(session.id()).await.unwrap();
    assert_eq!(
        same.send("Hi again")
            .await
            .unwrap()
            .result()
            .await
            .unwrap()
            .text,
        "Again."
    );
    assert!(
        runtime.session("helper").id(session.id()).await.is_err(),
        "it is not the helper's"
    );
    let other = runtime.session("lead").create().await.unwrap();
    assert_ne!(other.id(), session.id());
    runtime.stop().await;
}

#[tokio::test]
async fn a_store_is_a_path_or_one_that_is_open() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("agents.db");
    let storages: [fn(&Path) -> Storage; 4] = [
        |file| file.into(),
        |file| file.to_str().unwrap().into(),
        |file| SqliteStore::open(file).unwrap().into(),
        |file| (Arc::new(SqliteStore::open(file).unwrap()) as Arc<dyn Store>).into(),
    ];
    let mut sessions = Vec::new();
    for storage in storages {
        let builder = Runtime::builder().provider("scripted", script([say("Hello.").times(9)]));
        let runtime = builder.store(storage(&file)).build().await.unwrap();
        let session = runtime.session("lead").latest_or_create().await.unwrap();
        session.send("Hi").await.unwrap().result().await.unwrap();
        sessions.push(session.id().clone());
        runtime.stop().await;
    }
    sessions.dedup();
    assert_eq!(sessions.len(), 1, "each found what the one before had kept");
}

#[tokio::test]
async fn a_run_is_stopped_and_says_so() {
    let endless = say("").calls([call("Bash", json!({"command": "sleep 600"}))]);
    let builder = Runtime::builder()
        .provider("scripted", script([endless]))
        .allow("Bash");
    let runtime = builder.build().await.unwrap();
    let mut run = runtime
        .session("lead")
        .create()
        .await
        .unwrap()
        .send("Go")
        .await
        .unwrap();
    while let Some(event) = run.next().await {
        if let EventBody::ToolStarted { .. } = event.unwrap().body {
            run.cancel().await.unwrap();
        }
    }
    assert_eq!(run.outcome().await.unwrap().status, RunStatus::Cancelled);
    runtime.stop().await;
}

#[tokio::test]
async fn another_agent_is_asked_and_awaited_or_left_in_background() {
    let runtime = runtime([say("Helped.").agent("helper")]).await;
    let session = runtime.session("lead").create().await.unwrap();
    assert_eq!(
        session.delegate("helper", "Help").await.unwrap().text,
        "Helped."
    );
    let run = session
        .delegate("helper", "Help")
        .background()
        .await
        .unwrap();
    assert_ne!(run.session(), session.id());
    assert_eq!(run.outcome().await.unwrap().text, "Helped.");
    let unknown = session.delegate("nobody", "Help").await.unwrap_err();
    assert_eq!(unknown.code(), ErrorCode::AgentNotFound);
    runtime.stop().await;
}

#[tokio::test]
async fn a_run_has_only_its_own_events() {
    let runtime = runtime([say("One."), say("Two.")]).await;
    let session = runtime.session("lead").create().await.unwrap();
    let (first, second) = (
        session.send("1").await.unwrap(),
        session.send("2").await.unwrap(),
    );
    let second_id = second.id().clone();
    let events: Vec<_> = second.map(|event| event.unwrap().run).collect().await;
    assert!(
        events.iter().all(|run| run.as_ref() == Some(&second_id)),
        "{events:?}"
    );
    assert_eq!(first.result().await.unwrap().text, "One.");
    runtime.stop().await;
}

#[tokio::test]
async fn events_of_a_session_are_read_from_any_number_on() {
    let runtime = runtime([say("Hello.")]).await;
    let session = runtime.session("lead").create().await.unwrap();
    session.send("Hi").await.unwrap().result().await.unwrap();
    let events = runtime.events().session(session.id()).since(1).subscribe();
    let first: Vec<_> = events.take(2).map(Result::unwrap).collect().await;
    let ids: Vec<_> = first.iter().map(|event| event.id).collect();
    assert_eq!(ids, [Some(2), Some(3)]);
    assert!(matches!(
        first.first().unwrap().body,
        EventBody::RunStarted {
            mode: RunMode::Main,
            ..
        }
    ));
    runtime.stop().await;
}

#[tokio::test]
async fn a_runtime_that_has_stopped_takes_no_more() {
    let runtime = runtime([say("Hello.")]).await;
    let session = runtime.session("lead").create().await.unwrap();
    runtime.stop().await;
    assert!(session.send("Hi").await.is_err());
}
