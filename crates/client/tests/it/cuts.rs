//! A stream that is cut at any place: nothing is lost, nothing is repeated, and the text is right.

use std::{collections::BTreeMap, time::Duration};

use rooftree_client::{ConnectionState, RuntimeClient, WatchUpdate};
use rooftree_protocol::{Event, SessionId};
use rooftree_testkit::scripted::say;
use rooftree_view::{ByeReason, SessionStart, StreamCursor, StreamFrame};

use crate::{
    cut_proxy::{CutProxy, Fault},
    served_story::{Received, Served, entries, long_text, plan, until_end, whole_tree},
};

/// The journals of a session and of those below it.
async fn journals(served: &Served, session: &SessionId) -> BTreeMap<SessionId, Vec<Event>> {
    let mut all = BTreeMap::from([(session.clone(), served.runtime.events(session).await)]);
    for child in served.runtime.children(session).await {
        let events = served.runtime.events(&child.id).await;
        all.insert(child.id, events);
    }
    all
}

#[track_caller]
fn assert_whole(received: &Received, journals: &BTreeMap<SessionId, Vec<Event>>, what: &str) {
    let durable = received.durable();
    assert_eq!(durable.len(), journals.len(), "{what}: sessions");
    for (session, journal) in journals {
        let numbers = |events: &[Event]| events.iter().map(|event| event.id).collect::<Vec<_>>();
        let seen = durable.get(session).map(Vec::as_slice).unwrap_or_default();
        assert_eq!(numbers(seen), numbers(journal), "{what}: {session}");
        assert_eq!(seen, journal, "{what}: {session}");
    }
    let answers: Vec<&str> = received.view.runs().iter().map(|run| run.text()).collect();
    assert!(
        answers.iter().any(|text| text.ends_with(&long_text())),
        "{what}: {answers:?}"
    );
}

#[tokio::test]
async fn a_stored_journal_that_is_cut_at_every_frame_is_received_whole_and_once() {
    let served = Served::start(plan(entries())).await;
    let session = served.played().await;
    let journals = journals(&served, &session).await;
    let count: usize = journals.values().map(Vec::len).sum();
    assert!(count >= 60, "{count} durable events");
    let embedded = until_end(&mut served.embedded().watch(whole_tree(&session))).await;
    assert_whole(&embedded, &journals, "embedded");
    let proxy = CutProxy::start(served.address, Vec::new()).await;
    let client = served.remote(proxy.address);
    for cut in 0..embedded.frames.len() {
        proxy.add([Fault::CutAfter(cut)]);
        let received = until_end(&mut client.watch(whole_tree(&session))).await;
        assert_whole(&received, &journals, &format!("cut after {cut}"));
        assert_eq!(proxy.left(), 0);
    }
}

#[tokio::test]
async fn a_client_that_is_cut_after_every_few_frames_receives_all() {
    let served = Served::start(plan(entries())).await;
    let session = served.played().await;
    let journals = journals(&served, &session).await;
    let faults = (2..12)
        .map(Fault::CutAfter)
        .chain([Fault::BadGateway, Fault::BadGateway]);
    let proxy = CutProxy::start(served.address, faults.collect()).await;
    let client = served.remote(proxy.address);
    let received = until_end(&mut client.watch(whole_tree(&session))).await;
    assert_whole(&received, &journals, "many cuts");
    assert_eq!(proxy.left(), 0, "every cut was made");
}

/// The client notices a frame that is lost on the way, and asks again from its cursor.
#[tokio::test]
async fn a_frame_that_is_lost_is_noticed_and_asked_for_again() {
    let served = Served::start(plan(entries())).await;
    let session = served.played().await;
    let journals = journals(&served, &session).await;
    let frames = until_end(&mut served.embedded().watch(whole_tree(&session))).await;
    let durable = |frame: &StreamFrame| frame.id().is_some();
    let lost: Vec<usize> = (0..frames.frames.len() - 1)
        .filter(|at| durable(&frames.frames[*at]))
        .step_by(5)
        .collect();
    assert!(lost.len() > 10, "{lost:?}");
    let proxy = CutProxy::start(served.address, Vec::new()).await;
    let client = served.remote(proxy.address);
    for at in lost {
        proxy.add([Fault::Lose(at)]);
        let received = until_end(&mut client.watch(whole_tree(&session))).await;
        assert_whole(&received, &journals, &format!("frame {at} lost"));
    }
}

/// Without the client's check the loss would show: a reader that takes what comes has a hole.
#[tokio::test]
async fn a_reader_without_cursors_has_a_hole_where_a_frame_was_lost() {
    let served = Served::start(plan(entries())).await;
    let session = served.played().await;
    let frames = until_end(&mut served.embedded().watch(whole_tree(&session))).await;
    let mut received = Received::default();
    let lost = frames
        .frames
        .iter()
        .position(|frame| frame.id().is_some_and(|id| id.ends_with(":9")));
    for (at, frame) in frames.frames.into_iter().enumerate() {
        if Some(at) != lost {
            received.take(frame);
        }
    }
    let numbers: Vec<Option<u64>> = received.durable()[&session]
        .iter()
        .map(|event| event.id)
        .collect();
    assert!(!numbers.contains(&Some(9)), "{numbers:?}");
}

