//! Tests of the run tracker with made-up events.

use rooftree_protocol::{RunStatus, SessionId, Timestamp};

use super::*;

fn event(run: u128, body: EventBody) -> Event {
    Event {
        v: 1,
        id: None,
        ts: Timestamp(0),
        session: SessionId::from_entropy(1),
        run: Some(RunId::from_entropy(run)),
        parent_run: None,
        agent: "lead".into(),
        who: None,
        body,
    }
}

fn started(run: u128, message: u128) -> Event {
    let message = MessageId::from_entropy(message);
    event(
        run,
        EventBody::RunStarted {
            mode: RunMode::Main,
            message,
            model: "m".into(),
            title: "t".into(),
            depth: 0,
            parent: None,
            policy: None,
            bounds: None,
            surroundings: None,
        },
    )
}

fn completed(run: u128) -> Event {
    event(
        run,
        EventBody::RunCompleted(RunEnd::new(RunStatus::Completed)),
    )
}

#[test]
fn only_the_run_of_our_own_message_ends_the_wait() {
    let mut watch = RunTracker::default();
    watch.await_message(MessageId::from_entropy(7));
    assert_eq!(
        watch.take(&started(1, 6)),
        TrackerStep::OtherBegun(ForeignRunOrder::Before, "t".into())
    );
    assert_eq!(watch.take(&completed(1)), TrackerStep::Nothing);
    assert!(!watch.is_over() && !watch.is_working());
    assert_eq!(watch.take(&started(2, 7)), TrackerStep::Begun);
    assert!(watch.is_working());
    assert_eq!(watch.take(&completed(2)), TrackerStep::Ended);
    assert!(watch.is_over());
}

#[test]
fn s_b4_a_message_that_was_answered_before_is_over_at_once() {
    let mut watch = RunTracker::default();
    watch.await_message(MessageId::from_entropy(7));
    let mut past = RunTreeView::default();
    for event in [started(1, 6), completed(1), started(2, 7), completed(2)] {
        past.apply(&event);
        watch.take_past(&event);
    }
    watch.adopt_past(&past);
    assert!(watch.is_over());
    assert_eq!(
        watch.last_end().map(|(run, _)| run),
        Some(&RunId::from_entropy(2))
    );
    assert_eq!(watch.ended_runs(), 1, "another message's run is not ours");
}

#[test]
fn r1_d18_a_run_that_an_agents_message_starts_is_ours_and_a_persons_is_not() {
    use crate::terminal::agent_tree::tests::{begins, ends};
    let mut watch = RunTracker::default();
    watch.await_message(MessageId::from_entropy(7));
    watch.take(&started(1, 7));
    watch.take_delegated(&begins(5, 1, RunMode::Foreground));
    watch.take_delegated(&ends(5, RunStatus::Completed, "gold"));
    watch.take(&completed(1));
    let mut mail = started(2, 8);
    if let EventBody::RunStarted { mode, .. } = &mut mail.body {
        *mode = RunMode::Foreground;
    }
    assert_eq!(watch.take(&mail), TrackerStep::Woken);
    assert_eq!(watch.take(&completed(2)), TrackerStep::Ended);
    assert_eq!(watch.ended_runs(), 2);
    assert_eq!(
        watch.take(&started(3, 9)),
        TrackerStep::OtherBegun(ForeignRunOrder::After, "t".into())
    );
    assert_eq!(watch.take(&completed(3)), TrackerStep::Nothing);
}

#[test]
fn r2_d26_a_message_is_an_earlier_one_only_until_ours_is_worked_on() {
    let mut watch = RunTracker::default();
    watch.await_message(MessageId::from_entropy(7));
    assert_eq!(
        watch.take(&started(1, 6)),
        TrackerStep::OtherBegun(ForeignRunOrder::Before, "t".into())
    );
    watch.take(&completed(1));
    watch.take(&started(2, 7));
    watch.take(&completed(2));
    assert_eq!(
        watch.take(&started(3, 8)),
        TrackerStep::OtherBegun(ForeignRunOrder::After, "t".into())
    );
}

#[test]
fn several_messages_are_waited_for_in_any_order() {
    let mut watch = RunTracker::default();
    watch.await_message(MessageId::from_entropy(1));
    watch.await_message(MessageId::from_entropy(2));
    watch.take(&started(1, 1));
    watch.take(&completed(1));
    assert!(!watch.is_over());
    watch.take(&started(2, 2));
    watch.take(&completed(2));
    assert!(watch.is_over());
}

#[test]
fn going_on_with_the_unfinished_takes_any_run_for_its_own() {
    let mut watch = RunTracker::for_anything();
    assert_eq!(watch.take(&completed(9)), TrackerStep::Ended);
    assert!(watch.is_over());
    watch.take(&started(10, 3));
    assert!(!watch.is_over(), "it is left only when nothing is at work");
    watch.take(&completed(10));
    assert!(watch.is_over());
}
