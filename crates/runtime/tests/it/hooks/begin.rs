//! Prompts and beginnings: refused, added to, asked about again after a crash.

use rooftree_protocol::{Command, EventBody, RunStatus};
use rooftree_providers::scripted::say;
use rooftree_runtime::hooks::HookPoint;
use serde_json::json;

use super::{appears, asked, keeps, kept, last_read, prints, story_of, with};

#[tokio::test]
async fn a_prompt_is_refused_with_the_reason_and_no_model_reads_it() {
    let guard = "grep -q secret && { echo 'no secrets here' >&2; exit 2; }; exit 0";
    let runtime = with(
        [say("hello")],
        vec![asked(HookPoint::UserPromptSubmit, guard)],
    )
    .build();
    let session = runtime.post("the secret is 42").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(end.status, RunStatus::Failed);
    assert!(end.error.unwrap().message.contains("no secrets here"));
    assert!(runtime.model.requests().is_empty(), "the model was asked");
    runtime.post_to(&session, "what is the weather").await;
    assert_eq!(runtime.wait_for_nth_run(&session, 2).await.text, "hello");
    assert!(
        !last_read(&runtime).contains("42"),
        "what was refused is read later"
    );
    runtime.verify().await;
}

#[tokio::test]
async fn what_is_said_during_a_run_is_judged_too_and_the_run_goes_on_without_it() {
    use rooftree_protocol::Effect;
    use rooftree_providers::scripted::call;
    use rooftree_testkit::ProbeTool;
    let (look, keeper) = ProbeTool::gated("Look", Effect::ReadOnly);
    let guard = "grep -q secret && { echo no >&2; exit 2; }; exit 0";
    let entries = [say("").calls([call("Look", json!({}))]), say("done")];
    let plan = with(entries, vec![asked(HookPoint::UserPromptSubmit, guard)]);
    let runtime = plan.tools(rooftree_tools::Toolset::new([look])).build();
    let session = runtime.post("go").await;
    runtime.wait_for_event(&session, "tool.started").await;
    runtime.steer(&session, "the secret is 42").await;
    keeper.open(1);
    assert_eq!(runtime.wait_for_run(&session).await.text, "done");
    let story = runtime.transcript(&session).await;
    assert!(
        story.contains("hook     UserPromptSubmit blocks: no"),
        "{story}"
    );
    assert!(!last_read(&runtime).contains("42"));
}

#[tokio::test]
async fn context_is_added_to_a_prompt_as_words_or_as_json() {
    let json = prints(&json!({"hookSpecificOutput": {
        "hookEventName": "UserPromptSubmit", "additionalContext": "the branch is <main>",
    }}));
    let hooks = vec![
        asked(HookPoint::UserPromptSubmit, "echo it is Monday"),
        asked(HookPoint::UserPromptSubmit, &json),
    ];
    let (runtime, session, story) = story_of(with([say("hello")], hooks)).await;
    let read = last_read(&runtime);
    assert!(
        read.contains("it is Monday") && read.contains("the branch is &lt;main&gt;"),
        "{read}"
    );
    assert!(
        read.contains("system_message") && read.find("\"go\"") < read.find("it is Monday"),
        "{read}"
    );
    assert!(
        story.contains("hook     UserPromptSubmit: it is Monday"),
        "{story}"
    );
    assert_eq!(runtime.wait_for_run(&session).await.turns, 1);
}

#[tokio::test]
async fn a_session_begins_once_in_a_process_and_anew_when_it_is_cleared() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let hooks = || {
        let tell = format!("tee -a '{}' >/dev/null; echo be kind", log.display());
        vec![
            asked(HookPoint::SessionStart, &tell),
            asked(HookPoint::SessionEnd, &keeps(&log)),
        ]
    };
    let plan = || with([say("hello").times(9)], hooks());
    let runtime = plan().build();
    let session = runtime.post("one").await;
    runtime.wait_for_run(&session).await;
    assert!(last_read(&runtime).contains("be kind"));
    runtime.post_to(&session, "two").await;
    runtime.wait_for_nth_run(&session, 2).await;
    runtime
        .command(Command::Clear {
            session: session.clone(),
            unless_busy: false,
        })
        .await;
    runtime.wait_for_event(&session, "session.cleared").await;
    runtime.post_to(&session, "three").await;
    runtime.wait_for_nth_run(&session, 3).await;
    let runtime = runtime.reopen(plan()).await;
    runtime.post_to(&session, "four").await;
    runtime.wait_for_nth_run(&session, 4).await;
    runtime.close().await;
    let mut told: Vec<String> = kept(&log)
        .iter()
        .map(|told| {
            let why = told["source"].as_str().or(told["reason"].as_str()).unwrap();
            format!("{} {why}", told["hook_event_name"].as_str().unwrap())
        })
        .collect();
    // What is told in background may come a little later.
    told.sort();
    let wanted = [
        "SessionEnd clear",
        "SessionEnd other",
        "SessionEnd other",
        "SessionStart clear",
        "SessionStart resume",
        "SessionStart startup",
    ];
    assert_eq!(told, wanted);
}

