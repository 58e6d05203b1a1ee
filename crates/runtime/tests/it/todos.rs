//! Todo lists: per session, shown to the model only when they change, kept over a restart.

use rooftree_providers::scripted::{call, say};
use rooftree_testkit::TestRuntimeBuilder;
use serde_json::json;

fn tools() -> rooftree_tools::Toolset {
    rooftree_tools::builtin(std::sync::Arc::new(
        rooftree_tools::BackgroundProcesses::new(|| 7),
    ))
}

#[tokio::test]
async fn the_todo_state_is_appended_only_when_the_list_changed() {
    let list = || json!({"todos": [{"content": "look", "status": "completed"}, {"content": "mend", "status": "in_progress"}]});
    let write = || say("").calls([call("TodoWrite", list())]);
    let runtime = TestRuntimeBuilder::new([write(), write(), say("done")])
        .tools(tools())
        .build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let results: Vec<String> = runtime
        .events(&session)
        .await
        .into_iter()
        .filter_map(|event| match event.body {
            rooftree_protocol::EventBody::ToolCompleted(record) => {
                Some(rooftree_protocol::message::text_of(&record.content))
            }
            _ => None,
        })
        .collect();
    assert!(
        results[0].contains("<todo-state>")
            && results[0].contains("✅")
            && results[0].contains("🔄"),
        "{results:?}"
    );
    assert!(
        !results[1].contains("<todo-state>") && results[1].contains("unchanged"),
        "{results:?}"
    );
    assert_eq!(
        runtime
            .transcript(&session)
            .await
            .matches("todos    2")
            .count(),
        1
    );

    let runtime = runtime
        .reopen(
            TestRuntimeBuilder::new([write().turn(4), say("still the same").turn(5)])
                .tools(tools()),
        )
        .await;
    runtime.post_to(&session, "and now?").await;
    runtime.wait_for_nth_run(&session, 2).await;
    assert_eq!(
        runtime
            .transcript(&session)
            .await
            .matches("todos    2")
            .count(),
        1,
        "the list survived the restart"
    );
}

#[tokio::test]
async fn two_changes_in_one_reply_build_on_each_other() {
    let add = |what: &str| call("write_todo", json!({"title": what}));
    let runtime = TestRuntimeBuilder::new([say("").calls([add("one"), add("two")]), say("done")])
        .tools(tools())
        .build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    assert!(
        runtime.transcript(&session).await.contains("todos    2"),
        "{}",
        runtime.transcript(&session).await
    );
}
