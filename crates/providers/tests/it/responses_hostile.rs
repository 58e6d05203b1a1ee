//! Responses from servers that fail in ways of their own; `hostile` has what all wires share.

use std::time::Duration;

use rooftree_providers::{
    Error,
    openai::{OpenAiEndpoint, ResponsesProvider, responses::ThinkingSupport},
};
use rooftree_testkit::model_server::{
    AnswerBlock, ModelServer, ServerAnswer, fail, openai_responses::WIRE, say,
};
use serde_json::{Value, json};

use crate::openai::*;

fn responses(server: &ModelServer) -> ResponsesProvider {
    ResponsesProvider::new(
        client(),
        OpenAiEndpoint::new("openai", server.url()),
        ThinkingSupport::Yes,
    )
}

async fn error(answer: impl Into<ServerAnswer>) -> Error {
    let server = ModelServer::start(WIRE, [answer.into()]).await;
    ask(&responses(&server), request()).await.1.unwrap_err()
}

#[tokio::test]
async fn failures_inside_a_stream_are_classed_by_their_code() {
    let within = |code: &str, message: &str| say().text(["a"]).with_error(fail(200, code, message));
    let wait = Some(Duration::from_secs(7));
    assert_eq!(
        error(within("rate_limit_exceeded", "Please try again in 7s.")).await,
        Error::RateLimited { retry_after: wait }
    );
    assert!(matches!(
        error(within("invalid_prompt", "No.")).await,
        Error::Refused(_)
    ));
    assert!(matches!(
        error(within("insufficient_quota", "Pay.")).await,
        Error::Unauthorized(_)
    ));
    assert!(matches!(
        error(within("never_heard_of", "Oh.")).await,
        Error::Broken(_)
    ));
}

#[tokio::test]
async fn an_error_event_has_its_fields_in_itself_or_below() {
    let event = |event: Value| {
        say().block(AnswerBlock::Frame(format!(
            "event: error\ndata: {event}\n\n"
        )))
    };
    let flat = event(
        json!({"type": "error", "code": "server_is_overloaded", "message": "x", "param": null}),
    );
    assert_eq!(error(flat).await, Error::Overloaded { retry_after: None });
    let nested = event(
        json!({"type": "error", "error": {"code": "context_length_exceeded", "message": ""}}),
    );
    assert_eq!(error(nested).await, Error::TooLong { limit: None });
}

#[tokio::test]
async fn the_mark_of_another_wire_is_not_the_last_word_of_this_one() {
    let marked = say()
        .text(["a"])
        .block(AnswerBlock::Frame("data: [DONE]\n\n".into()))
        .without_end();
    assert!(matches!(error(marked).await, Error::Broken(_)));
}

#[tokio::test]
async fn where_summaries_of_thinking_are_refused_they_are_asked_for_once() {
    let refused = json!({"error": {"message": "Your organization must be verified to generate reasoning summaries.",
        "type": "invalid_request_error", "param": "reasoning.summary", "code": "unsupported_value"}});
    let refused = ServerAnswer::Raw {
        status: 400,
        content_type: "application/json",
        body: refused.to_string(),
    };
    let server = ModelServer::start(WIRE, [refused, say().text(["ok"]).into()]).await;
    let responses = responses(&server);
    let (_, first) = ask(&responses, request()).await;
    assert!(
        first.unwrap_err().is_retryable(),
        "the same question can be answered"
    );
    ask(&responses, request()).await.1.unwrap();
    let asked = server.requests();
    assert_eq!(asked[0].json()["reasoning"], json!({"summary": "auto"}));
    assert_eq!(asked[1].json()["reasoning"], json!({}));
}
