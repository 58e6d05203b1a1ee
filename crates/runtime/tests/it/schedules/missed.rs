//! Missed and overlapping due times: the rule of `docs/schedules.md`.

use rooftree_protocol::ScheduleDraft;
use rooftree_providers::scripted::say;
use rooftree_runtime::Clock;
use rooftree_testkit::TestRuntimeBuilder;

use super::fixture::{add, draft, history, pass, quiet, scheduled, states};

#[tokio::test]
async fn what_is_caught_up_begins_within_five_minutes_and_not_all_at_once() {
    let runtime = TestRuntimeBuilder::new([]).build();
    let mut ids = Vec::new();
    for number in 0..40 {
        let mut one = draft("every 1h");
        one.name = Some(format!("task {number}"));
        ids.push(add(&runtime, &one).await.id);
    }
    pass(&runtime, 5 * 3600 + 1800);
    let started = runtime.clock.now();
    let runtime = runtime
        .reopen(scheduled((0..40).map(|_| say("Done."))))
        .await;
    let mut moments = Vec::new();
    for _ in 0..31 {
        pass(&runtime, 10);
        quiet(&runtime).await;
    }
    for id in &ids {
        let found = history(&runtime, id).await;
        let ran: Vec<_> = found
            .iter()
            .filter(|one| one.execution == "completed")
            .collect();
        assert_eq!(ran.len(), 1, "one is made up for");
        assert_eq!(found.len(), 5, "the others are recorded as skipped");
        moments.push(ran[0].started.since(started).as_secs());
    }
    assert!(moments.iter().all(|second| *second <= 310), "{moments:?}");
    moments.sort_unstable();
    moments.dedup();
    assert!(moments.len() > 10, "they are spread: {moments:?}");
    runtime.close().await;
}

#[tokio::test]
async fn nothing_is_caught_up_if_the_schedule_says_so_or_it_is_too_old() {
    for (catch_up, max_age) in [("none", None), ("once", Some(60))] {
        let runtime = TestRuntimeBuilder::new([]).build();
        let one = ScheduleDraft {
            catch_up: Some(catch_up.into()),
            max_age_secs: max_age,
            ..draft("every 1h")
        };
        let added = add(&runtime, &one).await;
        pass(&runtime, 3600 + 1800);
        let runtime = runtime.reopen(scheduled([say("On time.")])).await;
        quiet(&runtime).await;
        assert_eq!(states(&runtime, &added.id).await, ["skipped too_old"]);
        pass(&runtime, 1800);
        quiet(&runtime).await;
        assert_eq!(
            states(&runtime, &added.id).await,
            ["skipped too_old", "completed"]
        );
        runtime.close().await;
    }
}

#[tokio::test]
async fn the_heartbeat_of_an_agent_that_is_caught_up_is_one_message() {
    let runtime = TestRuntimeBuilder::new([]).build();
    let mut ids = Vec::new();
    for name in ["mail", "disk", "weather"] {
        let beat = ScheduleDraft {
            name: Some(name.into()),
            kind: Some("heartbeat".into()),
            when: None,
            ..draft("")
        };
        ids.push(add(&runtime, &beat).await.id);
    }
    pass(&runtime, 5 * 3600 + 600);
    let runtime = runtime.reopen(scheduled([say("HEARTBEAT_OK")])).await;
    for _ in 0..31 {
        pass(&runtime, 10);
        quiet(&runtime).await;
    }
    assert_eq!(runtime.model.requests().len(), 1);
    for id in &ids {
        let told = states(&runtime, id).await;
        assert_eq!(told.last().map(String::as_str), Some("completed"));
    }
    runtime.close().await;
}
