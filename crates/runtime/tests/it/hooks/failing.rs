//! Hooks that fail: where something waits to pass it does not pass; elsewhere the work goes on.

use std::time::Duration;

use rooftree_protocol::{Command, RunStatus};
use rooftree_providers::scripted::say;
use rooftree_runtime::hooks::{ConfiguredHook, HookFailureMode, HookPoint, HookProgram};
use serde_json::json;

use super::{appears, asked, doing, prints, story_of, with};

/// Ways not to answer, and what is said about them.
fn broken() -> Vec<(ConfiguredHook, &'static str)> {
    let exact = HookProgram::exactly("/no/such/program", &[]);
    let shell = |script: &str| HookProgram::shell(script);
    let hook = |program| ConfiguredHook::program(HookPoint::PreToolUse, program);
    vec![
        (hook(exact), "could not be started"),
        (hook(shell("/no/such/program")), "could not be started"),
        (hook(shell("kill -9 $$")), "it crashed (signal 9)"),
        (hook(shell("echo '{ not json'")), "not understood"),
        (
            hook(shell(r#"echo '{"decision": "maybe"}'"#)),
            "not understood",
        ),
        (
            hook(shell("head -c 3000000 /dev/zero | tr '\\0' x")),
            "more than 1 MiB",
        ),
        (hook(shell("yes")), "more than 1 MiB"),
    ]
}

#[tokio::test]
async fn what_cannot_be_asked_or_understood_refuses_before_a_tool_is_used() {
    for (hook, why) in broken() {
        let (_, _, story) = story_of(doing(vec![hook])).await;
        assert!(
            story.contains("tool     Do denied: [denied] the PreToolUse hook"),
            "{why}: {story}"
        );
        assert!(story.contains(why), "{why}: {story}");
    }
}

#[tokio::test]
async fn whoever_says_open_is_told_and_the_call_is_made() {
    for (mut hook, why) in broken() {
        hook.on_failure = HookFailureMode::Open;
        let (_, _, story) = story_of(doing(vec![hook])).await;
        assert!(
            story.contains("tool     Do done") && story.contains("notice   hook"),
            "{why}: {story}"
        );
    }
}

#[tokio::test]
async fn a_program_that_does_not_answer_in_time_refuses_and_is_gone() {
    for point in [HookPoint::PreToolUse, HookPoint::UserPromptSubmit] {
        let place = tempfile::tempdir().unwrap();
        let begun = place.path().join("begun");
        let script = format!(
            "(sleep 600 & echo $! > '{0}.tmp'; mv '{0}.tmp' '{0}'; wait)",
            begun.display()
        );
        let runtime = doing(vec![asked(point, &script)]).build();
        let session = runtime.post("go").await;
        appears(&begun).await;
        runtime.clock.advance(Duration::from_secs(59));
        assert!(
            !runtime.transcript(&session).await.contains("denied"),
            "its minute is not over"
        );
        runtime.clock.advance(Duration::from_secs(2));
        runtime.wait_for_run(&session).await;
        let story = runtime.transcript(&session).await;
        assert!(story.contains("did not answer in time"), "{point}: {story}");
        assert!(!story.contains("Do done"), "{story}");
        is_gone(&begun).await;
    }
}

#[tokio::test]
async fn its_own_time_counts_where_it_says_one() {
    let place = tempfile::tempdir().unwrap();
    let begun = place.path().join("begun");
    let mut hook = asked(
        HookPoint::PreToolUse,
        &format!("touch '{}'; exec sleep 600", begun.display()),
    );
    hook.timeout = Duration::from_secs(5);
    let runtime = doing(vec![hook]).build();
    let session = runtime.post("go").await;
    appears(&begun).await;
    runtime.clock.advance(Duration::from_secs(6));
    runtime.wait_for_run(&session).await;
    assert!(
        runtime
            .transcript(&session)
            .await
            .contains("did not answer in time")
    );
}

#[tokio::test]
async fn a_run_that_is_cancelled_takes_the_program_with_it() {
    let place = tempfile::tempdir().unwrap();
    let begun = place.path().join("begun");
    let script = format!(
        "(sleep 600 & echo $! > '{0}.tmp'; mv '{0}.tmp' '{0}'; wait)",
        begun.display()
    );
    let runtime = doing(vec![asked(HookPoint::PreToolUse, &script)]).build();
    let session = runtime.post("go").await;
    appears(&begun).await;
    runtime
        .command(Command::Cancel {
            session: session.clone(),
            run: None,
        })
        .await;
    assert_eq!(
        runtime.wait_for_run(&session).await.status,
        RunStatus::Cancelled
    );
    let story = runtime.transcript(&session).await;
    assert!(
        story.contains("tool     Do cancelled: [cancelled]"),
        "{story}"
    );
    is_gone(&begun).await;
    runtime.verify().await;
}

/// The program whose number a script has written is no more.
async fn is_gone(file: &std::path::Path) {
    let number: i32 = std::fs::read_to_string(file)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let process = std::path::PathBuf::from(format!("/proc/{number}/cmdline"));
    let gone = async {
        // A dead one that nobody has asked about yet has no command line.
        while std::fs::read(&process).is_ok_and(|line| !line.is_empty()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_program_that_ends_with_an_error_of_its_own_refuses_nothing() {
    for point in [
        HookPoint::PreToolUse,
        HookPoint::PostToolUse,
        HookPoint::UserPromptSubmit,
        HookPoint::Stop,
    ] {
        let (_, _, story) = story_of(doing(vec![asked(point, "echo oh >&2; exit 1")])).await;
        assert!(
            story.contains("tool     Do done") && story.contains("notice   hook"),
            "{point}: {story}"
        );
        assert!(story.contains("ended    completed"), "{point}: {story}");
    }
}

#[tokio::test]
async fn after_the_fact_a_failure_is_told_and_the_work_goes_on() {
    for (mut hook, why) in broken() {
        hook.point = HookPoint::PostToolUse;
        let (_, _, story) = story_of(doing(vec![hook])).await;
        assert!(
            story.contains("notice   hook") && story.contains("ended    completed"),
            "{why}: {story}"
        );
    }
}

#[tokio::test]
async fn plain_words_on_standard_output_mean_nothing_before_a_tool_is_used() {
    let (_, _, story) = story_of(doing(vec![asked(
        HookPoint::PreToolUse,
        "echo all is well",
    )]))
    .await;
    assert!(
        story.contains("tool     Do done") && !story.contains("notice"),
        "{story}"
    );
}

#[tokio::test]
async fn a_program_need_not_read_what_it_is_told() {
    let long = "x".repeat(500_000);
    let plan = with(
        [say("fine")],
        vec![asked(HookPoint::UserPromptSubmit, "exec <&-; exit 0")],
    );
    let runtime = plan.build();
    let session = runtime.post(&long).await;
    assert_eq!(runtime.wait_for_run(&session).await.text, "fine");
}

#[tokio::test]
async fn what_people_should_know_is_a_notice() {
    let hook = asked(
        HookPoint::PostToolUse,
        &prints(&json!({"systemMessage": "mind the gap"})),
    );
    let (runtime, session, _) = story_of(doing(vec![hook])).await;
    let events = format!("{:?}", runtime.events(&session).await);
    assert!(events.contains("mind the gap"));
    assert!(
        !super::last_read(&runtime).contains("mind the gap"),
        "it is for people"
    );
}
