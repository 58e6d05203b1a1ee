//! Schedules: revisions, what is due, firing once, what becomes of an occurrence, incidents.

use rooftree_protocol::{
    Account, EventBody, Lane, Principal, RunId, RunStatus, Surface, Timestamp, event::RunEnd,
};
use serde_json::json;

use super::{fixture::*, list};
use crate::{
    AuditEntry, BoardQuery, FiringOutcome, FiringWork, IncidentReport, IncidentState,
    OccurrenceFilter, OccurrenceReview, OccurrenceRow, OccurrenceState, OccurrenceUpdate,
    ScheduleContent, ScheduleFilter, ScheduleFiring, SchedulePlan, ScheduleRow, ScheduleWrite,
    ScheduleWriteOutcome, SkippedOccurrence,
};

list![
    a_schedule_is_changed_only_by_who_knows_its_revision,
    only_enabled_schedules_whose_time_has_come_are_due,
    a_due_time_is_fired_once_with_its_message_and_the_next_due_time,
    a_firing_that_fails_changes_nothing,
    a_session_that_a_schedule_uses_again_has_the_chat_of_its_last_firing,
    a_schedule_that_was_changed_or_put_off_is_not_fired_as_it_was,
    a_skipped_due_time_is_kept_with_its_reason,
    several_schedules_fire_as_one_message_or_not_at_all,
    the_commits_of_a_run_are_noted_in_its_occurrence,
    an_occurrence_is_reviewed_once,
    an_incident_is_counted_resolved_and_silenced,
    a_schedule_that_its_failures_switched_off_is_on_the_board_until_a_person_decides,
    failures_of_a_schedule_that_had_no_session_are_on_the_board_until_a_run_completes,
    a_due_time_that_is_over_is_passed_and_not_due_for_ever,
    what_is_due_now_is_fired_however_often_within_a_moment,
    removing_a_schedule_removes_its_occurrences,
    the_end_of_a_run_makes_schedules_due_that_wait_for_it,
];

fn plan() -> SchedulePlan {
    serde_json::from_value(json!({
        "kind": { "type": "time" }, "spec": { "kind": "every", "seconds": 60 }, "zone": "UTC", "agent": "lead",
        "cwd": "/somewhere", "work": { "type": "prompt", "text": "look" }
    }))
    .unwrap()
}

fn content(next_due: Option<Timestamp>) -> ScheduleContent {
    ScheduleContent {
        name: "morning".into(),
        plan: plan(),
        enabled: true,
        disabled_reason: None,
        next_due,
    }
}

fn change(id: &str, expected: Option<u64>, content: Option<ScheduleContent>) -> ScheduleWrite {
    let who = Principal::local_owner(Surface::Cli);
    ScheduleWrite {
        id: id.into(),
        account: Account::default(),
        content,
        expected,
        audit: Some(AuditEntry::done(&who, NOW, "schedule.write", id)),
        by: who,
        at: NOW,
    }
}

async fn added(store: &StoreUnderTest, id: &str, due: Option<Timestamp>) -> ScheduleRow {
    let written = store.write_schedule(change(id, None, Some(content(due))));
    let ScheduleWriteOutcome::Written(Some(row)) = written.await.unwrap() else {
        panic!("{id} is there already");
    };
    *row
}

/// A moment so many seconds later.
fn later(seconds: i64) -> Timestamp {
    Timestamp(NOW.0 + seconds * 1000)
}

/// A message to a new session, as a schedule sends it.
fn message_to(number: u128, key: &str) -> FiringWork {
    let new = new_session(number);
    let mut post = post(&new.id, Lane::Mail, number);
    post.key = key.to_owned();
    FiringWork::Post {
        run: run_id(number),
        open: Some(Box::new(new)),
        post: Box::new(post),
    }
}

fn firing(row: &ScheduleRow, work: FiringWork) -> ScheduleFiring {
    ScheduleFiring {
        schedules: vec![row.fired_at(row.next_due.unwrap_or(NOW), Some(minute()))],
        work,
        at: NOW,
    }
}

fn skip(needs_review: bool) -> FiringWork {
    FiringWork::Skip {
        reason: "gate".into(),
        detail: Some("nothing new".into()),
        state: if needs_review {
            OccurrenceState::Failed
        } else {
            OccurrenceState::Skipped
        },
        needs_review,
    }
}

