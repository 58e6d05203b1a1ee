//! Every wire against servers that take their time.

use std::time::Duration;

use futures::StreamExt;
use rooftree_providers::{Error, http::HttpTimeouts};
use rooftree_testkit::model_server::{BodyEnd, ModelServer, ServerAnswer, StreamedAnswer, say};

use crate::asking::{WIRES, Wire, ask, question, said};

const SHORT: Duration = Duration::from_millis(60);

/// The bytes of the first part of the answer below, which is "one " and then "two".
fn first_part(wire: Wire) -> usize {
    let frames = (wire.server.frames)(&saying());
    let first = frames
        .iter()
        .position(|frame| frame.contains("one "))
        .unwrap();
    frames.iter().take(first + 1).map(String::len).sum()
}

fn saying() -> StreamedAnswer {
    say().text(["one ", "two"])
}

async fn lost(
    wire: Wire,
    answer: impl Into<ServerAnswer>,
    timeouts: HttpTimeouts,
) -> (String, String) {
    let server = ModelServer::start(wire.server, [answer.into()]).await;
    let (chunks, outcome) = ask(&wire.model_waiting(&server.url(), timeouts), question("hi")).await;
    let Err(Error::Broken(words)) = outcome else {
        panic!("{}: {outcome:?}", wire.name)
    };
    (said(&chunks), words)
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    for wire in WIRES {
        let timeouts = HttpTimeouts {
            first_byte: SHORT,
            ..HttpTimeouts::default()
        };
        let (_, words) = lost(wire, ServerAnswer::Silence, timeouts).await;
        assert!(words.starts_with("no answer within"), "{words}");
    }
}

#[tokio::test]
async fn a_stream_that_never_begins_is_given_up() {
    for wire in WIRES {
        let timeouts = HttpTimeouts {
            first_byte: SHORT,
            ..HttpTimeouts::default()
        };
        let (said, words) = lost(wire, saying().with_body_end(BodyEnd::Stall(0)), timeouts).await;
        assert!(
            said.is_empty() && words.starts_with("no event within"),
            "{words}"
        );
    }
}

#[tokio::test]
async fn a_stream_that_falls_silent_is_given_up_after_what_it_said() {
    for wire in WIRES {
        let timeouts = HttpTimeouts {
            between_events: SHORT,
            ..HttpTimeouts::default()
        };
        let (said, words) = lost(
            wire,
            saying().with_body_end(BodyEnd::Stall(first_part(wire))),
            timeouts,
        )
        .await;
        assert_eq!(said, "one ", "{}", wire.name);
        assert!(words.starts_with("no further event within"), "{words}");
    }
}

#[tokio::test]
async fn pings_do_not_keep_a_dead_stream_alive() {
    for wire in WIRES {
        // If pings counted, the end would be that of the whole answer.
        let (between_events, total) = (SHORT * 5, SHORT * 50);
        let timeouts = HttpTimeouts {
            between_events,
            total,
            ..HttpTimeouts::default()
        };
        let (said, words) = lost(
            wire,
            saying().with_body_end(BodyEnd::Ping(first_part(wire))),
            timeouts,
        )
        .await;
        assert_eq!(said, "one ", "{}", wire.name);
        assert!(words.starts_with("no further event within"), "{words}");
    }
}

#[tokio::test]
async fn an_answer_may_not_take_forever() {
    for wire in WIRES {
        let timeouts = HttpTimeouts {
            total: SHORT,
            ..HttpTimeouts::default()
        };
        let (_, words) = lost(
            wire,
            saying().with_body_end(BodyEnd::Stall(first_part(wire))),
            timeouts,
        )
        .await;
        assert!(words.starts_with("not the whole answer within"), "{words}");
    }
}

#[tokio::test]
async fn dropping_the_stream_stops_the_answer_at_its_source() {
    for wire in WIRES {
        let answer = saying().with_body_end(BodyEnd::Stall(first_part(wire)));
        let server = ModelServer::start(wire.server, [answer]).await;
        let mut stream = wire.model(&server.url()).provider.stream(question("hi"));
        assert!(stream.next().await.unwrap().is_ok());
        drop(stream);
        server.wait_until_sent().await;
    }
}

#[tokio::test]
async fn n_5_a_server_that_does_not_listen_is_named_and_not_asked_again() {
    for wire in WIRES {
        let model = wire.model("http://127.0.0.1:1");
        let error = ask(&model, question("hi")).await.1.unwrap_err();
        let Error::Unreachable(server) = &error else {
            panic!("{}: {error}", wire.name)
        };
        assert_eq!(server.address, "http://127.0.0.1:1");
        assert!(server.reason.contains("refused"), "{}", server.reason);
        assert!(!error.is_retryable());
    }
}
