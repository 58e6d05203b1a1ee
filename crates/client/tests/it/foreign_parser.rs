//! A stream that is cut at every byte and read by another project's parser of server-sent events, which knows nothing
//! of ours: it continues with the last id it saw, and has every event once.

use std::collections::{HashMap, hash_map::Entry};

use eventsource_stream::{Event as ForeignEvent, Eventsource};
use futures::{StreamExt, stream};
use rooftree_protocol::SessionId;
use rooftree_testkit::scripted::{ScriptEntry, call, say};
use serde_json::json;

use crate::served_story::{Served, plan};

/// The numbers of durable events that the parser finds, in order. What is cut off in the middle is no event.
async fn parsed(bytes: &[u8], piece: usize, session: &SessionId) -> Vec<u64> {
    let pieces = bytes.chunks(piece.max(1)).map(<[u8]>::to_vec);
    let pieces: Vec<Result<Vec<u8>, std::io::Error>> = pieces.map(Ok).collect();
    let events = stream::iter(pieces).eventsource();
    let events: Vec<ForeignEvent> = events.map(Result::unwrap).collect().await;
    let number = |event: &ForeignEvent| {
        let place = event.id.strip_prefix(session.as_str())?;
        place.strip_prefix(':')?.parse().ok()
    };
    let durable = events.iter().filter(|event| is_durable(event));
    durable.filter_map(number).collect()
}

/// Whether it is an event of the journal: deltas and beats have no id of their own, a snapshot repeats one.
fn is_durable(event: &ForeignEvent) -> bool {
    let is_other = ["session.snapshot", "hello", "beat"].contains(&event.event.as_str());
    !is_other && event.data.contains("\"id\":")
}

/// What the server sends after an event, up to the snapshot that ends what is stored.
async fn answer(served: &Served, session: &SessionId, after: u64) -> Vec<u8> {
    // An error says that it was installed before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let request = reqwest::Client::new()
        .post(format!("http://{}/api/v1/stream", served.address))
        .bearer_auth(&served.token)
        .json(&json!({"sessions": {session.as_str(): after}}));
    let mut response = request.send().await.unwrap().error_for_status().unwrap();
    let mut bytes = Vec::new();
    loop {
        bytes.extend_from_slice(&response.chunk().await.unwrap().unwrap());
        let text = String::from_utf8_lossy(&bytes);
        let last = text.find("event: session.snapshot");
        if last.is_some_and(|at| text[at..].contains("\n\n")) {
            return bytes;
        }
    }
}

fn story() -> Vec<ScriptEntry> {
    let look = |at: String| call("Look", json!({"say": at}));
    let steps = (0..9).map(|number| {
        let calls = ["a", "b", "c"].map(|at| look(format!("{at}{number}")));
        say(format!("Step {number}.")).agent("lead").calls(calls)
    });
    steps.chain([say("Hello.").agent("lead")]).collect()
}

#[tokio::test]
async fn a_foreign_parser_that_is_cut_at_every_byte_has_every_event_once() {
    let served = Served::start(plan(story())).await;
    let session = served.played().await;
    let head = served.runtime.events(&session).await.len() as u64;
    assert!(head >= 60, "{head} durable events");
    let whole = answer(&served, &session, 0).await;
    let all: Vec<u64> = (1..=head).collect();
    assert_eq!(parsed(&whole, whole.len(), &session).await, all);
    assert_eq!(parsed(&whole, 1, &session).await, all, "byte by byte");
    let mut continued: HashMap<u64, Vec<u64>> = HashMap::new();
    // Between two frames the parser remembers nothing but the last id, so the frame that is cut is parsed alone.
    let (mut begin, mut last) = (0, 0);
    for cut in 0..=whole.len() {
        let seen = parsed(&whole[begin..cut], 7, &session).await;
        let now = seen.last().copied().unwrap_or(last);
        assert!(
            seen.is_empty() || seen == [last + 1],
            "cut at {cut}: {seen:?} after {last}"
        );
        if let Entry::Vacant(place) = continued.entry(now) {
            let rest = answer(&served, &session, now).await;
            place.insert(parsed(&rest, 1_024, &session).await);
        }
        let due: Vec<u64> = (now + 1..=head).collect();
        assert_eq!(continued[&now], due, "cut at {cut}, continued after {now}");
        if whole[..cut].ends_with(b"\n\n") {
            (begin, last) = (cut, now);
        }
    }
    assert_eq!(last, head);
}
