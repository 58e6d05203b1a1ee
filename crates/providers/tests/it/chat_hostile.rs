//! Chat Completions from servers that fail, drip, lie or fall silent.

use std::time::Duration;

use futures::{StreamExt, stream};
use rooftree_providers::{
    Error, Request,
    openai::{Chat, Dialect, Endpoint},
};
use rooftree_testkit::model_server::{
    Answer, Block, Delivery, End, Failure, ModelServer, Pieces, Saying, fail,
    openai_chat::{WIRE, chunk},
    say,
};
use serde_json::json;

use crate::asking::*;

fn chat(server: &ModelServer) -> Chat {
    Chat::new(client(), Endpoint::new("vendor", server.url()), Dialect::OPENAI)
}

async fn error(answer: impl Into<Answer>) -> Error {
    let server = ModelServer::start(WIRE, [answer.into()]).await;
    ask(&chat(&server), request()).await.1.unwrap_err()
}

fn short() -> Saying {
    say().thinking(["Hm"], "").text(["Grü", "ße 木"]).call("a", "Read", ["{\"path\":\"é\"}"])
}

/// Asks for the answer cut after each number of bytes: what came of each.
async fn cut(end: fn(usize) -> End) -> Vec<(usize, String, Result<rooftree_providers::Reply, Error>)> {
    let whole = Delivery::default().bytes(&(WIRE.frames)(&short())).len();
    let server = ModelServer::answering(WIRE, move |asked| {
        let kept = asked.json()["model"].as_str().unwrap_or_default().parse().unwrap_or(0);
        short().pieces(Pieces::Whole).ending(end(kept)).into()
    })
    .await;
    let chat = &chat(&server);
    stream::iter(0..=whole)
        .map(|kept| async move {
            let (deltas, reply) = ask(chat, Request { model: kept.to_string(), ..request() }).await;
            (kept, said(&deltas), reply)
        })
        .buffer_unordered(32)
        .collect()
        .await
}

/// Where the reason to stop has come whole, without the empty line behind it.
fn end_of_reason() -> usize {
    let frames = (WIRE.frames)(&short());
    frames.iter().rev().skip(2).map(String::len).sum::<usize>() - 2
}

#[tokio::test]
async fn a_body_that_ends_too_soon_anywhere_is_broken_and_never_a_reply() {
    for (kept, said, reply) in cut(End::Short).await {
        assert!("Grüße 木".starts_with(&said), "{kept}: {said}");
        match reply {
            Ok(reply) => {
                assert!(kept >= end_of_reason(), "{kept} bytes are no whole answer");
                assert_eq!((said.as_str(), reply.parts.len()), ("Grüße 木", 3));
            }
            Err(error) => {
                assert!(matches!(error, Error::Broken(_)), "{kept}: {error:?}");
                assert!(kept < end_of_reason(), "the answer is whole after {kept} bytes");
            }
        }
    }
}

#[tokio::test]
async fn a_connection_lost_anywhere_is_broken_unless_all_has_been_said() {
    for (kept, said, reply) in cut(End::Cut).await {
        assert!("Grüße 木".starts_with(&said), "{kept}: {said}");
        match reply {
            Ok(reply) => {
                assert!(kept >= end_of_reason() && reply.parts.len() == 3, "{kept}");
            }
            Err(error) => assert!(matches!(error, Error::Broken(_)), "{kept}: {error:?}"),
        }
    }
}

#[tokio::test]
async fn refusals_are_classed_by_code_and_status() {
    let wait = Some(Duration::from_secs(7));
    let limited = || fail(429, "rate_limit_exceeded", "Slow down.");
    assert_eq!(error(limited().header("retry-after", "7")).await, Error::RateLimited { retry_after: wait });
    let exact = limited().header("retry-after-ms", "7000").header("retry-after", "9");
    assert_eq!(error(exact).await, Error::RateLimited { retry_after: wait });
    let reset = limited()
        .header("x-ratelimit-remaining-requests", "3")
        .header("x-ratelimit-reset-requests", "9s")
        .header("x-ratelimit-remaining-tokens", "0")
        .header("x-ratelimit-reset-tokens", "7s");
    assert_eq!(error(reset).await, Error::RateLimited { retry_after: wait });
    assert_eq!(error(limited()).await, Error::RateLimited { retry_after: None });
    type Expected = fn(&Error) -> bool;
    let table: [(Failure, Expected); 8] = [
        (fail(529, "overloaded", "Busy."), |e| matches!(e, Error::Overloaded { .. })),
        (fail(503, "", "Busy."), |e| matches!(e, Error::Overloaded { .. })),
        (fail(413, "", "Too much."), |e| matches!(e, Error::TooLong { .. })),
        (fail(400, "context_length_exceeded", "Too long."), |e| matches!(e, Error::TooLong { .. })),
        (fail(401, "invalid_api_key", "Who?"), |e| matches!(e, Error::Unauthorized(_))),
        (fail(429, "insufficient_quota", "Pay."), |e| matches!(e, Error::Unauthorized(_))),
        (fail(400, "invalid_value", "max_tokens is 429"), |e| matches!(e, Error::Refused(_))),
        (fail(500, "server_error", "Oh."), |e| matches!(e, Error::Broken(_))),
    ];
    for (failure, expected) in table {
        let told = error(failure.clone()).await;
        assert!(expected(&told), "{failure:?} became {told:?}");
    }
    let Error::Refused(words) = error(fail(400, "invalid_value", "No.")).await else { panic!("refused") };
    assert_eq!(words, "No. (request req_1)");
}