/// The only one of these.
fn only<T>(rows: Vec<T>) -> T {
    assert_eq!(rows.len(), 1);
    rows.into_iter().next().unwrap()
}

async fn history(store: &StoreUnderTest, id: &str) -> Vec<OccurrenceRow> {
    let filter = OccurrenceFilter {
        schedule: id.into(),
        ..OccurrenceFilter::default()
    };
    store.occurrences(filter).await.unwrap()
}

async fn a_schedule_is_changed_only_by_who_knows_its_revision(store: StoreUnderTest) {
    let row = added(&store, "sch_a", Some(NOW)).await;
    assert_eq!((row.revision, row.wake_at), (1, Some(NOW)));
    assert_eq!(store.schedule("sch_a").await.unwrap().as_ref(), Some(&row));
    let again = store.write_schedule(change("sch_a", None, Some(content(None))));
    let differs = ScheduleWriteOutcome::Differs(Some(Box::new(row)));
    assert_eq!(again.await.unwrap(), differs);
    let mut foreign = change("sch_a", Some(1), None);
    foreign.account.person = "guest".into();
    let foreign = store.write_schedule(foreign).await.unwrap();
    assert_eq!(foreign, ScheduleWriteOutcome::Differs(None));
    let off = ScheduleContent {
        enabled: false,
        disabled_reason: Some("paused".into()),
        ..content(None)
    };
    let written = store.write_schedule(change("sch_a", Some(1), Some(off)));
    assert!(
        matches!(written.await.unwrap(), ScheduleWriteOutcome::Written(Some(row)) if row.revision == 2)
    );
    let own = ScheduleFilter {
        person: Some("owner".into()),
        agents: Some(vec!["LEAD".into()]),
        ..ScheduleFilter::default()
    };
    assert_eq!(store.schedules(own).await.unwrap().len(), 1);
    let others = ScheduleFilter {
        person: Some("guest".into()),
        ..ScheduleFilter::default()
    };
    assert!(store.schedules(others).await.unwrap().is_empty());
    let entries = store.audit("default", 0, 9).await.unwrap();
    assert_eq!(entries.len(), 2, "what was refused is not audited");
}

async fn only_enabled_schedules_whose_time_has_come_are_due(store: StoreUnderTest) {
    assert_eq!(store.next_due().await.unwrap(), None);
    let first = added(&store, "sch_a", Some(later(1))).await;
    added(&store, "sch_b", Some(later(5))).await;
    added(&store, "sch_c", None).await;
    let off = ScheduleContent {
        enabled: false,
        ..content(Some(NOW))
    };
    let off = store.write_schedule(change("sch_d", None, Some(off)));
    off.await.unwrap();
    assert_eq!(store.next_due().await.unwrap(), Some(later(1)));
    assert!(store.due_schedules(NOW, 9).await.unwrap().is_empty());
    assert_eq!(store.due_schedules(later(1), 9).await.unwrap(), [first]);
    assert_eq!(store.due_schedules(later(9), 9).await.unwrap().len(), 2);
    assert_eq!(store.due_schedules(later(9), 1).await.unwrap().len(), 1);
}

async fn a_due_time_is_fired_once_with_its_message_and_the_next_due_time(store: StoreUnderTest) {
    let row = added(&store, "sch_a", Some(NOW)).await;
    let fire = |number| store.fire(firing(&row, message_to(number, "cron:sch_a:1")));
    let (one, other) = (fire(1), fire(2));
    let session = session_id(1);
    assert_eq!(
        one.await.unwrap(),
        FiringOutcome::Fired(Some(session.clone()))
    );
    assert_eq!(other.await.unwrap(), FiringOutcome::Lost);
    assert!(store.session(&session_id(2)).await.unwrap().is_none());
    let waiting = store.waiting(&session, Lane::Mail, 9).await.unwrap();
    assert_eq!(only(waiting).key, "cron:sch_a:1");
    let now = store.schedule("sch_a").await.unwrap().unwrap();
    assert_eq!(
        (now.next_due, now.wake_at),
        (Some(minute()), Some(minute()))
    );
    assert_eq!(
        now.revision, row.revision,
        "firing is no change of the plan"
    );
    let fired = only(history(&store, "sch_a").await);
    assert_eq!(fired.state, OccurrenceState::Claimed);
    assert_eq!((fired.due, fired.run), (NOW, Some(run_id(1))));
    let by_hand = ScheduleFiring {
        schedules: vec![crate::FiredSchedule {
            at_due: None,
            due: NOW,
            next_due: None,
            ..now.fired_at(NOW, None)
        }],
        work: message_to(3, "cron:sch_a:1"),
        at: NOW,
    };
    let repeated = store.fire(by_hand).await.unwrap();
    assert_eq!(repeated, FiringOutcome::Lost, "that moment is taken");
}

