//! External agents: signed questions, answers at once and later, and callbacks that are not answers.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::{FutureExt, StreamExt};
use ring::hmac;
use rooftree_protocol::{ErrorCode, SessionId};
use rooftree_providers::{
    Error, Model, ModelMessage, ModelRequest, ReplyChunk,
    external_agent::{
        self, AgentCallback, AnswerMode, BODY_BYTES, CallbackReceipt, CallbackRegistry,
        ExternalAgentOptions,
    },
    http::{HttpClient, HttpTimeouts, Secret},
};
use rooftree_testkit::model_server::{ModelServer, ReceivedRequest, ServerAnswer, anthropic};
use serde_json::json;

use crate::asking::{ask, assistant, conversation, image, question, said, user};

const SECRET: &str = "shared with the agent";

fn answer(status: u16, body: impl Into<String>) -> ServerAnswer {
    ServerAnswer::Raw {
        status,
        content_type: "application/json",
        body: body.into(),
    }
}

/// An agent that checks signatures before it answers.
async fn agent(
    mut answering: impl FnMut(&ReceivedRequest) -> ServerAnswer + Send + 'static,
) -> ModelServer {
    ModelServer::start_with(anthropic::WIRE, move |asked| {
        match is_signed(asked) && asked.header("idempotency-key") == asked.json()["idempotency_key"]
        {
            true => answering(asked),
            false => answer(401, r#"{"error": "bad signature"}"#),
        }
    })
    .await
}

fn is_signed(asked: &ReceivedRequest) -> bool {
    let digits = asked
        .header("x-rooftree-signature")
        .strip_prefix("sha256=")
        .unwrap_or_default();
    let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    let tag: Vec<u8> = (0..digits.len()).step_by(2).filter_map(byte).collect();
    hmac::verify(
        &hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes()),
        &asked.body,
        &tag,
    )
    .is_ok()
}

/// A place for callbacks, as one process after the other has it.
fn place() -> CallbackRegistry {
    CallbackRegistry::new(
        "kept beside the database",
        Arc::new(|base| async { Ok(base.unwrap_or_else(|| "http://us.test".into())) }.boxed()),
    )
}

fn model(options: ExternalAgentOptions, callbacks: &CallbackRegistry) -> Model {
    let agents = BTreeMap::from([("reviewer".to_owned(), options)]);
    let client = HttpClient::new(HttpTimeouts::default()).unwrap();
    let open = external_agent::opener(client, agents, callbacks.clone());
    open(&"external/reviewer".parse().unwrap()).unwrap()
}

fn sync(server: &ModelServer) -> ExternalAgentOptions {
    ExternalAgentOptions::new(
        server.url() + "/in",
        Secret::fixed(SECRET),
        "REVIEWER_SECRET",
    )
}

fn later(server: &ModelServer) -> ExternalAgentOptions {
    ExternalAgentOptions {
        mode: AnswerMode::Async,
        ..sync(server)
    }
}

fn token(asked: &ReceivedRequest) -> String {
    let url = asked.json()["callback_url"].as_str().unwrap().to_owned();
    url.strip_prefix("http://us.test/callbacks/")
        .unwrap()
        .to_owned()
}

fn call_back(callbacks: &CallbackRegistry, token: &str, body: &str) -> CallbackReceipt {
    callbacks.deliver(AgentCallback {
        token,
        message: None,
        body: body.as_bytes(),
    })
}

#[tokio::test]
async fn a_response_is_the_answer_as_an_object_or_as_it_is() {
    for (body, expected) in [
        (r#"{"text": "Fine."}"#, "Fine."),
        ("Fine, too.", "Fine, too."),
    ] {
        let server = agent(move |_| answer(200, body)).await;
        let (chunks, reply) = ask(&model(sync(&server), &place()), question("How is it?")).await;
        assert_eq!(said(&chunks), expected);
        assert_eq!(reply.unwrap().request.as_deref(), Some("req_1"));
    }
}

#[tokio::test]
async fn an_agent_is_told_what_is_new_and_nothing_else() {
    let server = agent(|_| answer(200, "ok")).await;
    let (picture, media) = image();
    let new = ModelMessage::User(vec![rooftree_protocol::Part::text("and this?"), picture]);
    let told = vec![
        user("old"),
        assistant("external/reviewer", vec![]),
        user("look"),
        new,
    ];
    ask(
        &model(sync(&server), &place()),
        ModelRequest {
            media,
            ..conversation(told)
        },
    )
    .await
    .1
    .unwrap();
    let body = server.requests()[0].json();
    assert_eq!(body["message"]["text"], "look\nand this?");
    assert_eq!(body["message"]["parts"][2]["data"], "YWJj");
    assert_eq!(body["session"], SessionId::from_entropy(1).as_str());
    assert_eq!(body["agent"], "main");
    let fields: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["session", "agent", "message", "idempotency_key"]);
}

