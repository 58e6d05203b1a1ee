//! A model that does not answer: waited for and asked again where that helps, visibly.

use std::time::Duration;

use rooftree_protocol::{EventBody, RunStatus};
use rooftree_providers::scripted::{FaultKind, fail, say};
use rooftree_testkit::{House, Plan};

/// Turns the clock until the run has ended.
async fn finish(house: &House, session: &rooftree_protocol::SessionId) -> rooftree_protocol::event::RunEnd {
    let turning = async {
        loop {
            house.clock.advance(Duration::from_secs(1));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! { end = house.finished(session) => end, () = turning => unreachable!() }
}

#[tokio::test]
async fn a_rate_limit_is_waited_out_as_long_as_the_provider_says() {
    let limit = fail(FaultKind::RateLimit).retry_after(Duration::from_secs(7));
    let house = Plan::new([limit, say("here I am")]).build();
    let session = house.post("hi").await;
    let waiting = house.saw(&session, "run.waiting").await;
    let EventBody::RunWaiting { until, .. } = &waiting.body else { panic!() };
    assert_eq!(until.unwrap().since(waiting.ts), Duration::from_secs(7));
    house.clock.advance(Duration::from_secs(6));
    assert!(!house.story(&session).await.contains("here I am"));
    house.clock.advance(Duration::from_secs(1));
    assert_eq!(house.finished(&session).await.status, RunStatus::Completed);
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_asked_again_and_nothing_half_is_kept() {
    let house = Plan::new([fail(FaultKind::Cut).cut_after(3), say("whole")]).build();
    let session = house.post("hi").await;
    finish(&house, &session).await;
    assert_eq!(
        house.story(&session).await,
        "user     hi\nwaits    Retry\nmodel    \"whole\"\nended    completed, 1 turns"
    );
}

#[tokio::test]
async fn a_provider_that_never_recovers_fails_the_run_after_some_tries() {
    let house = Plan::new((0..9).map(|_| fail(FaultKind::Overloaded)).chain([say("never")])).build();
    let session = house.post("hi").await;
    let end = finish(&house, &session).await;
    assert_eq!(end.status, RunStatus::Failed);
    assert_eq!(house.model.requests().len(), 6);
}

#[tokio::test]
async fn what_cannot_be_mended_by_waiting_is_not_tried_again() {
    for kind in [FaultKind::Unauthorized, FaultKind::Refused, FaultKind::TooLong] {
        let house = Plan::new([fail(kind), say("never")]).build();
        let session = house.post("hi").await;
        assert_eq!(house.finished(&session).await.status, RunStatus::Failed);
        assert_eq!(house.model.requests().len(), 1);
    }
}
