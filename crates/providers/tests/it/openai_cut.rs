//! OpenAI's wires cut after every single byte: whole behind the vendor's last word, broken before it.

use futures::{StreamExt, stream};
use rooftree_providers::{Error, ModelRequest};
use rooftree_testkit::model_server::{
    BodyDelivery, BodyEnd, BodyPieces, ModelServer, StreamedAnswer, say,
};

use crate::{
    asking::{CHAT, RESPONSES, Wire, said},
    openai::{ask, request},
};

fn saying() -> StreamedAnswer {
    say()
        .thinking(["Hm"], "")
        .text(["Grü", "ße 木"])
        .call("a", "Read", ["{\"path\":\"é\"}"])
}

/// Where the last word has come whole, without the empty line behind it. Frames may follow it.
fn end_of_last_word(wire: Wire, behind: usize) -> usize {
    let frames = (wire.server.frames)(&saying());
    frames
        .iter()
        .rev()
        .skip(behind)
        .map(String::len)
        .sum::<usize>()
        - 2
}

/// Cuts the answer after each number of bytes. A reply must not come before `last_word`; nothing but a
/// reply may come from `surely` on.
async fn cut_everywhere(wire: Wire, end: fn(usize) -> BodyEnd, last_word: usize, surely: usize) {
    let whole = BodyDelivery::default()
        .bytes(&(wire.server.frames)(&saying()))
        .len();
    let server = ModelServer::start_with(wire.server, move |asked| {
        let kept = asked.json()["model"]
            .as_str()
            .unwrap_or_default()
            .parse()
            .unwrap_or(0);
        saying()
            .pieces(BodyPieces::Whole)
            .with_body_end(end(kept))
            .into()
    })
    .await;
    let model = &wire.model(&server.url());
    let cuts = stream::iter(0..=whole).map(|kept| async move {
        let cut = ModelRequest {
            model: kept.to_string(),
            ..request()
        };
        let (deltas, reply) = ask(model.provider.as_ref(), cut).await;
        (kept, said(&deltas), reply)
    });
    let mut cuts = cuts.buffer_unordered(32);
    while let Some((kept, said, reply)) = cuts.next().await {
        assert!(
            "Grüße 木".starts_with(&said),
            "{} {kept}: {said}",
            wire.name
        );
        match reply {
            Ok(reply) => {
                assert!(
                    kept >= last_word,
                    "{}: {kept} bytes are no whole answer",
                    wire.name
                );
                assert!(
                    said == "Grüße 木" && reply.parts.len() >= 3,
                    "{} {kept}: {reply:?}",
                    wire.name
                );
            }
            Err(error) => {
                assert!(
                    matches!(error, Error::Broken(_)),
                    "{} {kept}: {error:?}",
                    wire.name
                );
                assert!(kept < surely, "{}: whole after {kept} bytes", wire.name);
            }
        }
    }
}

#[tokio::test]
async fn a_body_that_ends_before_the_last_word_is_broken_and_whole_behind_it() {
    // Behind the reason to stop come the usage and the mark of the end.
    for (wire, behind) in [(CHAT, 2), (RESPONSES, 0)] {
        let last_word = end_of_last_word(wire, behind);
        cut_everywhere(wire, BodyEnd::Short, last_word, last_word).await;
    }
}

#[tokio::test]
async fn a_connection_lost_before_the_last_word_is_broken() {
    // Bytes that were sent may be lost with the connection, so that no number of them is surely enough.
    for (wire, behind) in [(CHAT, 2), (RESPONSES, 0)] {
        cut_everywhere(
            wire,
            BodyEnd::Cut,
            end_of_last_word(wire, behind),
            usize::MAX,
        )
        .await;
    }
}
