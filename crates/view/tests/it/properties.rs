//! Random journals: whatever they hold and wherever they are divided, the fold is the same and does not panic.

use proptest::{prelude::*, test_runner::TestRunner};
use rooftree_protocol::{
    Event, EventBody, MessageId, RunStatus, Todo, TodoStatus,
    event::{ClearReason, RunMode, StopReason, WaitReason},
};
use rooftree_view::{RunTreeView, TreeChange};

use crate::sample_events::*;

/// Something a journal may hold, sensible or not.
fn any_body() -> impl Strategy<Value = EventBody> {
    let number = 0_u128..4;
    let status = prop_oneof![
        Just(None),
        Just(Some(RunStatus::Completed)),
        Just(Some(RunStatus::Failed))
    ];
    let todo = Todo {
        content: "look".into(),
        status: TodoStatus::Pending,
        active_form: None,
        priority: None,
    };
    let queued = EventBody::InboxQueued {
        message: MessageId::from_entropy(1),
        lane: rooftree_protocol::Lane::Mail,
        position: 1,
    };
    prop_oneof![
        3 => "[a-c]{0,3}".prop_map(|text| delta(&text)),
        3 => ("[a-c]{0,6}", number.clone(), any::<bool>()).prop_map(|(text, number, is_cut)| {
            let stop = if is_cut { StopReason::MaxOutput } else { StopReason::Calls };
            reply(&text, stop, &[number])
        }),
        3 => (number.clone(), number.clone(), number.clone()).prop_map(|(above, by, through)| {
            started(Some((above, by, through)), RunMode::Background)
        }),
        2 => number.clone().prop_map(tool_started),
        3 => (number.clone(), number.clone(), status)
            .prop_map(|(number, task, status)| tool_completed(number, Some(note(task, status)))),
        2 => number.clone().prop_map(permission),
        2 => number.prop_map(resolved),
        2 => Just(completed(RunStatus::Completed, "done")),
        1 => Just(started(None, RunMode::Main)),
        1 => Just(waiting(WaitReason::RateLimit)),
        1 => Just(waiting(WaitReason::Child)),
        1 => Just(EventBody::RunResumed { reason: WaitReason::RateLimit }),
        1 => Just(notice("fallback")),
        1 => Just(EventBody::TodoUpdated { items: vec![todo] }),
        1 => Just(EventBody::SessionCleared { reason: ClearReason::Asked }),
        1 => Just(EventBody::ContextUsage { used: 1, limit: 2, reading: Some(1) }),
        1 => Just(queued),
    ]
}

/// Journals of four sessions, interleaved: durable events are numbered in each.
fn any_journal() -> impl Strategy<Value = Vec<Event>> {
    let entry = (0_u128..4, 0_u128..5, any_body());
    proptest::collection::vec(entry, 0..40).prop_map(|entries| {
        let mut heads = [0_u64; 4];
        let number = |(place, run, body): (u128, u128, EventBody)| {
            let head = &mut heads[usize::try_from(place).unwrap_or_default()];
            *head += u64::from(body.is_durable());
            let id = body.is_durable().then_some(*head);
            let mut event = event(id, (place, run), body);
            event.run = event.run.filter(|_| run < 4);
            event
        };
        entries.into_iter().map(number).collect()
    })
}

fn holds(property: impl Fn(Vec<Event>)) {
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 400,
        ..ProptestConfig::default()
    });
    let checked = runner.run(&any_journal(), |events| {
        property(events);
        Ok(())
    });
    checked.unwrap();
}

fn folded(events: &[Event]) -> RunTreeView {
    let mut tree = RunTreeView::of(session(0));
    for event in events {
        tree.apply(event);
    }
    tree
}

#[test]
fn folding_from_the_snapshot_of_any_prefix_gives_the_same_state() {
    holds(|events| {
        let whole = folded(&events).to_canonical_json();
        for at in 0..=events.len() {
            let (before, after) = events.split_at(at);
            let snapshot = folded(before).to_canonical_json();
            let mut tree = RunTreeView::from_canonical_json(&snapshot).unwrap();
            assert_eq!(tree, folded(before), "the snapshot lost something");
            for event in after {
                tree.apply(event);
            }
            assert_eq!(tree.to_canonical_json(), whole, "divided at {at}");
        }
    });
}

#[test]
fn durable_events_that_come_again_change_nothing() {
    holds(|events| {
        let mut tree = RunTreeView::of(session(0));
        for (number, event) in events.iter().enumerate() {
            tree.apply(event);
            let before = tree.clone();
            for earlier in events.iter().take(number + 1) {
                if earlier.id.is_some() {
                    assert_eq!(tree.apply(earlier), TreeChange::Nothing);
                }
            }
            assert_eq!(tree, before);
        }
    });
}

#[test]
fn whatever_a_journal_holds_what_views_ask_of_the_tree_ends() {
    holds(|events| {
        for at in 0..=events.len() {
            let tree = folded(&events[..at]);
            for one in tree.runs() {
                tree.total_usage(&one.run);
                for other in tree.runs() {
                    tree.is_within(&one.run, &other.run);
                }
            }
            let roots: Vec<_> = tree.runs().iter().map(|run| run.run.clone()).collect();
            let spans = rooftree_view::spans(&tree, &roots, |run| run.updated_at);
            assert_eq!(spans.len(), tree.runs().len(), "each run once");
        }
    });
}
