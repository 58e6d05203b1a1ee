//! Recordings: what was answered is answered again, in any order, failures and all.

use std::{fs, path::Path, sync::Arc, time::Duration};

use rooftree_protocol::{ErrorCode, ModelChoice, SessionId};
use rooftree_providers::{
    Error, Model, ModelRequest, ReplyChunk,
    cassette::{CassettePlayer, CassetteRecorder, Placeholders},
    catalog::{ModelOpener, ModelPrice},
};

use crate::{
    conversation::script,
    openai::{ask, request, user},
};

fn choice() -> ModelChoice {
    "scripted/x".parse().unwrap()
}

/// One user's question, in a session of its own.
fn question(text: &str, session: u128, attempt: u32) -> ModelRequest {
    let messages = Arc::new(vec![user(text)]);
    ModelRequest {
        messages,
        session: SessionId::from_entropy(session),
        attempt,
        ..request()
    }
}

/// Records these questions to a model that fails at first, and then repeats what it hears.
async fn record(path: &Path, questions: &[(&str, u32)]) {
    let model = script(
        "[[reply]]\nerror = 'overloaded'\n[[reply]]\ntimes = 9\ntext = 'heard {{ user.text }}'",
    );
    let inner: ModelOpener = Arc::new(move |choice| {
        let (window, price) = (Some(4_000), Some(ModelPrice::FREE));
        Ok(Model {
            window,
            price,
            ..Model::new(choice, Arc::new(model.clone()))
        })
    });
    let model = CassetteRecorder::create(path, Placeholders::default())
        .unwrap()
        .opener(inner)(&choice())
    .unwrap();
    for (session, (text, attempt)) in (1..).zip(questions) {
        let _ = ask(model.provider.as_ref(), question(text, session, *attempt)).await;
    }
}

#[tokio::test]
async fn answers_and_failures_come_again_in_any_order_once_and_without_waiting() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("tape");
    record(&path, &[("one", 0), ("one", 1), ("two", 1)]).await;
    let player = CassettePlayer::open(&path, Placeholders::default()).unwrap();
    assert_eq!(
        (player.models(), player.left()),
        (vec!["scripted/x".to_owned()], 3)
    );
    let model = player.opener()(&choice()).unwrap();
    assert_eq!(
        (model.window, model.price),
        (Some(4_000), Some(ModelPrice::FREE))
    );
    let asked =
        async |text, attempt| ask(model.provider.as_ref(), question(text, 99, attempt)).await;
    let (deltas, reply) = asked("two", 1).await;
    assert!(
        deltas.contains(&ReplyChunk::Text("heard two".into())) && reply.is_ok(),
        "{deltas:?}"
    );
    assert_eq!(
        asked("one", 0).await.1.unwrap_err(),
        Error::Overloaded {
            retry_after: Some(Duration::ZERO)
        }
    );
    assert!(asked("one", 1).await.1.is_ok());
    assert_eq!(player.left(), 0);
    let twice = asked("one", 1)
        .await
        .1
        .expect_err("it was played twice")
        .problem();
    assert_eq!(twice.code, ErrorCode::ScriptExhausted);
    assert!(
        twice.message.starts_with("the recording is over"),
        "{twice:?}"
    );
    assert!(twice.fix.unwrap().contains("record it again"));
}

#[tokio::test]
async fn a_recording_is_lines_that_say_what_they_are() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("tape");
    record(&path, &[("alone", 1)]).await;
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        lines
            .iter()
            .map(|line| line["line"].as_str().unwrap())
            .collect::<Vec<_>>(),
        ["cassette", "model", "exchange"]
    );
    assert!(lines[2]["base"].is_null() && lines[2]["request"]["system"].is_string());
    assert!(
        !text.contains("ses_"),
        "a session's id says nothing in another run"
    );
}
