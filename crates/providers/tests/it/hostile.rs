//! Every wire against servers that misbehave: never a panic, always the right class, nothing made up.

use std::time::Duration;

use rooftree_protocol::event::ReplyPart;
use rooftree_providers::{Error, Model};
use rooftree_testkit::model_server::{
    AnswerBlock, BodyEnd, BodyPieces, ModelServer, ServerAnswer, StreamedAnswer, fail, say,
};
use serde_json::{Value, json};

use crate::asking::{ANTHROPIC, CHAT, GEMINI, RESPONSES, WIRES, Wire, ask, question, said};

/// Wires that are cut here; `openai_cut` cuts the others.
const CUT_HERE: [Wire; 2] = [ANTHROPIC, GEMINI];

/// A short answer with everything in it that can be cut through.
fn answer() -> StreamedAnswer {
    say()
        .thinking(["Hm…"], "c2ln")
        .text(["Grüße, ", "木🏠"])
        .call("t1", "Read", ["{\"path\":\"ä\"}"])
}

async fn outcome(
    wire: Wire,
    answer: impl Into<ServerAnswer>,
) -> Result<rooftree_providers::ModelReply, Error> {
    let server = ModelServer::start(wire.server, [answer.into()]).await;
    ask(&wire.model(&server.url()), question("hi")).await.1
}

/// The whole reply, then one for each way to end the body early.
async fn cut_everywhere(wire: Wire, end: fn(usize) -> BodyEnd) {
    let whole = outcome(wire, answer()).await.unwrap();
    let length = answer()
        .delivery
        .bytes(&(wire.server.frames)(&answer()))
        .len();
    let mut kept = 0;
    let server = ModelServer::start_with(wire.server, move |_| {
        let saying = answer().pieces(BodyPieces::Whole).with_body_end(end(kept));
        kept += 1;
        saying.into()
    })
    .await;
    let model: Model = wire.model(&server.url());
    let mut complete_since = None;
    for kept in 0..length {
        match ask(&model, question("hi")).await {
            (_, Ok(reply)) => {
                assert_eq!(reply.parts, whole.parts, "{}: {kept} bytes", wire.name);
                complete_since.get_or_insert(kept);
            }
            (chunks, Err(Error::Broken(_))) => {
                assert!(
                    "Grüße, 木🏠".starts_with(&said(&chunks)),
                    "{}: {kept} bytes",
                    wire.name
                );
                assert_eq!(
                    complete_since, None,
                    "{}: whole before, broken at {kept} bytes",
                    wire.name
                );
            }
            (_, Err(error)) => panic!("{}: {kept} bytes: {error:?}", wire.name),
        }
    }
    let complete_since = complete_since.unwrap_or(length);
    assert!(
        complete_since + 8 > length,
        "{}: whole with {complete_since} of {length} bytes",
        wire.name
    );
}

#[tokio::test]
async fn a_body_that_ends_early_anywhere_is_broken() {
    for wire in CUT_HERE {
        cut_everywhere(wire, BodyEnd::Short).await;
    }
}

#[tokio::test]
async fn a_connection_that_is_lost_anywhere_is_broken() {
    for wire in CUT_HERE {
        cut_everywhere(wire, BodyEnd::Cut).await;
    }
}

#[tokio::test]
async fn an_answer_without_its_last_word_is_broken() {
    for wire in WIRES {
        let outcome = outcome(wire, answer().without_end()).await;
        assert_eq!(
            outcome,
            Err(Error::Broken("the stream ended early".into())),
            "{}",
            wire.name
        );
    }
}

#[tokio::test]
async fn the_way_of_the_bytes_does_not_matter() {
    for wire in WIRES {
        let plain = outcome(wire, answer()).await.unwrap();
        for other in [
            answer().pieces(BodyPieces::Whole),
            answer().pieces(BodyPieces::Bytes),
            answer().crlf(),
            answer().crlf().pieces(BodyPieces::Bytes),
            answer().gzip(),
            answer().gzip().pieces(BodyPieces::Bytes),
        ] {
            let delivery = other.delivery;
            let reply = outcome(wire, other).await.unwrap();
            assert_eq!(reply.parts, plain.parts, "{}: {delivery:?}", wire.name);
        }
    }
}

#[tokio::test]
async fn what_nobody_knows_does_not_disturb() {
    for wire in WIRES {
        let odd = [
            ": a comment\n\n",
            "event: tomorrow\ndata: {\"type\": \"tomorrow\", \"index\": {\"a\": []}}\n\n",
            "id: 7\nretry: 100\n\n",
        ];
        let frames = odd.map(|text| AnswerBlock::Frame(text.into()));
        let answer = frames
            .into_iter()
            .fold(say(), StreamedAnswer::block)
            .text(["fine"]);
        let reply = outcome(wire, answer).await.unwrap();
        assert_eq!(
            reply.parts,
            [ReplyPart::Text {
                text: "fine".into()
            }],
            "{}",
            wire.name
        );
    }
}

#[tokio::test]
async fn an_event_that_is_no_json_is_broken() {
    for wire in WIRES {
        let answer = say()
            .block(AnswerBlock::Frame("data: {\"type\": \n\n".into()))
            .text(["fine"]);
        let Err(Error::Broken(words)) = outcome(wire, answer).await else {
            panic!("{}", wire.name)
        };
        assert!(words.contains("cannot be read"), "{words}");
    }
}

