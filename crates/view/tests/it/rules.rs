//! The rules of the fold, each by the smallest journal that shows it.

use rooftree_protocol::{
    RunStatus, Session, Timestamp,
    event::{RunMode, StopReason, WaitReason},
};
use rooftree_view::{
    FINISHED_CALLS, RunPhase, RunTreeView, SessionSnapshot, TreeChange, event_from_json,
};
use serde_json::json;

use crate::sample_events::*;

const ROOT: (u128, u128) = (1, 1);

/// A tree in which the root's run has begun.
fn begun() -> RunTreeView {
    let mut tree = RunTreeView::of(session(1));
    tree.apply(&event(Some(1), ROOT, started(None, RunMode::Main)));
    tree
}

#[test]
fn the_same_durable_event_twice_changes_nothing() {
    let mut tree = begun();
    let said = event(Some(2), ROOT, reply("hello", StopReason::End, &[]));
    assert_eq!(tree.apply(&said), TreeChange::Updated);
    let before = tree.clone();
    assert_eq!(tree.apply(&said), TreeChange::Nothing);
    let earlier = event(Some(1), ROOT, started(None, RunMode::Main));
    assert_eq!(tree.apply(&earlier), TreeChange::Nothing);
    assert_eq!(tree, before);
}

#[test]
fn deltas_are_the_text_of_the_reply_that_is_coming_and_ignored_after_it() {
    let mut tree = begun();
    tree.apply(&event(None, ROOT, delta("hel")));
    tree.apply(&event(None, ROOT, delta("lo")));
    assert_eq!(tree.runs()[0].reply.streamed, "hello");
    tree.apply(&event(
        Some(2),
        ROOT,
        reply("hello", StopReason::Calls, &[7]),
    ));
    let before = tree.clone();
    assert_eq!(
        tree.apply(&event(None, ROOT, delta("lo"))),
        TreeChange::Nothing
    );
    assert_eq!(tree, before, "a late piece");
    tree.apply(&event(Some(3), ROOT, tool_completed(7, None)));
    tree.apply(&event(None, ROOT, delta("next")));
    assert_eq!(tree.runs()[0].reply.streamed, "next");
}

#[test]
fn a_reply_that_was_cut_is_continued_without_an_event_in_between() {
    let mut tree = begun();
    tree.apply(&event(
        Some(2),
        ROOT,
        reply("one ", StopReason::MaxOutput, &[]),
    ));
    tree.apply(&event(None, ROOT, delta("two")));
    assert_eq!(tree.runs()[0].reply.streamed, "two");
    tree.apply(&event(Some(3), ROOT, reply("two", StopReason::End, &[])));
    assert_eq!(tree.runs()[0].text(), "one two");
}

#[test]
fn a_reply_that_broke_off_begins_anew() {
    for broken in [waiting(WaitReason::Retry), notice("fallback")] {
        let mut tree = begun();
        tree.apply(&event(None, ROOT, delta("hel")));
        tree.apply(&event(Some(2), ROOT, broken));
        assert_eq!(tree.runs()[0].reply.streamed, "");
    }
}

#[test]
fn a_run_is_known_from_its_beginning_or_from_its_call_whichever_comes_first() {
    let mut tree = begun();
    let told = tool_completed(3, Some(note(3, Some(RunStatus::Completed))));
    tree.apply(&event(Some(2), ROOT, told));
    assert_eq!(tree.delegated_at_work().count(), 0);
    assert!(
        tree.delegated().all(|run| run.end.is_none()),
        "its own end has not been heard"
    );
    let begins = started(Some((1, 1, 3)), RunMode::Foreground);
    assert_eq!(
        tree.apply(&event(Some(1), (3, 3), begins)),
        TreeChange::Began
    );
    let ends = completed(RunStatus::Completed, "gold");
    assert_eq!(tree.apply(&event(Some(2), (3, 3), ends)), TreeChange::Ended);
    assert_eq!(tree.delegated().count(), 1);
    assert_eq!(tree.started_by_call(&call(3)).count(), 1);
}

#[test]
fn a_call_that_only_asks_after_a_task_starts_no_run() {
    let mut tree = begun();
    tree.apply(&event(
        Some(2),
        ROOT,
        tool_completed(9, Some(note(3, None))),
    ));
    assert_eq!(tree.delegated().count(), 0);
    let own = tool_completed(3, Some(note(3, None)));
    tree.apply(&event(Some(3), ROOT, own));
    assert_eq!(tree.runs()[1].phase, RunPhase::Queued);
    assert_eq!(tree.sessions()[0].awaiting, [run(3)]);
}