#[tokio::test]
async fn a_prompt_is_asked_about_again_after_a_crash_and_what_was_added_is_there_once() {
    let place = tempfile::tempdir().unwrap();
    let (begun, go) = (place.path().join("begun"), place.path().join("go"));
    let script = format!(
        "touch '{}'; while [ ! -e '{}' ]; do sleep 0.01; done; echo it is Monday",
        begun.display(),
        go.display()
    );
    let mut hook = asked(HookPoint::UserPromptSubmit, &script);
    // A crash turns the clock by a minute, which is not what this is about.
    hook.timeout = std::time::Duration::from_secs(3_600);
    let plan = || with([say("hello").times(9)], vec![hook.clone()]);
    let runtime = plan().build();
    let session = runtime.post("one").await;
    appears(&begun).await;
    std::fs::remove_file(&begun).unwrap();
    let runtime = runtime.crash(plan()).await;
    runtime.recover().await;
    appears(&begun).await;
    std::fs::write(&go, "").unwrap();
    assert_eq!(runtime.wait_for_run(&session).await.text, "hello");
    let story = runtime.transcript(&session).await;
    assert_eq!(story.matches("it is Monday").count(), 1, "{story}");
    assert_eq!(last_read(&runtime).matches("it is Monday").count(), 1);
    runtime.verify().await;
}

#[tokio::test]
async fn the_same_conversation_is_read_live_and_replayed() {
    let hooks = || {
        vec![asked(
            HookPoint::UserPromptSubmit,
            "echo it is $(date +%s%N)",
        )]
    };
    let runtime = with([say("hello").times(9)], hooks()).build();
    let session = runtime.post("one").await;
    runtime.wait_for_run(&session).await;
    let first = last_read(&runtime);
    let first = first.trim_end_matches(']').to_owned();
    let runtime = runtime.reopen(with([say("hello").times(9)], hooks())).await;
    runtime.post_to(&session, "two").await;
    runtime.wait_for_nth_run(&session, 2).await;
    let second = last_read(&runtime);
    assert!(second.starts_with(&first), "{first}\n{second}");
    let said = runtime.events(&session).await;
    assert_eq!(
        said.iter()
            .filter(|event| matches!(event.body, EventBody::HookSaid(_)))
            .count(),
        2
    );
}

#[tokio::test]
async fn a_hook_that_is_asked_once_is_asked_once_in_a_session() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let mut hook = asked(HookPoint::UserPromptSubmit, &keeps(&log));
    hook.once = Some(Default::default());
    let runtime = with([say("hello").times(9)], vec![hook]).build();
    let session = runtime.post("one").await;
    runtime.wait_for_run(&session).await;
    runtime.post_to(&session, "two").await;
    runtime.wait_for_nth_run(&session, 2).await;
    assert_eq!(kept(&log).len(), 1);
    let other = runtime.post("three").await;
    runtime.wait_for_run(&other).await;
    assert_eq!(kept(&log).len(), 2);
}

#[tokio::test]
async fn a_hook_in_background_says_nothing_with_an_effect() {
    use rooftree_runtime::hooks::HookWait;
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let mut hook = asked(
        HookPoint::UserPromptSubmit,
        &format!("{}; exit 2", keeps(&log)),
    );
    hook.wait = HookWait::Background;
    let (runtime, session, _) = story_of(with([say("hello")], vec![hook])).await;
    assert_eq!(runtime.wait_for_run(&session).await.text, "hello");
    runtime.close().await;
    assert_eq!(kept(&log).len(), 1, "a runtime that stops waits for it");
}