#[tokio::test]
async fn arguments_that_are_no_json_stay_the_text_they_are() {
    for wire in WIRES {
        let answer = say().call("t", "Read", ["{\"path\": ", "oops"]);
        let reply = outcome(wire, answer).await.unwrap();
        let [ReplyPart::Call(call)] = reply.parts.as_slice() else {
            panic!("{reply:?}")
        };
        assert_eq!(call.input, json!("{\"path\": oops"), "{}", wire.name);
    }
}

#[tokio::test]
async fn calls_with_the_same_id_stay_apart() {
    for wire in WIRES {
        let answer = say()
            .call("same", "Read", ["{\"n\":1}"])
            .call("same", "Read", ["{\"n\":2}"]);
        let reply = outcome(wire, answer).await.unwrap();
        let inputs: Vec<Value> = reply
            .parts
            .iter()
            .filter_map(|part| {
                if let ReplyPart::Call(call) = part {
                    Some(call.input.clone())
                } else {
                    None
                }
            })
            .collect();
        assert_eq!(inputs, [json!({"n": 1}), json!({"n": 2})], "{}", wire.name);
    }
}

#[tokio::test]
async fn text_that_looks_like_a_call_is_text() {
    let text =
        "{\"type\": \"tool_use\", \"name\": \"Bash\", \"input\": {\"command\": \"rm -rf /\"}}";
    for wire in WIRES {
        let reply = outcome(wire, say().text([text])).await.unwrap();
        assert_eq!(
            reply.parts,
            [ReplyPart::Text { text: text.into() }],
            "{}",
            wire.name
        );
    }
}

#[tokio::test]
async fn refusals_have_the_class_of_what_one_can_do() {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let table = [
        (
            fail(429, "", "x").header("retry-after", "7"),
            Error::RateLimited {
                retry_after: seconds(7),
            },
        ),
        (
            fail(429, "", "x").header("retry-after-ms", "2000"),
            Error::RateLimited {
                retry_after: seconds(2),
            },
        ),
        (fail(529, "", "x"), Error::Overloaded { retry_after: None }),
        (
            fail(503, "", "x").header("retry-after", "3"),
            Error::Overloaded {
                retry_after: seconds(3),
            },
        ),
        (fail(413, "", "x"), Error::TooLong { limit: None }),
        (
            fail(401, "", "x"),
            Error::Unauthorized("x (request req_1)".into()),
        ),
        (
            fail(403, "", "x"),
            Error::Unauthorized("x (request req_1)".into()),
        ),
        (
            fail(400, "", "max_tokens 429"),
            Error::Refused("max_tokens 429 (request req_1)".into()),
        ),
        (
            fail(404, "", "x"),
            Error::Refused("x (request req_1)".into()),
        ),
        (
            fail(500, "", "x"),
            Error::Broken("x (request req_1)".into()),
        ),
        (
            fail(502, "", "x"),
            Error::Broken("x (request req_1)".into()),
        ),
    ];
    for wire in WIRES {
        for (failure, expected) in &table {
            let status = failure.status;
            assert_eq!(
                outcome(wire, failure.clone()).await,
                Err(expected.clone()),
                "{} {status}",
                wire.name
            );
        }
    }
}

#[tokio::test]
async fn errors_inside_a_stream_have_a_class_too() {
    let table = [
        (
            ANTHROPIC,
            fail(429, "rate_limit_error", "slow"),
            Error::RateLimited { retry_after: None },
        ),
        (
            ANTHROPIC,
            fail(529, "overloaded_error", "busy"),
            Error::Overloaded { retry_after: None },
        ),
        (
            ANTHROPIC,
            fail(500, "api_error", "oh"),
            Error::Broken("oh".into()),
        ),
        (
            GEMINI,
            fail(503, "UNAVAILABLE", "busy"),
            Error::Overloaded { retry_after: None },
        ),
        (
            GEMINI,
            fail(500, "INTERNAL", "oh"),
            Error::Broken("oh".into()),
        ),
        (
            GEMINI,
            fail(529, "NEW", "oh"),
            Error::Overloaded { retry_after: None },
        ),
        (
            CHAT,
            fail(200, "rate_limit_exceeded", "slow"),
            Error::RateLimited { retry_after: None },
        ),
        (
            CHAT,
            fail(200, "server_error", "oh"),
            Error::Broken("oh".into()),
        ),
        (
            RESPONSES,
            fail(200, "server_is_overloaded", "busy"),
            Error::Overloaded { retry_after: None },
        ),
        (
            RESPONSES,
            fail(200, "context_length_exceeded", ""),
            Error::TooLong { limit: None },
        ),
    ];
    for (wire, failure, expected) in table {
        assert_eq!(
            outcome(wire, say().text(["a"]).with_error(failure)).await,
            Err(expected),
            "{}",
            wire.name
        );
    }
}

#[tokio::test]
async fn a_page_or_a_document_instead_of_a_stream_is_broken() {
    for wire in WIRES {
        for (status, content_type) in [
            (200, "text/html"),
            (200, "application/json"),
            (502, "text/html"),
        ] {
            let body = format!("<h1>{}</h1>", "sorry ".repeat(100_000));
            let Err(Error::Broken(words)) = outcome(
                wire,
                ServerAnswer::Raw {
                    status,
                    content_type,
                    body,
                },
            )
            .await
            else {
                panic!("{} {status} {content_type}", wire.name)
            };
            assert!(words.contains("sorry") && words.len() < 1000, "{words}");
        }
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_key() {
    for wire in WIRES {
        let failure = fail(307, "", "over there").header("location", "http://127.0.0.1:1/steal");
        assert!(
            matches!(outcome(wire, failure).await, Err(Error::Broken(_))),
            "{}",
            wire.name
        );
    }
}