async fn a_session_that_a_schedule_uses_again_has_the_chat_of_its_last_firing(
    store: StoreUnderTest,
) {
    let mut row = added(&store, "sch_1", Some(NOW)).await;
    let mut sessions = Vec::new();
    for (number, target) in [(1, Some("home:7")), (2, Some("home:8")), (3, None)] {
        let mut work = message_to(number, &format!("k{number}"));
        if let FiringWork::Post { open, .. } = &mut work {
            let open = open.as_mut().unwrap();
            open.connector_key = Some("schedule:sch_1".into());
            open.chat = target.map(|target| target.parse().unwrap());
        }
        row.next_due = Some(later(i64::try_from(number).unwrap()));
        let mut fired = firing(&row, work);
        fired.schedules.iter_mut().for_each(|one| one.at_due = None);
        let FiringOutcome::Fired(Some(session)) = store.fire(fired).await.unwrap() else {
            panic!("{number} was lost");
        };
        let found = store.session(&session).await.unwrap().unwrap();
        assert_eq!(found.chat.map(|chat| chat.to_string()).as_deref(), target);
        sessions.push(session);
    }
    sessions.dedup();
    assert_eq!(sessions.len(), 1);
}

async fn a_firing_that_fails_changes_nothing(store: StoreUnderTest) {
    let row = added(&store, "sch_a", Some(NOW)).await;
    let FiringWork::Post { post, run, .. } = message_to(1, "cron:sch_a:1") else {
        panic!("a post");
    };
    let work = FiringWork::Post {
        open: None,
        post,
        run,
    };
    assert!(store.fire(firing(&row, work)).await.is_err(), "no session");
    assert!(history(&store, "sch_a").await.is_empty());
    assert_eq!(store.next_due().await.unwrap(), Some(NOW));
}

async fn a_schedule_that_was_changed_or_put_off_is_not_fired_as_it_was(store: StoreUnderTest) {
    let row = added(&store, "sch_a", Some(NOW)).await;
    assert!(store.put_off_schedule(&row, later(30)).await.unwrap());
    assert!(!store.put_off_schedule(&row, later(40)).await.unwrap());
    assert!(store.due_schedules(later(29), 9).await.unwrap().is_empty());
    let due = only(store.due_schedules(later(30), 9).await.unwrap());
    assert_eq!((due.next_due, due.wake_at), (Some(NOW), Some(later(30))));
    let changed = store.write_schedule(change("sch_a", Some(1), Some(content(Some(NOW)))));
    changed.await.unwrap();
    let stale = store.fire(firing(&row, skip(false))).await.unwrap();
    assert_eq!(stale, FiringOutcome::Lost);
}

async fn a_skipped_due_time_is_kept_with_its_reason(store: StoreUnderTest) {
    let row = added(&store, "sch_a", Some(NOW)).await;
    let mut first = firing(&row, skip(false));
    let missed = SkippedOccurrence {
        due: later(-60),
        reason: "too_old".into(),
        detail: None,
    };
    for fired in &mut first.schedules {
        fired.missed.push(missed.clone());
    }
    assert_eq!(store.fire(first).await.unwrap(), FiringOutcome::Fired(None));
    let found = history(&store, "sch_a").await;
    let told: Vec<_> = found
        .iter()
        .map(|one| (one.due, one.state, one.reason.as_deref(), one.reviewed))
        .collect();
    let skipped = OccurrenceState::Skipped;
    assert_eq!(
        told,
        [
            (NOW, skipped, Some("gate"), true),
            (later(-60), skipped, Some("too_old"), true)
        ]
    );
    let row = store.schedule("sch_a").await.unwrap().unwrap();
    store.fire(firing(&row, skip(true))).await.unwrap();
    let left = store.unreviewed_occurrences(9).await.unwrap();
    assert_eq!(left.len(), 1, "a failure is reviewed");
}

