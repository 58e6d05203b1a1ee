//! Plays every row of the table of missed and overlapping due times in `docs/schedules.md`.

use std::time::Duration;

use rooftree_protocol::ScheduleDraft;
use rooftree_providers::scripted::say;
use rooftree_testkit::{TestRuntime, TestRuntimeBuilder};

use super::fixture::{add, draft, history, live, pass, quiet, scheduled, states, wait};

const DOCUMENT: &str = include_str!("../../../../../docs/schedules.md");

/// A row of the table.
struct Rule<'a> {
    seen: u64,
    is_at_work: bool,
    draft: ScheduleDraft,
    wanted: &'a str,
}

fn seconds(cell: &str) -> u64 {
    cell.split(' ').next().unwrap().parse().unwrap()
}

fn rules() -> Vec<Rule<'static>> {
    let (_, section) = DOCUMENT
        .split_once("## Missed and overlapping due times")
        .unwrap();
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    let rows = rows.map(|line| {
        line.trim_matches('|')
            .split('|')
            .map(str::trim)
            .collect::<Vec<_>>()
    });
    rows.map(|cells| {
        let &[seen, catch_up, max_age, before, overlap, hours, wanted] = cells.as_slice() else {
            panic!("a row has seven cells: {cells:?}");
        };
        Rule {
            seen: seconds(seen),
            is_at_work: before == "at work",
            draft: ScheduleDraft {
                catch_up: Some(catch_up.into()),
                max_age_secs: Some(seconds(max_age)),
                overlap: Some(overlap.into()),
                active_hours: (hours != "all day").then(|| hours.into()),
                ..draft("every 1h")
            },
            wanted,
        }
    })
    .collect()
}

#[tokio::test]
async fn missed_and_overlapping_due_times_are_handled_as_the_table_says() {
    let rules = rules();
    assert!(rules.len() > 10);
    for rule in rules {
        if rule.is_at_work {
            overlapping(&rule).await;
        } else {
            missed(&rule).await;
        }
    }
}

/// No process sees the due time until a scheduler starts.
async fn missed(rule: &Rule<'_>) {
    let runtime = TestRuntimeBuilder::new([]).build();
    let added = add(&runtime, &rule.draft).await;
    pass(&runtime, 3600 + rule.seen);
    let runtime = runtime.reopen(scheduled([say("Done.")])).await;
    quiet(&runtime).await;
    let told = states(&runtime, &added.id).await;
    let last = told.last().map_or("", String::as_str);
    match rule.wanted {
        "fires" => assert_eq!(last, "completed"),
        "fires within 5 min" => {
            assert!(told.is_empty(), "not at once: {told:?}");
            live(&runtime, 310, 10).await;
            let told = states(&runtime, &added.id).await;
            let (last, before) = told.split_last().unwrap();
            assert_eq!(last, "completed");
            let missed = usize::try_from(rule.seen / 3600).unwrap();
            assert_eq!(before, vec!["skipped too_old"; missed]);
        }
        skipped => assert_eq!(last, skipped.replace(':', ""), "{}", rule.seen),
    }
    runtime.close().await;
}

/// The run before is at work when the schedule is due again.
async fn overlapping(rule: &Rule<'_>) {
    let slow = say("Slow.").delay(Duration::from_secs(90_000)).times(9);
    let runtime = scheduled([slow]).build();
    let added = add(&runtime, &rule.draft).await;
    pass(&runtime, 3600);
    wait(|| async { states(&runtime, &added.id).await == ["running"] }).await;
    pass(&runtime, 3600 + rule.seen);
    wait(|| async { history(&runtime, &added.id).await.len() == 2 }).await;
    let told = states(&runtime, &added.id).await;
    if rule.wanted == "waits in its session" {
        assert_eq!(told, ["running", "claimed"]);
        assert_eq!(sessions(&runtime, &added.id).await, 1);
    } else {
        assert_eq!(told[1], rule.wanted.replace(':', ""));
    }
    runtime.close().await;
}

async fn sessions(runtime: &TestRuntime, id: &str) -> usize {
    let mut sessions: Vec<_> = history(runtime, id)
        .await
        .into_iter()
        .map(|one| one.session)
        .collect();
    sessions.dedup();
    sessions.len()
}
