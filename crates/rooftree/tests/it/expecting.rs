//! `assert_events!`: what it lets pass, and what it says when it does not.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rooftree::{
    Event, EventBody, RunStatus, Runtime,
    testing::{assert_events, call, say},
};
use serde_json::json;

use crate::fixture::{helper, script, scripted, task};

/// A lead that looks, has a helper asked, and is done.
async fn story() -> Vec<Event> {
    let entries = [
        say("Let me look.")
            .calls([call("Glob", json!({"pattern": "*.none"}))])
            .agent("lead"),
        say("").calls([task("helper", "Help me")]).agent("lead"),
        say("Done.").agent("lead"),
        say("Here is help.").agent("helper"),
    ];
    scripted("Go", entries)
        .agent(helper())
        .stream()
        .all()
        .await
        .unwrap()
}

/// What a test that fails says.
fn said(test: impl FnOnce()) -> String {
    let panicked = catch_unwind(AssertUnwindSafe(test)).unwrap_err();
    panicked.downcast_ref::<String>().unwrap().clone()
}

#[tokio::test]
async fn events_come_in_order_and_others_may_lie_between() {
    let events = story().await;
    let helped = "help";
    assert_events!(events, []);
    assert_events!(&events, [
        RunStarted { depth: 0, .. } in "lead",
        ToolStarted { tool, .. } if tool == "Glob",
        RunStarted { depth: 1, .. } in "helper",
        MessageCompleted(reply) in "helper" if reply.text.contains(helped),
        ToolCompleted(record) if record.tool == "Task",
        EventBody::RunCompleted(end) in "lead" if end.status == RunStatus::Completed,
    ]);
    assert_events!(
        events.as_slice(),
        [ToolStarted { .. } | ToolCompleted(_), RunCompleted(_)],
    );
}

#[tokio::test]
async fn nothing_else_of_a_kind_is_said_with_only_and_everything_with_a_wildcard() {
    let events = story().await;
    assert_events!(
        events,
        [ToolStarted { tool, .. } if tool == "Glob", ToolStarted { tool, .. } if tool == "Task"],
        only ToolStarted { .. },
        only Notice { .. },
        only RunCompleted(_) in "nobody",
    );
    assert_events!(events, [], only ToolStarted { tool, .. } if tool == "Bash");
    let helpers: Vec<Event> = events
        .iter()
        .filter(|event| event.agent == "helper")
        .cloned()
        .collect();
    assert_events!(helpers, [
        SessionOpened { .. },
        RunStarted { .. },
        MessageUser { .. },
        MessageCompleted(_),
        RunCompleted(_),
    ], only _);
    let more = said(|| {
        assert_events!(events, [ToolStarted { tool, .. } if tool == "Glob"], only ToolStarted { .. });
    });
    assert!(
        more.contains("↑ not expected, because of `only ToolStarted { .. }`"),
        "{more}"
    );
    assert!(
        more.contains("lead       tool.started         {\"call\":"),
        "{more}"
    );
    let first = said(|| assert_events!(helpers, [RunStarted { .. }], only _));
    assert!(
        first.contains("came:\n   ·  helper     session.opened"),
        "{first}"
    );
}

#[tokio::test]
async fn a_failure_shows_both_sides_and_where_they_part() {
    let events = story().await;
    let swapped = said(|| {
        assert_events!(events, [
            ToolStarted { tool, .. } if tool == "Task",
            ToolStarted { tool, .. } if tool == "Glob",
            RunCompleted(_) in "lead",
        ]);
    });
    let expected = "events do not come as expected\n\nexpected:\n\
        ✓  1  ToolStarted { tool, .. } if tool == \"Task\"\n\
        ✗  2  ToolStarted { tool, .. } if tool == \"Glob\"\n   \
        3  RunCompleted(_) in \"lead\"\n\ncame:\n";
    assert!(swapped.starts_with(expected), "{swapped}");
    let lines: Vec<&str> = swapped.lines().collect();
    let parts = lines
        .iter()
        .position(|line| *line == "✗ step 2 is not among what follows:")
        .unwrap();
    assert!(
        lines[parts - 1].starts_with("   1  lead       tool.started"),
        "{swapped}"
    );
    let nothing = said(|| assert_events!(events, [RunCompleted(_) in "lead", RunStarted { .. }]));
    assert!(
        nothing.ends_with("✗ step 2 is not among them: nothing follows\n"),
        "{nothing}"
    );
    let wrong_agent = said(|| assert_events!(events, [RunStarted { .. } in "nobody"]));
    assert!(
        wrong_agent.contains("✗  1  RunStarted { .. } in \"nobody\""),
        "{wrong_agent}"
    );
}

#[tokio::test]
async fn the_journal_of_a_session_is_looked_at_too() {
    let runtime = Runtime::builder().provider("scripted", script([say("One."), say("Two.")]));
    let runtime = runtime.build().await.unwrap();
    let session = runtime.session("lead").create().await.unwrap();
    let run = session.send("1").await.unwrap();
    assert_events!(run.all().await.unwrap(), [RunStarted { .. }, RunCompleted(_)], only RunStarted { .. });
    session.send("2").await.unwrap().result().await.unwrap();
    let kept = runtime
        .events()
        .session(session.id())
        .stored()
        .await
        .unwrap();
    assert_events!(
        kept,
        [
            RunCompleted(end) if end.text == "One.",
            RunStarted { .. },
            RunCompleted(end) if end.text == "Two.",
        ]
    );
    let later = runtime
        .events()
        .session(session.id())
        .since(2)
        .stored()
        .await
        .unwrap();
    assert_eq!(later.len(), kept.len() - 2);
    runtime.stop().await;
}
