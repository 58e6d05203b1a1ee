//! Cassettes: recorded once over a vendor's wire, played without key, network or model.

use std::{fs, path::Path};

use rooftree::{
    Agent, Endpoint, ErrorCode, Query, Runtime, query,
    testing::{Cassette, call, say},
};
use rooftree_testkit::model_server::{
    ModelServer, ServerAnswer, StreamedAnswer, anthropic, fail, say as answer,
};
use serde_json::json;

use crate::fixture::{helper, script, scripted};

/// Looks like no vendor's: it is a secret only because it was given as a key.
const KEY: &str = "office:4fKq81zXw0bTn7Lr2VcY";

async fn claude(answers: impl IntoIterator<Item = StreamedAnswer>) -> ModelServer {
    ModelServer::start(anthropic::WIRE, answers).await
}

/// A question to a server of this machine, asked with a key.
fn keyed(prompt: &str, server: &ModelServer) -> Query {
    let endpoint = Endpoint::anthropic().base_url(server.url()).key(KEY);
    query(prompt)
        .endpoint("office", endpoint)
        .model("office/claude-sonnet-4-5")
}

fn tape(place: &Path) -> std::path::PathBuf {
    place.join("talk.cassette")
}

#[tokio::test]
async fn a_replay_needs_no_server_no_key_and_no_model() {
    let (place, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = tape(place.path());
    let glob = r#"{"pattern": "*.none"}"#;
    let server = claude([
        answer().call("t1", "Glob", [glob]),
        answer().text(["Nothing ", "here."]),
    ])
    .await;
    let recording = keyed("What is here?", &server)
        .cwd(work.path())
        .cassette(Cassette::record(&file));
    let recorded = recording.await.unwrap();
    assert_eq!(
        (recorded.text.as_str(), server.requests().len()),
        ("Nothing here.", 2)
    );
    drop(server);

    // Another directory; nothing is left of where the answers came from.
    let elsewhere = tempfile::tempdir().unwrap();
    let cassette = Cassette::replay(&file);
    let replayed = query("What is here?")
        .cwd(elsewhere.path())
        .cassette(cassette.clone())
        .await
        .unwrap();
    assert_eq!(
        (&replayed.text, &replayed.tools),
        (&recorded.text, &recorded.tools)
    );
    assert_eq!(replayed.usage, recorded.usage);
    assert_eq!(cassette.remaining(), 0);
}

#[tokio::test]
async fn no_key_is_on_the_tape_though_it_was_sent_and_said() {
    let place = tempfile::tempdir().unwrap();
    let file = tape(place.path());
    let server = claude([answer().text([format!("Your key is {KEY}.").as_str()])]).await;
    let prompt = format!("My key is {KEY}, is it not?");
    keyed(&prompt, &server)
        .cassette(Cassette::record(&file))
        .await
        .unwrap();
    assert_eq!(
        server.requests().first().unwrap().header("x-api-key"),
        KEY,
        "it was not sent at all"
    );
    let written = fs::read_to_string(&file).unwrap();
    assert!(
        !written.contains(KEY) && !written.contains("4fKq81zXw0bTn7Lr2VcY"),
        "{written}"
    );
    assert!(
        written.contains("My key is [redacted: key of office]")
            && written.contains("Your key is [redacted: key of office]"),
        "{written}"
    );

    let again = keyed(&prompt, &server)
        .cassette(Cassette::replay(&file))
        .await
        .unwrap();
    assert!(
        again.text.starts_with("Your key is [redacted: "),
        "{}",
        again.text
    );
    assert_eq!(server.requests().len(), 1, "a replay asks nobody");
}

#[tokio::test]
async fn a_question_that_is_not_on_the_tape_is_an_error_with_both_sides_and_a_way_out() {
    let place = tempfile::tempdir().unwrap();
    let file = tape(place.path());
    scripted("One?", [say("1")])
        .cassette(Cassette::record(&file))
        .await
        .unwrap();
    let other = scripted("Two?", [say("2")])
        .cassette(Cassette::replay(&file))
        .await
        .unwrap_err();
    assert_eq!(other.code(), ErrorCode::ScriptExhausted);
    let words = other.to_string();
    assert!(
        words.contains("differs from the recording at question 1"),
        "{words}"
    );
    assert!(words.contains("One?") && words.contains("Two?"), "{words}");
    assert!(
        other
            .hint()
            .unwrap()
            .contains("talk.cassette and record it again"),
        "{other:?}"
    );

    let cassette = Cassette::replay(&file);
    let asked = || scripted("One?", [say("never")]).cassette(cassette.clone());
    assert_eq!(asked().await.unwrap().text, "1");
    let twice = asked().await.unwrap_err();
    assert!(
        twice.to_string().contains("the recording is over"),
        "{twice}"
    );
}

#[tokio::test]
async fn it_is_recorded_once_and_by_several_queries_on_one_tape() {
    let place = tempfile::tempdir().unwrap();
    let file = tape(place.path());
    let server = claude([answer().text(["One."]), answer().text(["Two."])]).await;
    for _ in 0..3 {
        let cassette = Cassette::record_once(&file);
        for (prompt, text) in [("1?", "One."), ("2?", "Two.")] {
            assert_eq!(
                keyed(prompt, &server)
                    .cassette(cassette.clone())
                    .await
                    .unwrap()
                    .text,
                text
            );
        }
        assert_eq!(cassette.remaining(), 0);
    }
    assert_eq!(server.requests().len(), 2);
    let over = scripted("1?", [say("x")])
        .cassette(Cassette::record(&file))
        .await
        .unwrap_err();
    assert!(
        over.to_string().contains("there is such a file already"),
        "{over}"
    );
}

#[tokio::test]
async fn a_refused_key_leaves_no_tape_that_would_tell_of_it_forever() {
    let place = tempfile::tempdir().unwrap();
    let file = tape(place.path());
    let answers: [ServerAnswer; 2] = [
        fail(401, "authentication_error", "invalid x-api-key").into(),
        answer().text(["Hello."]).into(),
    ];
    let server = ModelServer::start(anthropic::WIRE, answers).await;
    let error = keyed("Hi", &server)
        .cassette(Cassette::record_once(&file))
        .await
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unauthorized);
    assert!(!file.exists());
    let asked = keyed("Hi", &server)
        .cassette(Cassette::record_once(&file))
        .await
        .unwrap();
    assert_eq!((asked.text.as_str(), file.exists()), ("Hello.", true));
}

