//! Failures: told after two, silent once acknowledged, tried again if no model was reached, switched off after ten.

use rooftree_protocol::{
    AgentDefinition, AuthorizedCaller, Limits, Principal, ScheduleDraft, Surface,
};
use rooftree_providers::scripted::{ScriptEntry, ScriptedFailureKind, fail, say};
use rooftree_runtime::{BoardFilter, Clock, ScheduleDefaults};
use rooftree_store::IncidentState;
use rooftree_testkit::{TestRuntime, TestRuntimeBuilder, owner};
use rooftree_view::board::BoardReasonKind;

use super::fixture::{add, draft, history, live, pass, pass_until, quiet, scheduled, states};

/// A builder with an agent that asks its model only once.
fn with_worker(entries: impl IntoIterator<Item = ScriptEntry>) -> TestRuntimeBuilder {
    scheduled(entries).agent(AgentDefinition {
        limits: Limits {
            retries: 0,
            ..Limits::default()
        },
        ..AgentDefinition::new("worker")
    })
}

fn work(when: &str) -> ScheduleDraft {
    ScheduleDraft {
        agent: Some("worker".into()),
        ..draft(when)
    }
}

/// A model that fails until the prompt of the schedule is another one.
fn failing_once_told(kind: ScriptedFailureKind) -> [ScriptEntry; 2] {
    [fail(kind).on("Break"), say("Done.").on("Look")]
}

fn failing(when: &str) -> ScheduleDraft {
    ScheduleDraft {
        prompt: Some("Break.".into()),
        ..work(when)
    }
}

async fn repair(runtime: &TestRuntime, id: &str) {
    let other = ScheduleDraft {
        prompt: Some("Look.".into()),
        ..ScheduleDraft::default()
    };
    let handle = &runtime.handle;
    handle.change_schedule(&owner(), id, &other).await.unwrap();
}

async fn incident(runtime: &TestRuntime, id: &str) -> (IncidentState, u64) {
    let found = runtime.handle.schedule_incidents(&owner(), id).await;
    let found = found.unwrap().remove(0);
    (found.state, found.count)
}

/// The schedules that the board says are switched off.
async fn off_on_board(runtime: &TestRuntime) -> Vec<String> {
    on_board(runtime, BoardReasonKind::ScheduleOff).await
}

/// The schedules that the board says this about.
async fn on_board(runtime: &TestRuntime, kind: BoardReasonKind) -> Vec<String> {
    let filter = BoardFilter::default();
    let page = runtime
        .handle
        .queries(&owner())
        .board(filter)
        .await
        .unwrap();
    let reasons = page.rows.into_iter().flat_map(|row| row.why);
    let meant = reasons.filter(|why| why.kind == kind);
    meant.map(|why| why.id).collect()
}

#[tokio::test]
async fn ten_failures_in_a_row_switch_a_schedule_off() {
    let refusals = (0..20).map(|_| fail(ScriptedFailureKind::Refused));
    let runtime = with_worker(refusals).build();
    let added = add(&runtime, &work("every 10m")).await;
    for count in 1..=9_u64 {
        pass(&runtime, 600);
        quiet(&runtime).await;
        let told = if count < 2 {
            IncidentState::Detected
        } else {
            IncidentState::Alerted
        };
        assert_eq!(incident(&runtime, &added.id).await, (told, count));
    }
    live(&runtime, 3600, 600).await;
    let row = runtime.handle.schedule(&owner(), &added.id).await.unwrap();
    assert!(!row.enabled);
    assert!(
        row.disabled_reason
            .unwrap()
            .starts_with("10 failures in a row")
    );
    assert_eq!(history(&runtime, &added.id).await.len(), 10);
    assert_eq!(off_on_board(&runtime).await, [added.id.as_str()]);
    let on = ScheduleDraft {
        enabled: Some(true),
        ..ScheduleDraft::default()
    };
    let handle = &runtime.handle;
    handle
        .change_schedule(&owner(), &added.id, &on)
        .await
        .unwrap();
    let row = runtime.store().schedule(&added.id).await.unwrap().unwrap();
    assert_eq!((row.enabled, row.streak), (true, 0));
    assert!(off_on_board(&runtime).await.is_empty());
    runtime.close().await;
}

#[tokio::test]
async fn a_run_that_completes_ends_the_streak_and_its_incidents() {
    let runtime = with_worker(failing_once_told(ScriptedFailureKind::Refused)).build();
    let added = add(&runtime, &failing("every 10m")).await;
    live(&runtime, 600, 600).await;
    repair(&runtime, &added.id).await;
    live(&runtime, 600, 600).await;
    assert_eq!(
        incident(&runtime, &added.id).await.0,
        IncidentState::Resolved
    );
    let row = runtime.store().schedule(&added.id).await.unwrap().unwrap();
    assert_eq!(row.streak, 0);
    runtime.close().await;
}