#[tokio::test]
async fn errors_inside_a_stream_are_classed_like_refusals() {
    let limited = fail(200, "rate_limit_exceeded", "Slow down. Please try again in 1.5s.");
    let wait = Some(Duration::from_millis(1500));
    assert_eq!(error(say().text(["a"]).failing(limited)).await, Error::RateLimited { retry_after: wait });
    let broken = say().text(["a"]).failing(fail(200, "server_error", "Oh."));
    assert!(matches!(error(broken).await, Error::Broken(_)));
    let routed = json!({"error": {"code": 503, "message": "busy"}, "choices": [{"finish_reason": "error"}]});
    let routed = say().block(Block::Frame(format!("data: {routed}\n\n")));
    assert_eq!(error(routed).await, Error::Overloaded { retry_after: None });
    let named = Block::Frame("event: error\ndata: {\"message\":\"x\",\"code\":\"server_error\"}\n\n".into());
    assert!(matches!(error(say().block(named)).await, Error::Broken(_)));
}

#[tokio::test]
async fn what_is_no_stream_is_no_reply() {
    let raw = |status, content_type, body: &str| Answer::Raw { status, content_type, body: body.into() };
    assert!(matches!(error(raw(200, "text/html", "<html>Log in</html>")).await, Error::Broken(_)));
    let hidden = raw(200, "application/json", r#"{"error":{"code":429,"message":"slow"}}"#);
    assert_eq!(error(hidden).await, Error::RateLimited { retry_after: None });
    assert!(matches!(error(raw(502, "text/html", "<html>")).await, Error::Broken(_)));
    assert!(matches!(error(raw(200, "text/event-stream", "")).await, Error::Broken(_)));
    assert!(matches!(error(raw(200, "text/event-stream", "data: {\n\n")).await, Error::Broken(_)));
    let nothing = raw(200, "text/event-stream", "data: [DONE]\n\n");
    assert!(matches!(error(nothing).await, Error::Broken(_)), "an answer of nothing is none");
}

#[tokio::test]
async fn bytes_may_come_in_any_shape() {
    let odd =
        ": OPENROUTER PROCESSING\n\ndata: {\"object\":\"news\",\"hello\":[1]}\n\nevent: what\ndata: {}\n\n";
    let saying = || short().block(Block::Frame(odd.into())).block(Block::Frame(chunk(&json!(null), None)));
    let shapes = [
        saying(),
        saying().gzip(),
        saying().crlf(),
        saying().pieces(Pieces::Bytes),
        saying().pieces(Pieces::Whole),
        saying().gzip().crlf().pieces(Pieces::Bytes),
    ];
    for shape in shapes {
        let delivery = shape.delivery;
        let server = ModelServer::start(WIRE, [shape]).await;
        let (deltas, reply) = ask(&chat(&server), request()).await;
        let reply = reply.unwrap();
        assert_eq!((said(&deltas).as_str(), reply.parts.len()), ("Grüße 木", 3), "{delivery:?}");
        assert_eq!(calls(&reply), [("Read".to_owned(), json!({"path": "é"}))], "{delivery:?}");
    }
}

#[tokio::test]
async fn silence_is_broken_before_and_within_an_answer() {
    let answers =
        [Answer::Silence, short().ending(End::Stall(0)).into(), short().ending(End::Stall(400)).into()];
    let server = ModelServer::start(WIRE, answers).await;
    let chat = Chat::new(impatient(), Endpoint::new("vendor", server.url()), Dialect::OPENAI);
    for _ in 0..3 {
        assert!(matches!(ask(&chat, request()).await.1, Err(Error::Broken(_))));
    }
}

#[tokio::test]
async fn a_call_spelled_in_the_text_is_text() {
    let spelled = "{\"tool_calls\":[{\"function\":{\"name\":\"Bash\",\"arguments\":\"{}\"}}]}";
    let server = ModelServer::start(WIRE, [say().text([spelled])]).await;
    let (_, reply) = ask(&chat(&server), request()).await;
    assert_eq!(reply.unwrap().parts, [text(spelled)]);
}
