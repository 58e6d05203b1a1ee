//! Ends that are put off, as often as is good; contexts that are left alone for a while.

use rooftree_protocol::{EventBody, RunStatus};
use rooftree_providers::scripted::say;
use rooftree_runtime::hooks::HookPoint;
use serde_json::{Value, json};

use super::{asked, kept, last_read, prints, story_of, with};

#[tokio::test]
async fn a_run_that_wants_to_end_can_be_made_to_go_on_and_reads_why() {
    let once =
        r#"grep -q '"stop_hook_active":true' && exit 0; echo 'run the tests first' >&2; exit 2"#;
    let plan = with(
        [say("done"), say("tests are green")],
        vec![asked(HookPoint::Stop, once)],
    );
    let (runtime, session, story) = story_of(plan).await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(
        (end.status, end.text.as_str()),
        (RunStatus::Completed, "tests are green")
    );
    assert!(
        story.contains("hook     Stop blocks: run the tests first"),
        "{story}"
    );
    let read = last_read(&runtime);
    assert!(
        read.contains("run the tests first") && read.contains("system_message"),
        "{read}"
    );
    runtime.verify().await;
}

#[tokio::test]
async fn an_end_is_not_put_off_for_ever() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let never = format!("cat >> '{}'; echo go on >&2; exit 2", log.display());
    let plan = with(
        [say("done").times(20)],
        vec![asked(HookPoint::Stop, &never)],
    );
    let (runtime, session, story) = story_of(plan).await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!((end.status, end.turns), (RunStatus::Completed, 6));
    assert_eq!(story.matches("Stop blocks").count(), 5);
    assert!(story.contains("notice   hook"), "{story}");
    let active: Vec<Value> = kept(&log)
        .iter()
        .map(|told| told["stop_hook_active"].clone())
        .collect();
    assert_eq!(active, [false, true, true, true, true, true]);
    assert_eq!(kept(&log)[0]["last_assistant_message"], "done");
}

#[tokio::test]
async fn a_run_that_fails_is_told_of_and_not_held() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let hooks = vec![
        asked(HookPoint::StopFailure, &super::keeps(&log)),
        asked(HookPoint::Stop, "exit 2"),
    ];
    let (runtime, session, _) = story_of(with([], hooks)).await;
    assert_eq!(
        runtime.wait_for_run(&session).await.status,
        RunStatus::Failed
    );
    runtime.close().await;
    let told = kept(&log).remove(0);
    assert_eq!(
        (&told["hook_event_name"], &told["error"]),
        (&json!("StopFailure"), &json!("script_exhausted"))
    );
}

/// A conversation that grows until it must be made smaller.
async fn growing(
    hooks: Vec<rooftree_runtime::hooks::ConfiguredHook>,
) -> (rooftree_testkit::TestRuntime, String, usize) {
    let summary = say("Facts: teal.").agent("compaction").matching(".*");
    let long = say("noted").agent("lead").matching(".*");
    let mut plan = with([summary, long], hooks);
    plan.window = Some(2_000);
    let runtime = plan.build();
    let session = runtime.post(&"x".repeat(1_500)).await;
    runtime.wait_for_run(&session).await;
    for number in 2..7 {
        runtime.post_to(&session, &"y".repeat(1_500)).await;
        runtime.wait_for_nth_run(&session, number).await;
    }
    let events = runtime.events(&session).await;
    let shrunk = events
        .iter()
        .filter(|event| matches!(event.body, EventBody::ContextCompacted(_)))
        .count();
    let story = runtime.transcript(&session).await;
    (runtime, story, shrunk)
}

#[tokio::test]
async fn making_a_context_smaller_can_be_put_off_but_the_work_goes_on() {
    let (_, _, usual) = growing(vec![]).await;
    assert!(usual > 0);
    let (_, story, shrunk) = growing(vec![asked(
        HookPoint::PreCompact,
        "echo not yet >&2; exit 2",
    )])
    .await;
    assert!(story.contains("notice   hook"), "{story}");
    assert!(shrunk < usual, "{shrunk} of {usual}");
    assert!(!story.contains("failed"), "{story}");
}

#[tokio::test]
async fn what_was_made_smaller_is_told_with_the_summary_and_can_be_added_to() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let hooks = vec![
        asked(HookPoint::PostCompact, &super::keeps(&log)),
        super::asked_about(
            HookPoint::SessionStart,
            "compact",
            "echo remember the rules",
        ),
    ];
    let (runtime, _, shrunk) = growing(hooks).await;
    assert_eq!(kept(&log).len(), shrunk);
    let told = kept(&log).remove(0);
    assert!(
        told["compact_summary"]
            .as_str()
            .unwrap()
            .contains("Facts: teal."),
        "{told}"
    );
    assert_eq!(told["trigger"], "auto");
    let requests = runtime.model.requests();
    assert!(format!("{:?}", requests.last().unwrap().messages).contains("remember the rules"));
}

#[tokio::test]
async fn saying_that_it_should_end_at_the_end_ends_it_well() {
    let hook = asked(
        HookPoint::Stop,
        &prints(&json!({"continue": false, "decision": "block", "reason": "x"})),
    );
    let (runtime, session, _) = story_of(with([say("done")], vec![hook])).await;
    assert_eq!(
        runtime.wait_for_run(&session).await.status,
        RunStatus::Completed
    );
}
