//! Restarts: whenever a process ends and another begins, a due time has one occurrence.

use rooftree_protocol::{ScheduleDraft, Timestamp};
use rooftree_providers::scripted::say;
use rooftree_runtime::Clock;
use rooftree_testkit::TestRuntimeBuilder;

use super::fixture::{add, draft, history, live, pass, pass_to, quiet, scheduled, states};
use std::time::Duration;

#[tokio::test]
async fn a_restart_at_any_second_around_a_due_time_loses_and_doubles_nothing() {
    let scripts = || (0..4).map(|_| say("Done."));
    for second in 0..20_u64 {
        let runtime = scheduled(scripts()).build();
        let added = add(&runtime, &draft("every 10m")).await;
        let due = added.next_due.unwrap();
        // Stopped at any second from ten before to nine after, and away for thirteen.
        let stop = due.0 - 10_000 + i64::try_from(second).unwrap() * 1000;
        pass_to(&runtime, Timestamp(stop));
        let was_due = stop >= due.0;
        if was_due {
            quiet(&runtime).await;
        }
        let runtime = runtime.restart(TestRuntimeBuilder::new([])).await;
        pass(&runtime, 13);
        let runtime = runtime.restart(scheduled(scripts())).await;
        live(&runtime, 600, 60).await;
        assert_eq!(
            states(&runtime, &added.id).await,
            ["completed", "completed"],
            "second {second}"
        );
        runtime.verify().await;
        runtime.close().await;
    }
}

#[tokio::test]
async fn a_message_that_was_fired_before_a_crash_is_worked_on_afterwards() {
    let runtime = scheduled([say("Slow.").delay(Duration::from_secs(3600))]).build();
    let added = add(&runtime, &draft("every 10m")).await;
    pass(&runtime, 600);
    super::fixture::wait(|| async { states(&runtime, &added.id).await == ["running"] }).await;
    let runtime = runtime.crash(scheduled([say("After all.")])).await;
    runtime.recover().await;
    quiet(&runtime).await;
    let found = history(&runtime, &added.id).await;
    assert_eq!(states(&runtime, &added.id).await, ["completed"]);
    assert_eq!(found[0].answer.as_deref(), Some("After all."));
    assert!(found[0].ended.unwrap() <= runtime.clock.now());
    runtime.verify().await;
    runtime.close().await;
}

/// A time that the clock skips, and one that it shows twice: `2:30` in Berlin, with the moments around it.
#[tokio::test]
async fn a_restart_at_any_second_around_a_clock_change_loses_and_doubles_nothing() {
    // The 28th of March 2027 at 3:00, where the clock is put forward; the 31st of October at 2:30, before it goes back.
    for (due, day) in [(1_806_195_600_000, "March"), (1_824_942_600_000, "October")] {
        for second in 0..14_i64 {
            let runtime = scheduled((0..4).map(|_| say("Done."))).build();
            pass_to(&runtime, Timestamp(due - 3 * 3_600_000));
            let daily = ScheduleDraft {
                zone: Some("Europe/Berlin".into()),
                ..draft("daily at 2:30")
            };
            let added = add(&runtime, &daily).await;
            assert_eq!(added.next_due, Some(Timestamp(due)), "{day}");
            let stop = due - 7_000 + second * 1000;
            pass_to(&runtime, Timestamp(stop));
            if stop >= due {
                quiet(&runtime).await;
            }
            let runtime = runtime.restart(TestRuntimeBuilder::new([])).await;
            pass(&runtime, 13);
            let runtime = runtime
                .restart(scheduled((0..4).map(|_| say("Done."))))
                .await;
            quiet(&runtime).await;
            // Past the second 2:30 of a day that has two.
            live(&runtime, 4 * 3600, 3600).await;
            let told = states(&runtime, &added.id).await;
            assert_eq!(told, ["completed"], "{day}, second {second}");
            runtime.close().await;
        }
    }
}