#[tokio::test]
async fn an_acknowledged_incident_stays_acknowledged() {
    let refusals = (0..5).map(|_| fail(ScriptedFailureKind::Refused));
    let runtime = with_worker(refusals).build();
    let added = add(&runtime, &work("every 10m")).await;
    live(&runtime, 600, 600).await;
    let handle = &runtime.handle;
    let found = handle
        .schedule_incidents(&owner(), &added.id)
        .await
        .unwrap();
    let signature = &found[0].signature;
    let who = owner();
    let known = handle.acknowledge_incident(&who, &added.id, signature);
    known.await.unwrap();
    let unknown = handle.acknowledge_incident(&who, &added.id, "another");
    assert!(unknown.await.is_err());
    live(&runtime, 1200, 600).await;
    assert_eq!(
        incident(&runtime, &added.id).await,
        (IncidentState::Acknowledged, 3)
    );
    runtime.close().await;
}

#[tokio::test]
async fn a_run_that_reached_no_model_is_tried_again_after_five_fifteen_and_thirty_minutes() {
    let runtime = with_worker(failing_once_told(ScriptedFailureKind::Broken)).build();
    let added = add(&runtime, &failing("every 12h")).await;
    let due = added.next_due.unwrap();
    live(&runtime, 12 * 3600 + 21 * 60, 60).await;
    repair(&runtime, &added.id).await;
    live(&runtime, 3600, 60).await;
    let found = history(&runtime, &added.id).await;
    let minutes: Vec<u64> = found
        .iter()
        .rev()
        .map(|one| one.due.since(due).as_secs() / 60)
        .collect();
    assert_eq!(minutes, [0, 5, 20, 50]);
    assert_eq!(found[0].execution, "completed");
    runtime.close().await;
}

#[tokio::test]
async fn a_retry_is_never_later_than_the_next_due_time() {
    let runtime = with_worker(failing_once_told(ScriptedFailureKind::Broken)).build();
    let added = add(&runtime, &failing("every 4m")).await;
    live(&runtime, 480, 60).await;
    let found = history(&runtime, &added.id).await;
    let apart = found[0].due.since(found[1].due).as_secs();
    assert_eq!((found.len(), apart), (2, 240));
    runtime.close().await;
}

#[tokio::test]
async fn a_schedule_whose_agent_is_gone_asks_no_model_and_is_told_once() {
    let runtime = with_worker([]).build();
    let added = add(&runtime, &work("every 10m")).await;
    let runtime = runtime.reopen(scheduled([])).await;
    live(&runtime, 1800, 600).await;
    assert_eq!(
        states(&runtime, &added.id).await,
        ["failed blocked_config"; 3]
    );
    assert_eq!(
        incident(&runtime, &added.id).await,
        (IncidentState::Alerted, 3)
    );
    assert!(runtime.model.requests().is_empty());
    assert!(runtime.clock.now() > added.next_due.unwrap());
    runtime.close().await;
}

#[tokio::test]
async fn failures_without_a_run_and_without_a_chat_are_on_the_board() {
    let runtime = scheduled([]).build();
    let broken = ScheduleDraft {
        prompt: None,
        command: Some("echo no such disk >&2; exit 3".into()),
        ..draft("every 10m")
    };
    let added = add(&runtime, &broken).await;
    let failing = BoardReasonKind::ScheduleFailed;
    for count in 1..=9 {
        pass_until(&runtime, 600, &added.id, count).await;
        let told = on_board(&runtime, failing).await;
        assert_eq!(told.len(), usize::from(count > 1), "after {count}");
    }
    pass_until(&runtime, 600, &added.id, 10).await;
    assert!(on_board(&runtime, failing).await.is_empty());
    assert_eq!(off_on_board(&runtime).await, [added.id.as_str()]);
    assert!(runtime.model.requests().is_empty());
    runtime.verify().await;
    runtime.close().await;
}

#[tokio::test]
async fn a_command_that_works_again_takes_its_failures_off_the_board() {
    let runtime = scheduled([]).build();
    let broken = ScheduleDraft {
        prompt: None,
        command: Some("test -e repaired".into()),
        ..draft("every 10m")
    };
    let added = add(&runtime, &broken).await;
    for count in 1..=2 {
        pass_until(&runtime, 600, &added.id, count).await;
    }
    let failing = BoardReasonKind::ScheduleFailed;
    assert_eq!(on_board(&runtime, failing).await, [added.id.as_str()]);
    std::fs::write(runtime.path().join("repaired"), "").unwrap();
    pass_until(&runtime, 600, &added.id, 3).await;
    assert!(on_board(&runtime, failing).await.is_empty());
    runtime.close().await;
}

#[tokio::test]
async fn the_schedules_of_a_person_who_is_disabled_ask_no_model() {
    let runtime = scheduled([say("Done.").times(9)]).build();
    let caller = AuthorizedCaller::local_owner(Surface::Cli);
    let invited = runtime.handle.invite_person(&caller, "Ann").await.unwrap();
    let ann = Principal {
        person: invited.person.account.person,
        ..owner()
    };
    let defaults = ScheduleDefaults {
        agent: "lead".into(),
        cwd: runtime.path().to_owned(),
        zone: "UTC".into(),
    };
    let handle = &runtime.handle;
    let plan = draft("every 10m");
    let added = handle.add_schedule(&ann, &plan, defaults).await.unwrap();
    live(&runtime, 600, 600).await;
    let disabled = handle.disable_person(&caller, &ann.person);
    assert!(disabled.await.is_ok());
    live(&runtime, 600, 600).await;
    assert_eq!(
        states(&runtime, &added.id).await,
        ["completed", "failed blocked_config"]
    );
    assert_eq!(runtime.model.requests().len(), 1);
    runtime.close().await;
}