#[tokio::test]
async fn failures_are_told_apart_by_what_helps() {
    let long = "x".repeat(BODY_BYTES + 1);
    let table = [
        (
            answer(200, r#"{"error": "no idea"}"#),
            Error::Refused("the external agent says: no idea".into()),
        ),
        (
            answer(200, " "),
            Error::Broken("the agent answered with nothing".into()),
        ),
        (
            answer(200, long),
            Error::Refused(format!("the answer has more than {BODY_BYTES} bytes")),
        ),
        (
            answer(413, "big"),
            Error::Refused("big (request req_1)".into()),
        ),
        (answer(429, ""), Error::RateLimited { retry_after: None }),
        (answer(503, ""), Error::Overloaded { retry_after: None }),
        (
            answer(403, r#"{"error": "who?"}"#),
            Error::Unauthorized("who? (request req_1)".into()),
        ),
        (
            answer(302, ""),
            Error::Refused("status 302; redirects are not followed".into()),
        ),
    ];
    for (given, expected) in table {
        let server = agent(move |_| given.clone()).await;
        assert_eq!(
            ask(&model(sync(&server), &place()), question("?")).await.1,
            Err(expected)
        );
    }
    let server = agent(|_| answer(202, "")).await;
    let promised = ask(&model(sync(&server), &place()), question("?"))
        .await
        .1
        .unwrap_err();
    assert!(
        !promised.is_retryable() && promised.to_string().contains("mode = \"sync\""),
        "{promised}"
    );
    let server = agent(|_| ServerAnswer::Silence).await;
    let hurried = ExternalAgentOptions {
        timeout: Duration::from_millis(20),
        ..sync(&server)
    };
    assert!(matches!(
        ask(&model(hurried, &place()), question("?")).await.1,
        Err(Error::Broken(_))
    ));
}

#[tokio::test]
async fn a_question_that_failed_is_asked_again_under_the_same_key_and_another_one_is_not() {
    let mut tries = 0;
    let server = agent(move |_| {
        tries += 1;
        if tries == 1 {
            answer(500, "")
        } else {
            answer(200, "ok")
        }
    })
    .await;
    let model = model(sync(&server), &place());
    assert!(
        ask(&model, question("?"))
            .await
            .1
            .unwrap_err()
            .is_retryable()
    );
    let again = ModelRequest {
        attempt: 1,
        ..question("?")
    };
    ask(&model, again).await.1.unwrap();
    let elsewhere = ModelRequest {
        session: SessionId::from_entropy(2),
        ..question("?")
    };
    ask(&model, elsewhere).await.1.unwrap();
    let next = conversation(vec![
        user("?"),
        assistant("external/reviewer", vec![]),
        user("?"),
    ]);
    ask(&model, next).await.1.unwrap();
    let keys: Vec<String> = server
        .requests()
        .iter()
        .map(|asked| asked.header("idempotency-key").to_owned())
        .collect();
    assert_eq!(keys[0], keys[1]);
    let distinct: std::collections::BTreeSet<&String> = keys.iter().collect();
    assert_eq!(distinct.len(), 3, "{keys:?}");
}

#[tokio::test]
async fn an_answer_may_come_later_and_in_pieces() {
    let server = agent(|_| answer(202, "thinking")).await;
    let callbacks = place();
    let mut stream = model(later(&server), &callbacks)
        .provider
        .stream(question("?"));
    assert!(stream.next().now_or_never().is_none(), "nothing has come");
    let token = loop {
        if let Some(asked) = server.requests().first() {
            break token(asked);
        }
        // Drives the question onto the wire.
        let _ = tokio::time::timeout(Duration::from_millis(5), stream.next()).await;
    };
    assert_eq!(
        call_back(&callbacks, &token, r#"{"text": "One, ", "final": false}"#),
        CallbackReceipt::Taken
    );
    assert_eq!(
        stream.next().await,
        Some(Ok(ReplyChunk::Text("One, ".into())))
    );
    assert_eq!(
        call_back(&callbacks, &token, "two."),
        CallbackReceipt::Taken
    );
    assert_eq!(
        stream.next().await,
        Some(Ok(ReplyChunk::Text("two.".into())))
    );
    let Some(Ok(ReplyChunk::Reply(reply))) = stream.next().await else {
        panic!("no reply")
    };
    assert_eq!(
        reply.parts,
        [rooftree_protocol::event::ReplyPart::Text {
            text: "One, two.".into()
        }]
    );
    assert_eq!(stream.next().await, None);
}

/// Answers by callback before it says that it will, and keeps what it was told about its callbacks.
async fn hasty(
    callbacks: &CallbackRegistry,
    bodies: &'static [&'static str],
) -> (ModelServer, Arc<Mutex<Vec<CallbackReceipt>>>) {
    let receipts = Arc::new(Mutex::new(Vec::new()));
    let (callbacks, kept) = (callbacks.clone(), receipts.clone());
    let server = agent(move |asked| {
        let delivered = bodies
            .iter()
            .map(|body| call_back(&callbacks, &token(asked), body));
        kept.lock().unwrap().extend(delivered);
        answer(202, "")
    });
    (server.await, receipts)
}

#[tokio::test]
async fn a_callback_may_come_before_the_response_and_counts_once() {
    let callbacks = place();
    let one = r#"{"text": "a", "final": false, "message_id": "1"}"#;
    let (server, receipts) = hasty(
        &callbacks,
        &[
            r#"{"text": "a", "final": false, "message_id": "1"}"#,
            r#"{"text": "a again", "final": false, "message_id": "1"}"#,
            r#"{"text": "b", "message_id": "2"}"#,
            r#"{"text": "c", "message_id": "3"}"#,
        ],
    )
    .await;
    let (chunks, reply) = ask(&model(later(&server), &callbacks), question("?")).await;
    reply.unwrap();
    assert_eq!(said(&chunks), "ab");
    let expected = [
        CallbackReceipt::Taken,
        CallbackReceipt::Repeated,
        CallbackReceipt::Taken,
        CallbackReceipt::Over,
    ];
    assert_eq!(*receipts.lock().unwrap(), expected);
    let token = token(&server.requests()[0]);
    assert_eq!(
        call_back(&callbacks, &token, one),
        CallbackReceipt::Repeated,
        "also when it has been read"
    );
}

#[tokio::test]
async fn an_agent_that_could_answer_later_may_answer_at_once_or_fail() {
    for (given, expected) in [
        (answer(200, r#"{"text": "now"}"#), Ok("now")),
        (
            answer(200, r#"{"error": "never"}"#),
            Err("the external agent says: never"),
        ),
    ] {
        let server = agent(move |_| given.clone()).await;
        let (chunks, reply) = ask(&model(later(&server), &place()), question("?")).await;
        match expected {
            Ok(text) => assert_eq!((said(&chunks).as_str(), reply.is_ok()), (text, true)),
            Err(words) => assert_eq!(reply, Err(Error::Refused(words.into()))),
        }
    }
    let server = agent(|_| answer(200, r#"{"ok": true}"#)).await;
    let brief = ExternalAgentOptions {
        promise: Duration::from_millis(20),
        ..later(&server)
    };
    let lost = ask(&model(brief, &place()), question("?")).await.1;
    assert_eq!(
        lost,
        Err(Error::Broken("the promised answer did not come".into())),
        "`ok` is no answer"
    );
}

#[tokio::test]
async fn what_is_no_callback_of_ours_is_turned_away() {
    let callbacks = place();
    let (server, _) = hasty(&callbacks, &[]).await;
    let model = model(
        ExternalAgentOptions {
            promise: Duration::from_millis(20),
            ..later(&server)
        },
        &callbacks,
    );
    ask(&model, question("?")).await.1.unwrap_err();
    ask(
        &model,
        ModelRequest {
            session: SessionId::from_entropy(2),
            ..question("?")
        },
    )
    .await
    .1
    .unwrap_err();
    let (mine, other) = (token(&server.requests()[0]), token(&server.requests()[1]));
    let swapped = mine.replace(
        SessionId::from_entropy(1).as_str(),
        SessionId::from_entropy(2).as_str(),
    );
    let grafted = format!(
        "{}.{}",
        mine.rsplit_once('.').unwrap().0,
        other.rsplit_once('.').unwrap().1
    );
    let cut = &mine[..mine.len() - 2];
    for wrong in ["", "x", cut, &swapped, &grafted] {
        assert_eq!(
            call_back(&callbacks, wrong, "hello"),
            CallbackReceipt::Unknown,
            "{wrong}"
        );
    }
    let foreign = json!({"text": "hello", "session": SessionId::from_entropy(2)}).to_string();
    assert_eq!(
        call_back(&callbacks, &mine, &foreign),
        CallbackReceipt::Unknown,
        "for another session"
    );
    assert_eq!(
        call_back(&callbacks, &mine, &"x".repeat(BODY_BYTES + 1)),
        CallbackReceipt::TooLarge
    );
    let garbled = AgentCallback {
        token: &mine,
        message: None,
        body: b"\xff",
    };
    assert_eq!(callbacks.deliver(garbled), CallbackReceipt::Unreadable);
    assert_eq!(
        call_back(&callbacks, &mine, &"x".repeat(BODY_BYTES)),
        CallbackReceipt::Taken
    );
    assert_eq!(
        call_back(&callbacks, &other, "hello"),
        CallbackReceipt::Taken
    );
}

#[tokio::test]
async fn after_a_crash_the_same_question_has_the_same_token_and_is_answered() {
    let before = place();
    let (server, _) = hasty(&before, &[]).await;
    let brief = ExternalAgentOptions {
        promise: Duration::from_millis(20),
        ..later(&server)
    };
    ask(&model(brief, &before), question("?"))
        .await
        .1
        .unwrap_err();
    drop(before);
    // The answer to the first asking comes before the next process has asked.
    let after = place();
    let first = token(&server.requests()[0]);
    assert_eq!(
        call_back(&after, &first, r#"{"text": "half, ", "final": false}"#),
        CallbackReceipt::Taken
    );
    let asked_again = model(later(&server), &after).provider.stream(question("?"));
    let asking = tokio::spawn(asked_again.collect::<Vec<_>>());
    while server.requests().len() < 2 {
        tokio::task::yield_now().await;
    }
    let again = &server.requests()[1];
    assert_eq!(token(again), first);
    assert_eq!(
        again.header("idempotency-key"),
        server.requests()[0].header("idempotency-key")
    );
    assert_eq!(call_back(&after, &first, "whole"), CallbackReceipt::Taken);
    let chunks: Vec<ReplyChunk> = asking
        .await
        .unwrap()
        .into_iter()
        .map(Result::unwrap)
        .collect();
    assert_eq!(said(&chunks), "half, whole");
}

#[tokio::test]
async fn the_same_words_asked_once_more_are_not_answered_from_memory() {
    let callbacks = place();
    let (server, receipts) = hasty(&callbacks, &["the answer"]).await;
    let model = model(later(&server), &callbacks);
    ask(&model, question("?")).await.1.unwrap();
    ask(&model, question("?")).await.1.unwrap();
    assert_eq!(server.requests().len(), 2);
    assert_eq!(
        *receipts.lock().unwrap(),
        [CallbackReceipt::Taken, CallbackReceipt::Taken]
    );
}

#[test]
fn an_agent_nobody_knows_and_one_without_a_secret_are_found_before_anything_is_asked() {
    let options = ExternalAgentOptions::new("http://a.test", Secret::none(), "REVIEWER_SECRET");
    let agents = BTreeMap::from([("reviewer".to_owned(), options)]);
    let open = external_agent::opener(
        HttpClient::new(HttpTimeouts::default()).unwrap(),
        agents,
        place(),
    );
    let problem = |name: &str| open(&name.parse().unwrap()).err().unwrap();
    let unknown = problem("external/painter");
    assert_eq!(
        (unknown.code, unknown.cause.unwrap().as_str()),
        (ErrorCode::InvalidConfig, "known ones: reviewer")
    );
    let silent = problem("external/reviewer");
    assert_eq!(silent.code, ErrorCode::Unauthorized);
    assert!(silent.cause.unwrap().contains("REVIEWER_SECRET"));
}