async fn several_schedules_fire_as_one_message_or_not_at_all(store: StoreUnderTest) {
    let one = added(&store, "sch_a", Some(NOW)).await;
    let two = added(&store, "sch_b", Some(NOW)).await;
    let both = |number| ScheduleFiring {
        schedules: [&one, &two]
            .map(|row| row.fired_at(NOW, Some(minute())))
            .to_vec(),
        work: message_to(number, "cron:sch_a:1"),
        at: NOW,
    };
    store.fire(firing(&two, skip(false))).await.unwrap();
    assert_eq!(store.fire(both(1)).await.unwrap(), FiringOutcome::Lost);
    assert!(history(&store, "sch_a").await.is_empty());
    assert!(store.session(&session_id(1)).await.unwrap().is_none());
}

fn ended(session: &rooftree_protocol::SessionId, id: u64, run: &RunId) -> rooftree_protocol::Event {
    let end: RunEnd = serde_json::from_value(json!({
        "status": RunStatus::Completed, "text": "done", "turns": 2, "calls": 1, "usage": used(), "duration_ms": 5
    }))
    .unwrap();
    rooftree_protocol::Event {
        run: Some(run.clone()),
        ..event(session, id, EventBody::RunCompleted(end))
    }
}

async fn the_commits_of_a_run_are_noted_in_its_occurrence(store: StoreUnderTest) {
    let row = added(&store, "sch_a", Some(NOW)).await;
    let (session, run) = (session_id(1), run_id(1));
    let work = message_to(1, "cron:sch_a:1");
    store.fire(firing(&row, work)).await.unwrap();
    assert_eq!(store.open_occurrences().await.unwrap().len(), 1);
    let claimed = claim(&store, &session).await;
    let begun = batch(vec![started(&session, 1, &run)]);
    store.append(&claimed, begun).await.unwrap();
    let running = only(history(&store, "sch_a").await);
    assert_eq!(running.state, OccurrenceState::Running);
    assert!(store.set_next_check(&run, minute()).await.unwrap());
    assert!(!store.set_next_check(&run_id(9), minute()).await.unwrap());
    let last = batch(vec![ended(&session, 2, &run)]);
    store.append(&claimed, last).await.unwrap();
    let over = only(history(&store, "sch_a").await);
    assert_eq!(over.state, OccurrenceState::Completed);
    assert_eq!((over.tokens, over.calls), (13, 2));
    assert_eq!(over.answer.as_deref(), Some("done"));
    assert_eq!(
        (over.next_check, over.ended_at),
        (Some(minute()), Some(NOW))
    );
    assert_eq!(store.occurrences_of_run(&run).await.unwrap(), [over]);
    assert_eq!(
        store.schedule_usage("sch_a", NOW).await.unwrap(),
        (13, 0.25)
    );
    assert_eq!(
        store.schedule_usage("sch_a", later(1)).await.unwrap(),
        (0, 0.0)
    );
}

async fn waits(store: &StoreUnderTest, id: &str, on: serde_json::Value) {
    let mut content = content(None);
    content.plan.kind = serde_json::from_value(json!({"type": "event", "on": on})).unwrap();
    content.plan.spec = None;
    let written = store.write_schedule(change(id, None, Some(content)));
    written.await.unwrap();
}

/// Begins and ends a run.
async fn run_through(store: &StoreUnderTest, number: u128) {
    let (session, run) = (session_id(number), run_id(number));
    let claimed = claim(store, &session).await;
    let events = vec![started(&session, 1, &run), ended(&session, 2, &run)];
    store.append(&claimed, batch(events)).await.unwrap();
}