#[tokio::test]
async fn a_runtimes_agents_and_those_they_ask_are_all_on_it() {
    let place = tempfile::tempdir().unwrap();
    let file = tape(place.path());
    let talk = async |builder: rooftree::RuntimeBuilder| {
        let reader = Agent::new("reader").describe("Reads.").model("other/small");
        let runtime = builder.agent(helper()).agent(reader).build().await.unwrap();
        let session = runtime.session("lead").create().await.unwrap();
        let first = session
            .send("Have it read")
            .await
            .unwrap()
            .result()
            .await
            .unwrap()
            .text;
        let second = session.delegate("helper", "Help").await.unwrap().text;
        runtime.stop().await;
        // What it says of the reader's session is another name each time.
        (first.lines().next().unwrap_or_default().to_owned(), second)
    };
    let read = call(
        "Task",
        json!({"subagent_type": "reader", "prompt": "Read it"}),
    );
    let lead = script([
        say("").calls([read]).agent("lead"),
        say("It was read: {{ results[0].text }}").agent("lead"),
        say("Helped.").agent("helper"),
    ]);
    let builder = Runtime::builder()
        .provider("real", lead)
        .provider("other", script([say("Read.")]));
    let recorded = talk(builder.cassette(Cassette::record(&file))).await;
    assert_eq!(
        recorded,
        ("It was read: Read.".to_owned(), "Helped.".to_owned())
    );
    assert_eq!(
        talk(Runtime::builder().cassette(Cassette::replay(&file))).await,
        recorded
    );
}

#[tokio::test]
async fn a_tape_that_cannot_be_used_is_told_before_anybody_is_asked() {
    let place = tempfile::tempdir().unwrap();
    let file = tape(place.path());
    let missing = scripted("Hi", [say("x")])
        .cassette(Cassette::replay(&file))
        .await
        .unwrap_err();
    assert!(
        missing.to_string().starts_with("cannot replay "),
        "{missing}"
    );
    assert!(
        missing.hint().unwrap().contains("Cassette::record_once"),
        "{missing:?}"
    );
    fs::write(&file, "{\"line\":\"exchange\"").unwrap();
    let broken = scripted("Hi", [say("x")])
        .cassette(Cassette::record_once(&file))
        .await
        .unwrap_err();
    assert!(broken.to_string().contains("line 1: "), "{broken}");
    let nowhere = place.path().join("none/tape");
    let nowhere = scripted("Hi", [say("x")])
        .cassette(Cassette::record(nowhere))
        .await
        .unwrap_err();
    assert!(
        nowhere.to_string().contains("no such directory"),
        "{nowhere}"
    );
}
