//! Hooks before a tool call: they narrow, and what goes wrong in them refuses.

use std::{sync::Arc, time::Duration};

use rooftree::{
    Decision, Hook, HookAnswer, HookPoint, HookVerdict, PermissionMode, Query, RunOutcome,
    SubagentStop, ToolUse, ToolUsed,
    testing::{FakeClock, call, say},
};
use serde_json::json;

use crate::fixture::{Notes, helper, scripted, task};

/// A query that writes a file and then says what came of it.
fn writing() -> Query {
    let write = call("Write", json!({"file_path": "note.txt", "content": "hi"}));
    scripted(
        "Write it",
        [say("").calls([write]), say("{{ results[0].text }}")],
    )
}

/// Works in a directory of its own; says what came of it and whether the file is there.
async fn done(query: Query) -> (RunOutcome, bool) {
    let place = tempfile::tempdir().unwrap();
    let outcome = query.cwd(place.path()).await.unwrap();
    (outcome, place.path().join("note.txt").exists())
}

#[tokio::test]
async fn a_hook_sees_every_call_and_can_let_it_pass() {
    let notes = Notes::default();
    let seen = notes.clone();
    let query = writing()
        .permission_mode(PermissionMode::AcceptEdits)
        .before_tool(move |about| {
            seen.take(format!("{} {} {}", about.agent, about.tool, about.input));
            async { HookVerdict::Allow }
        });
    let (_, is_there) = done(query).await;
    assert!(is_there);
    assert_eq!(notes.read().len(), 1, "each call is asked about once");
    assert!(
        notes
            .read()
            .concat()
            .starts_with("lead Write {\"file_path\":"),
        "{:?}",
        notes.read()
    );
}

#[tokio::test]
async fn a_hook_refuses_in_words_the_model_reads_whatever_the_mode() {
    let query = writing()
        .permission_mode(PermissionMode::Bypass)
        .before_tool(async |_| HookVerdict::Allow)
        .before_tool(async |about| match about.tool.as_str() {
            "Write" => HookVerdict::deny("no notes on Sundays"),
            _ => HookVerdict::Allow,
        });
    let (outcome, is_there) = done(query).await;
    assert!(!is_there);
    assert!(
        outcome.text.contains("no notes on Sundays"),
        "{}",
        outcome.text
    );
    assert_eq!(outcome.denials.len(), 1);
}

#[tokio::test]
async fn a_hook_never_allows_what_is_refused_otherwise() {
    let query = writing()
        .permission_mode(PermissionMode::Bypass)
        .deny("Write(**)")
        .before_tool(async |_| HookVerdict::Allow);
    let (outcome, is_there) = done(query).await;
    assert!(
        !is_there && outcome.text.contains("deny rule"),
        "{}",
        outcome.text
    );
}

#[tokio::test]
async fn a_hook_that_asks_turns_a_yes_into_a_question() {
    let asking = || {
        writing()
            .permission_mode(PermissionMode::Bypass)
            .before_tool(async |_| HookVerdict::Ask)
    };
    let (outcome, is_there) = done(asking()).await;
    assert!(
        !is_there && outcome.text.contains("no user can be asked"),
        "{}",
        outcome.text
    );
    let (_, is_there) = done(asking().approve(async |_| Decision::allow())).await;
    assert!(is_there);
}

#[tokio::test]
async fn a_hook_that_crashes_refuses() {
    let query = writing()
        .permission_mode(PermissionMode::Bypass)
        .before_tool(async |_| -> HookVerdict { panic!("oh") });
    let (outcome, is_there) = done(query).await;
    assert!(
        !is_there && outcome.text.contains("a hook crashed"),
        "{}",
        outcome.text
    );
}

#[tokio::test]
async fn a_hook_that_does_not_answer_refuses() {
    let clock = Arc::new(FakeClock::seeded(1));
    let turned = clock.clone();
    let query = writing()
        .permission_mode(PermissionMode::Bypass)
        .clock(clock)
        .before_tool(move |_| {
            // The hook's timeout starts now; another task advances the clock while it works.
            let turned = turned.clone();
            tokio::spawn(async move {
                loop {
                    turned.advance(Duration::from_secs(31));
                    tokio::task::yield_now().await;
                }
            });
            std::future::pending()
        });
    let place = tempfile::tempdir().unwrap();
    let outcome = query.cwd(place.path()).await.unwrap();
    assert!(
        outcome.text.contains("did not answer in time"),
        "{}",
        outcome.text
    );
}