async fn the_end_of_a_run_makes_schedules_due_that_wait_for_it(store: StoreUnderTest) {
    let ended = |of: serde_json::Value| {
        let mut on = json!({"event": "run_ended"});
        on.as_object_mut()
            .unwrap()
            .extend(of.as_object().unwrap().clone());
        on
    };
    waits(&store, "sch_any", ended(json!({}))).await;
    waits(
        &store,
        "sch_lead",
        ended(json!({"agent": "Lead", "status": "completed"})),
    )
    .await;
    waits(&store, "sch_failed", ended(json!({"status": "failed"}))).await;
    waits(&store, "sch_other", ended(json!({"agent": "other"}))).await;
    waits(
        &store,
        "sch_hook",
        json!({"event": "webhook", "name": "lead"}),
    )
    .await;
    open(&store, 1).await;
    run_through(&store, 1).await;
    let due = store.due_schedules(NOW, 9).await.unwrap();
    let mut ids: Vec<&str> = due.iter().map(|row| row.id.as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["sch_any", "sch_lead"]);
    // Their own runs make none due.
    for (number, row) in (2..).zip(&due) {
        let fired = ScheduleFiring {
            schedules: vec![row.fired_at(NOW, None)],
            work: message_to(number, &row.id),
            at: NOW,
        };
        store.fire(fired).await.unwrap();
        run_through(&store, number).await;
    }
    assert!(store.due_schedules(NOW, 9).await.unwrap().is_empty());
}

fn review(due: Timestamp, incident: Option<IncidentReport>) -> OccurrenceReview {
    OccurrenceReview {
        schedule: "sch_a".into(),
        due,
        streak: 3,
        attempts: 1,
        gate_state: Some("seen".into()),
        next_due: Some(later(7)),
        disable: None,
        incident,
        outbox: Vec::new(),
        shown: None,
        at: NOW,
    }
}

fn failure(alerted: bool) -> Option<IncidentReport> {
    Some(IncidentReport {
        signature: "failed".into(),
        words: "it failed".into(),
        alerted,
    })
}

async fn an_occurrence_is_reviewed_once(store: StoreUnderTest) {
    let row = added(&store, "sch_a", Some(NOW)).await;
    store.fire(firing(&row, FiringWork::Command)).await.unwrap();
    assert!(store.unreviewed_occurrences(9).await.unwrap().is_empty());
    let update = OccurrenceUpdate {
        schedule: "sch_a".into(),
        due: NOW,
        state: OccurrenceState::Failed,
        reason: Some("exit".into()),
        detail: Some("exit code 2".into()),
        answer: None,
        at: NOW,
    };
    assert!(store.settle_occurrence(update.clone()).await.unwrap());
    assert!(
        !store.settle_occurrence(update).await.unwrap(),
        "it is over"
    );
    assert_eq!(store.unreviewed_occurrences(9).await.unwrap().len(), 1);
    let first = store.review_occurrence(review(NOW, None)).await.unwrap();
    let again = store.review_occurrence(OccurrenceReview {
        disable: Some("no".into()),
        ..review(NOW, None)
    });
    assert!(first && !again.await.unwrap());
    let row = store.schedule("sch_a").await.unwrap().unwrap();
    assert_eq!((row.streak, row.attempts, row.enabled), (3, 1, true));
    assert_eq!(row.gate_state.as_deref(), Some("seen"));
    assert_eq!(
        (row.next_due, row.wake_at),
        (Some(later(7)), Some(later(7)))
    );
    assert!(store.unreviewed_occurrences(9).await.unwrap().is_empty());
}

/// The names of schedules that are off, as the board shows them.
async fn off_on_board(store: &StoreUnderTest) -> Vec<String> {
    let query = BoardQuery {
        reader: Account::default(),
        person: None,
        agents: None,
        rest: 0,
        after: None,
    };
    let records = store.board(query).await.unwrap().records.into_iter();
    let off = records.filter_map(|record| record.schedule_off);
    off.map(|off| format!("{}: {}", off.name, off.reason))
        .collect()
}

async fn switch_off(store: &StoreUnderTest, due: Timestamp) {
    let disabled = OccurrenceReview {
        disable: Some("10 failures".into()),
        ..review(due, None)
    };
    assert!(store.review_occurrence(disabled).await.unwrap());
}

