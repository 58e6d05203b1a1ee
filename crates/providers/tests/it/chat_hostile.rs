//! Chat Completions from servers that fail or break off in ways of their own; `hostile` has what all wires share.

use std::time::Duration;

use rooftree_providers::{
    Error,
    openai::{ChatDialect, ChatProvider, OpenAiEndpoint},
};
use rooftree_testkit::model_server::{
    AnswerBlock, ErrorAnswer, ModelServer, ServerAnswer, fail,
    openai_chat::{WIRE, chunk},
    say,
};
use serde_json::json;

use crate::openai::*;

fn chat(server: &ModelServer) -> ChatProvider {
    ChatProvider::new(
        client(),
        OpenAiEndpoint::new("vendor", server.url()),
        ChatDialect::OPENAI,
    )
}

async fn error(answer: impl Into<ServerAnswer>) -> Error {
    let server = ModelServer::start(WIRE, [answer.into()]).await;
    ask(&chat(&server), request()).await.1.unwrap_err()
}

#[tokio::test]
async fn codes_and_resets_are_understood() {
    let wait = Some(Duration::from_secs(7));
    let reset = fail(429, "rate_limit_exceeded", "Slow down.")
        .header("x-ratelimit-remaining-requests", "3")
        .header("x-ratelimit-reset-requests", "9s")
        .header("x-ratelimit-remaining-tokens", "0")
        .header("x-ratelimit-reset-tokens", "7s");
    assert_eq!(error(reset).await, Error::RateLimited { retry_after: wait });
    type Expected = fn(&Error) -> bool;
    let table: [(ErrorAnswer, Expected); 4] = [
        (fail(400, "context_length_exceeded", "Too long."), |e| {
            matches!(e, Error::TooLong { .. })
        }),
        (fail(429, "insufficient_quota", "Pay."), |e| {
            matches!(e, Error::Unauthorized(_))
        }),
        (fail(400, "content_filter", "No."), |e| {
            matches!(e, Error::Refused(_))
        }),
        (fail(429, "slow_down", "Busy."), |e| {
            matches!(e, Error::Overloaded { .. })
        }),
    ];
    for (failure, expected) in table {
        let told = error(failure.clone()).await;
        assert!(expected(&told), "{failure:?} became {told:?}");
    }
}

#[tokio::test]
async fn errors_inside_a_stream_come_in_many_shapes() {
    let limited = fail(
        200,
        "rate_limit_exceeded",
        "Slow down. Please try again in 1.5s.",
    );
    let wait = Some(Duration::from_millis(1500));
    assert_eq!(
        error(say().text(["a"]).with_error(limited)).await,
        Error::RateLimited { retry_after: wait }
    );
    let routed =
        json!({"error": {"code": 503, "message": "busy"}, "choices": [{"finish_reason": "error"}]});
    let routed = say().block(AnswerBlock::Frame(format!("data: {routed}\n\n")));
    assert_eq!(error(routed).await, Error::Overloaded { retry_after: None });
    let named = AnswerBlock::Frame(
        "event: error\ndata: {\"message\":\"x\",\"code\":\"server_error\"}\n\n".into(),
    );
    assert!(matches!(error(say().block(named)).await, Error::Broken(_)));
    let reason = AnswerBlock::Frame(chunk(&json!({}), Some("insufficient_system_resource")));
    assert_eq!(
        error(say().block(reason)).await,
        Error::Overloaded { retry_after: None }
    );
}

#[tokio::test]
async fn an_error_or_nothing_under_a_good_status_is_no_reply() {
    let raw = |content_type, body: &str| ServerAnswer::Raw {
        status: 200,
        content_type,
        body: body.into(),
    };
    let hidden = raw(
        "application/json",
        r#"{"error":{"code":429,"message":"slow"}}"#,
    );
    assert_eq!(
        error(hidden).await,
        Error::RateLimited { retry_after: None }
    );
    assert!(matches!(
        error(raw("text/event-stream", "")).await,
        Error::Broken(_)
    ));
    assert!(matches!(
        error(raw("text/event-stream", "data: [DONE]\n\n")).await,
        Error::Broken(_)
    ));
}