#[tokio::test]
async fn calls_of_sub_agents_are_asked_about_too() {
    let write = call("Write", json!({"file_path": "note.txt", "content": "hi"}));
    let entries = [
        say("").calls([task("helper", "Write it")]).agent("lead"),
        say("{{ results[0].text }}").agent("lead"),
        say("").calls([write]).agent("helper"),
        say("{{ results[0].text }}").agent("helper"),
    ];
    let query = scripted("Go", entries)
        .agent(helper())
        .permission_mode(PermissionMode::Bypass);
    let query = query.before_tool(async |about| match about.depth {
        0 => HookVerdict::Allow,
        _ => HookVerdict::deny("not you"),
    });
    let (outcome, is_there) = done(query).await;
    assert!(
        !is_there && outcome.text.contains("not you"),
        "{}",
        outcome.text
    );
}

#[tokio::test]
async fn calls_that_may_run_at_the_same_time_are_each_asked_about_once() {
    let look = |pattern: &str| call("Glob", json!({"pattern": pattern}));
    let entries = [
        say("").calls([look("a"), look("b"), look("c"), look("d")]),
        say("{{ results | length }}"),
    ];
    let notes = Notes::default();
    let seen = notes.clone();
    let query = scripted("Look", entries).before_tool(move |about| {
        let pattern = about
            .input
            .get("pattern")
            .and_then(|pattern| pattern.as_str())
            .unwrap_or_default()
            .to_owned();
        seen.take(pattern.clone());
        async move {
            if pattern == "c" {
                HookVerdict::deny("not c")
            } else {
                HookVerdict::Allow
            }
        }
    });
    let outcome = query.await.unwrap();
    assert_eq!(outcome.text, "4");
    assert_eq!(outcome.denials.len(), 1);
    assert_eq!(notes.read(), ["a", "b", "c", "d"]);
}

#[tokio::test]
async fn a_function_is_asked_at_any_point_like_a_program() {
    let notes = Notes::default();
    let place = tempfile::tempdir().unwrap();
    let write = call("Write", json!({"file_path": "note.txt", "content": "hi"}));
    let entries = [say("").calls([write]), say("done"), say("done again")];
    let query = scripted("Write it", entries);
    let (before, after) = (notes.clone(), notes.clone());
    let outcome = query
        .cwd(place.path())
        .permission_mode(PermissionMode::AcceptEdits)
        .hook_at(HookPoint::PreToolUse, move |about| {
            before.take(format!("{} {}", about.point, about.input()["tool_name"]));
            async { HookAnswer::rewrite(json!({"file_path": "note.txt", "content": "rewritten"})) }
        })
        .hook_at(HookPoint::Stop, move |about| {
            let is_first = about.input()["stop_hook_active"] == false;
            after.take(format!("{} {is_first}", about.point));
            async move {
                if is_first {
                    HookAnswer::deny("once more")
                } else {
                    HookAnswer::default()
                }
            }
        })
        .await
        .unwrap();
    assert_eq!(outcome.text, "done again");
    assert_eq!(
        notes.read(),
        ["PreToolUse \"Write\"", "Stop true", "Stop false"]
    );
    assert_eq!(
        std::fs::read_to_string(place.path().join("note.txt")).unwrap(),
        "rewritten"
    );
}

/// Writes down what happens, and lets the helper use nothing.
struct Audit(Notes);

impl Hook for Audit {
    async fn before_tool(&self, about: ToolUse) -> HookVerdict {
        if about.agent == "helper" {
            HookVerdict::deny("not you")
        } else {
            HookVerdict::Allow
        }
    }

    async fn after_tool(&self, news: ToolUsed) {
        self.0
            .take(format!("{} used {}", news.agent, news.record.tool));
    }

    async fn subagent_stopped(&self, news: SubagentStop) {
        self.0
            .take(format!("{} said {}", news.agent, news.end.text));
    }
}

/// Has nothing to say.
struct Silent;

impl Hook for Silent {}

#[tokio::test]
async fn somebody_is_asked_and_told_as_one_and_leaves_out_what_does_not_matter() {
    let entries = [
        say("").calls([task("helper", "Look")]).agent("lead"),
        say("Done.").agent("lead"),
        say("")
            .calls([call("Glob", json!({"pattern": "*.none"}))])
            .agent("helper"),
        say("{{ results[0].text }}").agent("helper"),
    ];
    let notes = Notes::default();
    let query = scripted("Go", entries)
        .agent(helper())
        .hook(Silent)
        .hook(Audit(notes.clone()));
    query.await.unwrap();
    let notes = notes.read();
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert_eq!(notes[0], "helper used Glob");
    assert!(
        notes[1].starts_with("helper said ") && notes[1].contains("not you"),
        "{notes:?}"
    );
    assert_eq!(notes[2], "lead used Task");
}

#[tokio::test]
async fn a_function_that_crashes_refuses_the_prompt() {
    let query = scripted("Hello", [say("hi")]);
    let query = query.hook_at(HookPoint::UserPromptSubmit, async |_| -> HookAnswer {
        panic!("oh")
    });
    let outcome = query.await;
    let told = format!("{outcome:?}");
    assert!(
        told.contains("a hook refused the message") && told.contains("crashed"),
        "{told}"
    );
}