#[test]
fn waits_and_questions_are_open_until_they_are_settled_or_the_run_ends() {
    let mut tree = begun();
    tree.apply(&event(Some(2), ROOT, permission(5)));
    tree.apply(&event(Some(3), ROOT, waiting(WaitReason::Permission)));
    let asked: Vec<&str> = tree.inquiries().iter().map(|open| open.kind()).collect();
    assert_eq!(asked, ["permission"]);
    assert!(matches!(tree.runs()[0].phase, RunPhase::Waiting { .. }));
    tree.apply(&event(Some(4), ROOT, resolved(5)));
    assert!(tree.inquiries().is_empty());
    tree.apply(&event(Some(5), ROOT, permission(6)));
    tree.apply(&event(Some(6), ROOT, completed(RunStatus::Cancelled, "")));
    assert!(tree.inquiries().is_empty());
    let waits = &tree.runs()[0].log.waits;
    assert!(waits.iter().all(|wait| wait.to.is_some()), "{waits:?}");
}

#[test]
fn usage_is_summed_over_the_tree() {
    let mut tree = begun();
    tree.apply(&event(Some(2), ROOT, reply("", StopReason::Calls, &[3])));
    let begins = started(Some((1, 1, 3)), RunMode::Foreground);
    tree.apply(&event(Some(1), (3, 3), begins));
    tree.apply(&event(Some(2), (3, 3), completed(RunStatus::Completed, "")));
    assert_eq!(tree.total_usage(&run(1)).input, 13);
    assert_eq!(tree.total_usage(&run(3)).input, 10);
    assert!(tree.is_within(&run(3), &run(1)) && !tree.is_within(&run(1), &run(3)));
}

#[test]
fn a_long_run_keeps_its_last_calls_and_counts_all() {
    let mut tree = begun();
    let many = FINISHED_CALLS as u64 + 10;
    for number in 0..many {
        let (first, second) = (2 + 2 * number, 3 + 2 * number);
        let id = u128::from(number);
        tree.apply(&event(Some(first), ROOT, tool_started(id)));
        tree.apply(&event(Some(second), ROOT, tool_completed(id, None)));
    }
    let run = &tree.runs()[0];
    assert_eq!((run.counts.calls, run.log.running.len()), (60, 0));
    assert_eq!(run.log.finished.len(), FINISHED_CALLS);
}

#[test]
fn old_runs_are_forgotten_with_what_they_delegated_and_open_ones_are_kept() {
    let mut tree = begun();
    let child = started(Some((1, 1, 3)), RunMode::Foreground);
    let beside = started(Some((1, 1, 4)), RunMode::Background);
    tree.apply(&event(Some(1), (3, 3), child));
    tree.apply(&event(Some(1), (4, 4), beside));
    tree.apply(&event(Some(2), (3, 3), completed(RunStatus::Completed, "")));
    tree.apply(&event(Some(2), ROOT, completed(RunStatus::Completed, "")));
    tree.apply(&event(Some(3), (1, 2), started(None, RunMode::Main)));
    tree.forget_runs(1);
    let left: Vec<_> = tree.runs().iter().map(|left| left.run.clone()).collect();
    assert_eq!(left, [run(4), run(2)]);
    assert_eq!(tree.head(&session(1)), 3, "numbers are remembered");
}

#[test]
fn what_a_session_is_called_now_comes_with_its_metadata() {
    let mut tree = begun();
    let meta = |name: &str| -> Session {
        let read = json!({"id": session(1), "agent": "lead", "name": name, "cwd": "/", "created_at": Timestamp(0),
            "updated_at": Timestamp(0), "tenant": "t", "person": "p"});
        serde_json::from_value(read).unwrap()
    };
    tree.apply_meta(&meta("renamed"));
    assert_eq!(tree.sessions()[0].name.as_deref(), Some("renamed"));
    assert_eq!(tree.head(&session(1)), 1, "events are not affected");
    let snapshot = SessionSnapshot {
        session: session(1),
        head: 1,
        meta: meta("while away"),
        messages: Vec::new(),
        run: None,
        pending: Vec::new(),
    };
    tree.apply_snapshot(&snapshot);
    assert_eq!(tree.sessions()[0].name.as_deref(), Some("while away"));
}

#[test]
fn events_of_unknown_types_are_ignored() {
    let line = r#"{"v":1,"id":1,"ts":"2026-11-15T18:42:07.113Z","session":"ses_a","run":null,
        "parent_run":null,"agent":"lead","type":"session.painted","data":{"colour":"teal"}}"#;
    assert_eq!(event_from_json(line), None);
}
