//! After tools were used: words for the model beside the results, ends, and the todo list.

use rooftree_protocol::{Effect, RunStatus, TodoStatus};
use rooftree_providers::scripted::{call, say};
use rooftree_runtime::hooks::HookPoint;
use rooftree_testkit::ProbeTool;
use rooftree_tools::{BackgroundProcesses, Toolset};
use serde_json::json;

use super::{asked, doing, keeps, kept, last_read, prints, story_of, with};

#[tokio::test]
async fn words_about_a_result_are_read_right_after_all_results() {
    let look = |say: &str| call("Look", json!({ "say": say }));
    let entries = [say("").calls([look("a"), look("b")]), say("done")];
    let feedback =
        r#"read -r line; case "$line" in *'"say":"a"'*) echo 'a is untidy' >&2; exit 2;; esac"#;
    let context = prints(&json!({"hookSpecificOutput": {"additionalContext": "formatted"}}));
    let hooks = vec![
        asked(HookPoint::PostToolUse, feedback),
        asked(HookPoint::PostToolUse, &context),
    ];
    let plan =
        with(entries, hooks).tools(Toolset::new([ProbeTool::open("Look", Effect::ReadOnly)]));
    let (runtime, session, story) = story_of(plan).await;
    assert!(
        story.contains("hook     PostToolUse blocks: a is untidy"),
        "{story}"
    );
    let read = last_read(&runtime);
    let places = ["Results(", "a is untidy", "formatted"].map(|text| read.find(text));
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{places:?} in {read}"
    );
    assert_eq!(
        runtime.wait_for_run(&session).await.status,
        RunStatus::Completed
    );
    runtime.verify().await;
}

#[tokio::test]
async fn what_a_tool_gave_back_is_told_and_so_is_its_failure() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let points = [HookPoint::PostToolUse, HookPoint::PostToolUseFailure];
    let hooks = || points.map(|point| asked(point, &keeps(&log))).to_vec();
    story_of(doing(hooks())).await;
    let told = kept(&log).remove(0);
    assert_eq!(told["hook_event_name"], "PostToolUse");
    assert_eq!(told["tool_response"]["text"], "effect");
    let tools = rooftree_tools::builtin(std::sync::Arc::new(BackgroundProcesses::new(|| 1)));
    let read = call("Read", json!({"file_path": "nothing.txt"}));
    story_of(with([say("").calls([read]), say("oh")], hooks()).tools(tools)).await;
    let told = kept(&log).remove(1);
    assert_eq!(
        (&told["hook_event_name"], &told["tool_name"]),
        (&json!("PostToolUseFailure"), &json!("Read"))
    );
    assert!(!told["error"].as_str().unwrap().is_empty(), "{told}");
}

#[tokio::test]
async fn after_all_calls_of_a_reply_a_hook_can_end_the_run() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let script = format!("{}; echo that is enough >&2; exit 2", keeps(&log));
    let (runtime, session, _) =
        story_of(doing(vec![asked(HookPoint::PostToolBatch, &script)])).await;
    let end = runtime.wait_for_run(&session).await;
    assert!(end.error.unwrap().message.contains("that is enough"));
    assert_eq!(runtime.model.requests().len(), 1);
    assert_eq!(kept(&log)[0]["tool_calls"][0]["tool_name"], "Do");
}

#[tokio::test]
async fn an_item_of_the_todo_list_is_not_ticked_off_before_a_hook_is_content() {
    let tools = rooftree_tools::builtin(std::sync::Arc::new(BackgroundProcesses::new(|| 1)));
    let list = |status: &str| {
        let todos = json!([{"content": "write", "status": status}, {"content": "nap", "status": "pending"}]);
        say("").calls([call("TodoWrite", json!({ "todos": todos }))])
    };
    let hooks = vec![
        asked(
            HookPoint::TaskCompleted,
            "echo 'the tests are red' >&2; exit 2",
        ),
        asked(
            HookPoint::TaskCreated,
            "grep -q nap && { echo 'no naps' >&2; exit 2; }; exit 0",
        ),
    ];
    let entries = [list("in_progress"), list("completed"), say("done")];
    let (runtime, session, story) = story_of(with(entries, hooks).tools(tools)).await;
    let read = last_read(&runtime);
    assert!(
        read.contains("the tests are red") && read.contains("no naps"),
        "{read}"
    );
    let events = runtime.events(&session).await;
    let last = events.iter().rev().find_map(|event| match &event.body {
        rooftree_protocol::EventBody::TodoUpdated { items } => Some(items.clone()),
        _ => None,
    });
    let last = last.unwrap();
    assert_eq!(last.len(), 1, "{last:?}\n{story}");
    assert_eq!(
        (last[0].content.as_str(), last[0].status),
        ("write", TodoStatus::InProgress)
    );
}