#[tokio::test]
async fn a_live_reply_that_is_cut_at_every_frame_is_shown_right() {
    for cut in (0..160).step_by(9) {
        let served = Served::start(plan(entries())).await;
        let proxy = CutProxy::start(served.address, vec![Fault::CutAfter(cut)]).await;
        let client = served.remote(proxy.address);
        let session = served.runtime.post("go").await;
        let watch = client.watch(whole_tree(&session));
        let received = crate::served_story::allow_all(&client, watch).await;
        let journals = journals(&served, &session).await;
        assert_whole(&received, &journals, &format!("live, cut after {cut}"));
    }
}

#[tokio::test]
async fn a_server_that_is_gone_and_comes_back_is_found_again() {
    let served = Served::start(plan(entries())).await;
    let session = served.played().await;
    let proxy = CutProxy::start(served.address, vec![Fault::CutAfter(8)]).await;
    let client = served.remote(proxy.address);
    let gone = "127.0.0.1:9".parse().unwrap();
    let mut watch = client.watch(whole_tree(&session));
    let mut received = Received::default();
    let mut states = Vec::new();
    while received.frames.len() < 8 {
        if let WatchUpdate::Frame(frame) = watch.next().await.unwrap() {
            received.take(*frame);
        }
    }
    proxy.lead_to(gone);
    while states.len() < 3 {
        if let WatchUpdate::Connection(state) = watch.next().await.unwrap() {
            states.push(state);
        }
    }
    let is_retry = |state: &ConnectionState| matches!(state, ConnectionState::Reconnecting { .. });
    assert!(states.iter().all(is_retry), "{states:?}");
    proxy.lead_to(served.address);
    let rest = until_end(&mut watch).await;
    rest.frames
        .into_iter()
        .for_each(|frame| received.take(frame));
    assert_whole(&received, &journals(&served, &session).await, "came back");
}

#[tokio::test]
async fn a_server_that_stops_says_so_before_it_goes() {
    let served = Served::start(plan(entries())).await;
    let session = served.played().await;
    let client = served.remote(served.address);
    let mut watch = client.watch(whole_tree(&session));
    let mut received = Received::default();
    while !received.frames.iter().any(crate::served_story::is_end) {
        received.take(watch.next_frame().await.unwrap().unwrap());
    }
    served.stop.cancel();
    let bye = loop {
        if let StreamFrame::Bye(bye) = watch.next_frame().await.unwrap().unwrap() {
            break bye;
        }
    };
    assert_eq!(bye.reason, ByeReason::Draining);
}

/// Joins while the model writes: the snapshot has the text so far, and deltas continue it.
#[tokio::test]
async fn a_client_that_joins_in_the_middle_of_a_reply_gets_the_text_so_far() {
    let pace = Duration::from_secs(1);
    let reply = say(long_text()).chunk(7).pace(pace).agent("lead");
    let served = Served::start(plan(vec![reply])).await;
    let session = served.runtime.post("go").await;
    let mut first = served.embedded().watch(whole_tree(&session));
    let mut shown = Received::default();
    let streamed = |received: &Received| {
        let runs = received.view.runs();
        runs.first().map_or(0, |run| run.reply.streamed.len())
    };
    while streamed(&shown) < 100 {
        served.runtime.clock.advance(pace);
        let frame = tokio::time::timeout(Duration::from_millis(20), first.next_frame()).await;
        if let Ok(frame) = frame {
            shown.take(frame.unwrap().unwrap());
        }
    }
    let client = served.remote(served.address);
    let mut request = whole_tree(&session);
    for start in request.sessions.values_mut() {
        *start = SessionStart::Detailed(StreamCursor {
            after: None,
            ..start.cursor()
        });
    }
    let mut watch = client.watch(request);
    let mut joined = Received::default();
    while streamed(&joined) == 0 {
        joined.take(watch.next_frame().await.unwrap().unwrap());
    }
    let is_event = |frame: &StreamFrame| matches!(frame, StreamFrame::Event(_));
    assert!(!joined.frames.iter().any(is_event), "from a snapshot alone");
    assert!(streamed(&joined) >= 100);
    while !joined.frames.iter().any(crate::served_story::is_end) {
        served.runtime.clock.advance(pace);
        let frame = tokio::time::timeout(Duration::from_millis(20), watch.next_frame()).await;
        if let Ok(frame) = frame {
            joined.take(frame.unwrap().unwrap());
        }
    }
    assert_eq!(joined.view.runs()[0].text(), long_text());
}
