//! Responses from servers that fail, drip, lie or fall silent.

use std::time::Duration;

use futures::{StreamExt, stream};
use rooftree_providers::{
    Error, Request,
    openai::{Endpoint, Responses, responses::Thinks},
};
use rooftree_testkit::model_server::{
    Answer, Block, Delivery, End, ModelServer, Pieces, Saying, fail, openai_responses::WIRE, say,
};
use serde_json::json;

use crate::asking::*;

fn responses(server: &ModelServer) -> Responses {
    Responses::new(client(), Endpoint::new("openai", server.url()), Thinks::Yes)
}

async fn error(answer: impl Into<Answer>) -> Error {
    let server = ModelServer::start(WIRE, [answer.into()]).await;
    ask(&responses(&server), request()).await.1.unwrap_err()
}

fn short() -> Saying {
    say().text(["Grü", "ße 木"])
}

/// Where the last event has come whole, without the empty line behind it.
fn whole() -> usize {
    Delivery::default().bytes(&(WIRE.frames)(&short())).len() - 2
}

#[tokio::test]
async fn an_answer_cut_anywhere_is_broken_and_never_a_reply() {
    type Ending = fn(usize) -> End;
    let ends: [(&str, Ending); 2] = [("short", End::Short), ("lost", End::Cut)];
    for (name, end) in ends {
        let server = ModelServer::answering(WIRE, move |asked| {
            let kept = asked.json()["model"].as_str().unwrap_or_default().parse().unwrap_or(0);
            short().pieces(Pieces::Whole).ending(end(kept)).into()
        })
        .await;
        let responses = &responses(&server);
        let cuts = stream::iter(0..=whole() + 2).map(|kept| async move {
            let (deltas, reply) = ask(responses, Request { model: kept.to_string(), ..request() }).await;
            (kept, said(&deltas), reply)
        });
        let mut cuts = cuts.buffer_unordered(32);
        while let Some((kept, said, reply)) = cuts.next().await {
            assert!("Grüße 木".starts_with(&said), "{name} {kept}: {said}");
            match reply {
                Ok(_) => assert!(kept >= whole(), "{name} {kept}"),
                Err(error) => {
                    assert!(matches!(error, Error::Broken(_)), "{name} {kept}: {error:?}");
                    assert!(kept < whole() || name == "lost", "{name} {kept}");
                }
            }
        }
    }
}

#[tokio::test]
async fn failures_are_classed_before_and_within_a_stream() {
    let wait = Some(Duration::from_secs(7));
    let limited = fail(429, "rate_limit_exceeded", "Slow down.").header("retry-after", "7");
    assert_eq!(error(limited).await, Error::RateLimited { retry_after: wait });
    assert_eq!(error(fail(529, "", "Busy.")).await, Error::Overloaded { retry_after: None });
    assert_eq!(error(fail(413, "", "Big.")).await, Error::TooLong { limit: None });
    let within = |code: &str, message: &str| say().text(["a"]).failing(fail(200, code, message));
    assert_eq!(
        error(within("rate_limit_exceeded", "Please try again in 7s.")).await,
        Error::RateLimited { retry_after: wait }
    );
    assert_eq!(error(within("context_length_exceeded", "")).await, Error::TooLong { limit: None });
    assert!(matches!(error(within("server_error", "Oh.")).await, Error::Broken(_)));
    assert!(matches!(error(within("invalid_prompt", "No.")).await, Error::Refused(_)));
    assert!(matches!(error(within("insufficient_quota", "Pay.")).await, Error::Unauthorized(_)));
    let event =
        |event: serde_json::Value| say().block(Block::Frame(format!("event: error\ndata: {event}\n\n")));
    let flat = event(json!({"type": "error", "code": "server_is_overloaded", "message": "x", "param": null}));
    assert_eq!(error(flat).await, Error::Overloaded { retry_after: None });
    let nested = event(json!({"type": "error", "error": {"code": "context_length_exceeded", "message": ""}}));
    assert_eq!(error(nested).await, Error::TooLong { limit: None });
}

#[tokio::test]
async fn an_answer_without_its_last_event_is_broken() {
    assert!(matches!(error(short().endless()).await, Error::Broken(_)));
    let marked = short().block(Block::Frame("data: [DONE]\n\n".into())).endless();
    assert!(matches!(error(marked).await, Error::Broken(_)), "this wire's last word is another");
    let torn = short().block(Block::Frame("data: {\"type\":\n\n".into()));
    assert!(matches!(error(torn).await, Error::Broken(_)));
}

#[tokio::test]
async fn bytes_may_come_in_any_shape_and_unknown_events_do_no_harm() {
    let odd = ": ping\n\nevent: keepalive\ndata: {\"type\":\"keepalive\"}\n\n\
        event: response.news\ndata: {\"type\":\"response.news\",\"x\":[1]}\n\n";
    let saying = || short().block(Block::Frame(odd.into())).call("a", "Read", ["{\"path\":\"é\"}"]);
    let shapes = [
        saying(),
        saying().gzip(),
        saying().crlf(),
        saying().pieces(Pieces::Bytes),
        saying().gzip().crlf().pieces(Pieces::Bytes),
    ];
    for shape in shapes {
        let delivery = shape.delivery;
        let server = ModelServer::start(WIRE, [shape]).await;
        let (deltas, reply) = ask(&responses(&server), request()).await;
        let reply = reply.unwrap();
        assert_eq!((said(&deltas).as_str(), reply.parts.len()), ("Grüße 木", 2), "{delivery:?}");
        assert_eq!(calls(&reply), [("Read".to_owned(), json!({"path": "é"}))], "{delivery:?}");
    }
}

#[tokio::test]
async fn silence_is_broken_and_pings_do_not_hide_it() {
    let pings = "data: {\"type\":\"keepalive\"}\n\n".repeat(3);
    let answers = [
        Answer::Silence,
        short().ending(End::Stall(0)).into(),
        short().block(Block::Frame(pings)).ending(End::Stall(900)).into(),
    ];
    let server = ModelServer::start(WIRE, answers).await;
    let responses = Responses::new(impatient(), Endpoint::new("openai", server.url()), Thinks::Yes);
    for _ in 0..3 {
        assert!(matches!(ask(&responses, request()).await.1, Err(Error::Broken(_))));
    }
}