async fn a_schedule_that_its_failures_switched_off_is_on_the_board_until_a_person_decides(
    store: StoreUnderTest,
) {
    let row = added(&store, "sch_a", Some(NOW)).await;
    let posted = firing(&row, message_to(1, "once"));
    store.fire(posted).await.unwrap();
    // The last due time has no session: the one before has.
    let row = store.schedule("sch_a").await.unwrap().unwrap();
    let due = row.next_due.unwrap();
    store.fire(firing(&row, skip(true))).await.unwrap();
    assert!(off_on_board(&store).await.is_empty());
    switch_off(&store, due).await;
    assert_eq!(off_on_board(&store).await, ["morning: 10 failures"]);
    let write = async |enabled, reason: Option<&str>| {
        let row = store.schedule("sch_a").await.unwrap().unwrap();
        let content = ScheduleContent {
            name: "evening".into(),
            enabled,
            disabled_reason: reason.map(str::to_owned),
            ..content(row.next_due)
        };
        let write = change("sch_a", Some(row.revision), Some(content));
        store.write_schedule(write).await.unwrap();
        off_on_board(&store).await
    };
    let other_name = write(false, Some("10 failures")).await;
    assert_eq!(other_name, ["evening: 10 failures"]);
    assert!(write(false, None).await.is_empty(), "paused by a person");
    assert!(write(true, None).await.is_empty(), "resumed");
}

/// The review of a failure that the board shows in a session of this number.
fn shown_failure(due: Timestamp, number: u128) -> OccurrenceReview {
    let FiringWork::Post { open, .. } = message_to(number, "unused") else {
        panic!("a post opens a session");
    };
    let open = open.map(|open| {
        Box::new(crate::NewSessionRow {
            connector_key: Some("schedule-failures:sch_a".into()),
            ..*open
        })
    });
    OccurrenceReview {
        next_due: None,
        shown: open,
        ..review(due, failure(true))
    }
}

async fn failures_of_a_schedule_that_had_no_session_are_on_the_board_until_a_run_completes(
    store: StoreUnderTest,
) {
    added(&store, "sch_a", Some(NOW)).await;
    let fails = async || {
        let row = store.schedule("sch_a").await.unwrap().unwrap();
        let due = row.next_due.unwrap();
        let fired = ScheduleFiring {
            schedules: vec![row.fired_at(due, Some(Timestamp(due.0 + 60_000)))],
            work: skip(true),
            at: NOW,
        };
        store.fire(fired).await.unwrap();
        due
    };
    let reviewed = async |review: OccurrenceReview| {
        assert!(store.review_occurrence(review).await.unwrap());
        off_on_board(&store).await
    };
    let due = fails().await;
    assert_eq!(
        reviewed(shown_failure(due, 5)).await,
        ["morning: it failed"]
    );
    assert!(store.session(&session_id(5)).await.unwrap().is_some());
    let renamed = store.schedule("sch_a").await.unwrap().unwrap();
    let renamed = ScheduleContent {
        name: "evening".into(),
        ..content(renamed.next_due)
    };
    let write = store.write_schedule(change("sch_a", Some(1), Some(renamed)));
    write.await.unwrap();
    assert_eq!(off_on_board(&store).await, ["evening: it failed"]);
    let due = fails().await;
    let completed = OccurrenceReview {
        next_due: None,
        ..review(due, None)
    };
    assert!(reviewed(completed).await.is_empty(), "a run has completed");
    // The same session tells the next failure, also if a person has put it away.
    let deleted = crate::SessionPatch {
        deleted_at: Some(Some(NOW)),
        ..Default::default()
    };
    store.update(&session_id(5), deleted).await.unwrap();
    let due = fails().await;
    assert_eq!(
        reviewed(shown_failure(due, 6)).await,
        ["evening: it failed"]
    );
    assert!(store.session(&session_id(6)).await.unwrap().is_none());
    let known = store.acknowledge_incident("sch_a", "failed", None);
    assert!(known.await.unwrap());
    assert!(off_on_board(&store).await.is_empty(), "a person knows");
    let due = fails().await;
    let off = OccurrenceReview {
        disable: Some("10 failures".into()),
        ..shown_failure(due, 7)
    };
    assert_eq!(reviewed(off).await, ["evening: 10 failures"]);
}

async fn a_due_time_that_is_over_is_passed_and_not_due_for_ever(store: StoreUnderTest) {
    let row = added(&store, "sch_a", Some(NOW)).await;
    store.fire(firing(&row, skip(false))).await.unwrap();
    // The clock was set back, and the schedule switched off and on: the same time comes again.
    let before = ScheduleWrite {
        at: later(-30),
        ..change("sch_a", Some(1), Some(content(Some(NOW))))
    };
    store.write_schedule(before).await.unwrap();
    let row = only(store.due_schedules(NOW, 9).await.unwrap());
    let again = store.fire(firing(&row, skip(false))).await.unwrap();
    assert_eq!(again, FiringOutcome::Lost);
    assert_eq!(history(&store, "sch_a").await.len(), 1);
    assert_eq!(store.next_due().await.unwrap(), Some(minute()));
}

async fn what_is_due_now_is_fired_however_often_within_a_moment(store: StoreUnderTest) {
    added(&store, "sch_a", None).await;
    waits(&store, "sch_b", json!({"event": "run_ended"})).await;
    open(&store, 1).await;
    for count in 1..=3 {
        let row = store.schedule("sch_a").await.unwrap().unwrap();
        let by_hand = change("sch_a", Some(row.revision), Some(content(Some(NOW))));
        store.write_schedule(by_hand).await.unwrap();
        let claimed = claim(&store, &session_id(1)).await;
        let run = run_id(count);
        let at = store.session(&session_id(1)).await.unwrap().unwrap().head;
        let events = vec![
            started(&session_id(1), at + 1, &run),
            ended(&session_id(1), at + 2, &run),
        ];
        store.append(&claimed, batch(events)).await.unwrap();
        store.release(claimed).await.unwrap();
        for row in store.due_schedules(later(1), 9).await.unwrap() {
            let due = row.next_due.unwrap();
            let fired = ScheduleFiring {
                schedules: vec![row.fired_at(due, None)],
                work: skip(false),
                at: NOW,
            };
            let outcome = store.fire(fired).await.unwrap();
            assert_eq!(outcome, FiringOutcome::Fired(None), "{count} {}", row.id);
        }
        for id in ["sch_a", "sch_b"] {
            let told = history(&store, id).await.len();
            assert_eq!(told, usize::try_from(count).unwrap(), "{id}");
        }
    }
}

async fn an_incident_is_counted_resolved_and_silenced(store: StoreUnderTest) {
    added(&store, "sch_a", Some(NOW)).await;
    let steps = [
        (failure(false), IncidentState::Detected, 1),
        (failure(true), IncidentState::Alerted, 2),
        (failure(false), IncidentState::Alerted, 3),
        (None, IncidentState::Resolved, 3),
        (failure(false), IncidentState::Detected, 1),
    ];
    for (incident, state, count) in steps {
        let row = store.schedule("sch_a").await.unwrap().unwrap();
        let due = row.next_due.unwrap();
        let next = Timestamp(due.0 + 1000);
        store.fire(firing(&row, skip(true))).await.unwrap();
        let review = OccurrenceReview {
            next_due: Some(next),
            ..review(due, incident)
        };
        assert!(store.review_occurrence(review).await.unwrap());
        let found = only(store.incidents("sch_a").await.unwrap());
        assert_eq!((found.state, found.count), (state, count));
    }
    assert!(
        !store
            .acknowledge_incident("sch_a", "other", None)
            .await
            .unwrap()
    );
    assert!(
        store
            .acknowledge_incident("sch_a", "failed", None)
            .await
            .unwrap()
    );
    let found = only(store.incidents("sch_a").await.unwrap());
    assert_eq!(found.state, IncidentState::Acknowledged);
}

async fn removing_a_schedule_removes_its_occurrences(store: StoreUnderTest) {
    let row = added(&store, "sch_a", Some(NOW)).await;
    store.fire(firing(&row, skip(true))).await.unwrap();
    let gone = store.write_schedule(change("sch_a", Some(1), None));
    assert_eq!(gone.await.unwrap(), ScheduleWriteOutcome::Written(None));
    assert!(store.schedule("sch_a").await.unwrap().is_none());
    assert!(history(&store, "sch_a").await.is_empty());
    assert!(store.unreviewed_occurrences(9).await.unwrap().is_empty());
}
