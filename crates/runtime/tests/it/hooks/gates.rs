//! Before a tool is used: refusing, rewriting, asking, and never allowing what is refused.

use rooftree_protocol::{DefinitionLevel, Effect, EventBody, PermissionMode};
use rooftree_providers::scripted::{call, say};
use rooftree_runtime::hooks::{ConfiguredHook, HookPoint};
use rooftree_testkit::TestRuntimeBuilder;
use rooftree_tools::{BackgroundProcesses, PermissionRule, Toolset};
use serde_json::{Value, json};

use super::{asked, asked_about, doing, keeps, kept, prints, story_of, with};

fn decides(decision: &str, more: Value) -> String {
    let mut specific = json!({"hookEventName": "PreToolUse", "permissionDecision": decision});
    if let (Value::Object(specific), Value::Object(more)) = (&mut specific, more) {
        specific.extend(more);
    }
    prints(&json!({ "hookSpecificOutput": specific }))
}

fn rewrites(input: Value) -> String {
    prints(&json!({"hookSpecificOutput": {"updatedInput": input}}))
}

/// A model that writes a file with the real tool.
fn writing(path: &str, hooks: Vec<ConfiguredHook>) -> TestRuntimeBuilder {
    let write = call("Write", json!({"file_path": path, "content": "hi"}));
    let tools = rooftree_tools::builtin(std::sync::Arc::new(BackgroundProcesses::new(|| 1)));
    with(
        [say("").calls([write]), say("{{ results[0].text }}")],
        hooks,
    )
    .tools(tools)
}

#[tokio::test]
async fn exit_code_two_refuses_with_what_was_written_to_standard_error() {
    let hook = asked(
        HookPoint::PreToolUse,
        "cat >/dev/null; echo 'not on Sundays' >&2; exit 2",
    );
    let (runtime, session, story) = story_of(doing(vec![hook])).await;
    assert!(
        story.contains("tool     Do denied: [denied] not on Sundays"),
        "{story}"
    );
    assert_eq!(runtime.wait_for_run(&session).await.denials.len(), 1);
    runtime.verify().await;
}

#[tokio::test]
async fn a_denial_in_json_refuses_in_every_mode_and_later_hooks_are_not_asked() {
    let place = tempfile::tempdir().unwrap();
    let canary = place.path().join("canary");
    let no = asked(
        HookPoint::PreToolUse,
        &decides("deny", json!({"permissionDecisionReason": "no"})),
    );
    let later = asked(HookPoint::PreToolUse, &keeps(&canary));
    let (_, _, story) = story_of(doing(vec![no, later])).await;
    assert!(story.contains("tool     Do denied: [denied] no"), "{story}");
    assert!(!canary.exists());
}

#[tokio::test]
async fn a_hook_is_asked_only_about_what_it_names() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let mut ruled = asked(HookPoint::PreToolUse, "exit 2");
    ruled.condition = Some(PermissionRule::parse("Write").unwrap());
    let hooks = vec![
        asked_about(HookPoint::PreToolUse, "Bash|Write", "exit 2"),
        asked_about(HookPoint::PreToolUse, "^D.$", &keeps(&log)),
        ruled,
    ];
    let (runtime, session, story) = story_of(doing(hooks)).await;
    assert!(story.contains("tool     Do done: effect"), "{story}");
    let input = kept(&log).remove(0);
    assert_eq!(input["hook_event_name"], "PreToolUse");
    assert_eq!(
        (&input["tool_name"], &input["tool_input"]),
        (&json!("Do"), &json!({"say": "effect"}))
    );
    assert_eq!(
        (&input["session_id"], &input["cwd"]),
        (&json!(session), &json!(runtime.path()))
    );
    assert_eq!(
        (&input["permission_mode"], &input["agent_id"]),
        (&json!("bypassPermissions"), &Value::Null)
    );
    assert!(
        input["tool_use_id"].as_str().unwrap().starts_with("call_"),
        "{input}"
    );
}

#[tokio::test]
async fn rewritten_arguments_are_what_is_made_and_the_journal_shows_both() {
    let hook = asked(
        HookPoint::PreToolUse,
        &rewrites(json!({"say": "something else"})),
    );
    let (runtime, session, story) = story_of(doing(vec![hook])).await;
    assert!(
        story.contains(r#"model    Do {"say":"effect"}"#),
        "what the model asked for: {story}"
    );
    assert!(
        story.contains("tool     Do done: something else"),
        "{story}"
    );
    let events = runtime.events(&session).await;
    let intent = events.iter().find_map(|event| match &event.body {
        EventBody::ToolStarted {
            input, permitted, ..
        } => Some((input.clone(), permitted.clone())),
        _ => None,
    });
    let (input, permitted) = intent.unwrap();
    assert_eq!(input, json!({"say": "something else"}));
    assert!(permitted.contains("a hook has rewritten it"), "{permitted}");
}

#[tokio::test]
async fn rewritten_arguments_are_checked_as_if_the_model_had_written_them() {
    let secret = |path: &str| rewrites(json!({"file_path": path, "content": "hi"}));
    let mut plan = writing(
        "note.txt",
        vec![asked(HookPoint::PreToolUse, &secret("private/note.txt"))],
    );
    plan.rights.policy.deny = vec![PermissionRule::parse("Write(private/**)").unwrap()];
    let (runtime, _, story) = story_of(plan).await;
    assert!(
        story.contains("Write denied: [denied] the deny rule"),
        "{story}"
    );
    assert!(!runtime.path().join("private").exists() && !runtime.path().join("note.txt").exists());

    let broken = rewrites(json!({"file_path": 7}));
    let (runtime, _, story) = story_of(writing(
        "note.txt",
        vec![asked(HookPoint::PreToolUse, &broken)],
    ))
    .await;
    assert!(story.contains("Write failed:"), "{story}");
    assert!(!runtime.path().join("note.txt").exists());

    let mut plan = writing(
        "note.txt",
        vec![asked(HookPoint::PreToolUse, &secret("/elsewhere/note.txt"))],
    );
    plan.rights.policy.mode = PermissionMode::AcceptEdits;
    let (_, _, story) = story_of(plan).await;
    assert!(story.contains("outside the working directory"), "{story}");
}

#[tokio::test]
async fn a_later_hook_is_asked_about_what_an_earlier_one_made_of_the_call() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let hooks = vec![
        asked(HookPoint::PreToolUse, &rewrites(json!({"say": "else"}))),
        asked(HookPoint::PreToolUse, &keeps(&log)),
    ];
    story_of(doing(hooks)).await;
    assert_eq!(kept(&log)[0]["tool_input"], json!({"say": "else"}));
}

#[tokio::test]
async fn a_yes_counts_where_only_the_mode_asks() {
    let yes = || asked(HookPoint::PreToolUse, &decides("allow", json!({})));
    let mut plan = doing(vec![yes()]);
    plan.rights.policy.mode = PermissionMode::Ask;
    let (_, _, story) = story_of(plan).await;
    assert!(story.contains("tool     Do done: effect"), "{story}");
    for (ask, deny) in [("Do", None), ("*", None), ("Other", Some("Do"))] {
        let mut plan = doing(vec![yes()]);
        plan.rights.policy.mode = PermissionMode::Ask;
        plan.rights.policy.ask = vec![PermissionRule::parse(ask).unwrap()];
        plan.rights.policy.deny = deny
            .into_iter()
            .map(|deny| PermissionRule::parse(deny).unwrap())
            .collect();
        let (_, _, story) = story_of(plan).await;
        assert!(
            story.contains("tool     Do denied"),
            "ask {ask}, deny {deny:?}: {story}"
        );
    }
    let mut plan = doing(vec![yes()]);
    plan.rights.policy.mode = PermissionMode::Plan;
    let (_, _, story) = story_of(plan).await;
    assert!(
        story.contains("tool     Do denied: [denied] plan mode only looks"),
        "{story}"
    );
}

#[tokio::test]
async fn a_projects_hook_cannot_say_yes_and_a_no_beats_a_yes() {
    let yes = |level: DefinitionLevel, point: HookPoint| {
        let script = match point {
            HookPoint::PreToolUse => decides("allow", json!({})),
            _ => prints(&json!({"hookSpecificOutput": {"decision": {"behavior": "allow"}}})),
        };
        let mut hook = asked(point, &script);
        hook.level = level;
        hook
    };
    for point in [HookPoint::PreToolUse, HookPoint::PermissionRequest] {
        for (level, done) in [
            (DefinitionLevel::Project, false),
            (DefinitionLevel::User, true),
        ] {
            let mut plan = doing(vec![yes(level, point)]);
            plan.rights.policy.mode = PermissionMode::Ask;
            let (_, _, story) = story_of(plan).await;
            assert_eq!(
                story.contains("tool     Do done"),
                done,
                "{point} {level:?}: {story}"
            );
        }
    }
    let no = asked(HookPoint::PreToolUse, "exit 2");
    let mut plan = doing(vec![yes(DefinitionLevel::User, HookPoint::PreToolUse), no]);
    plan.rights.policy.mode = PermissionMode::Ask;
    let (_, _, story) = story_of(plan).await;
    assert!(story.contains("tool     Do denied"), "{story}");
}

#[tokio::test]
async fn a_hook_can_have_a_person_asked_and_no_other_hook_answers_for_them() {
    let wants = decides("ask", json!({"permissionDecisionReason": "it is late"}));
    let yes = prints(&json!({"hookSpecificOutput": {"decision": {"behavior": "allow"}}}));
    for hooks in [
        vec![asked(HookPoint::PreToolUse, &wants)],
        vec![
            asked(HookPoint::PreToolUse, &wants),
            asked(HookPoint::PermissionRequest, &yes),
        ],
    ] {
        let (_, _, story) = story_of(doing(hooks)).await;
        assert!(
            story.contains("Do denied: [auto-rejected: no user can be asked] a hook requires"),
            "{story}"
        );
        assert!(story.contains("it is late"), "{story}");
    }
}

#[tokio::test]
async fn a_question_can_be_answered_with_no_in_place_of_a_person() {
    let no = json!({"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "never"}}});
    let plan =
        doing(vec![asked(HookPoint::PermissionRequest, &prints(&no))]).asking(PermissionMode::Ask);
    let (_, _, story) = story_of(plan).await;
    assert!(
        story.contains("tool     Do denied: [denied] never") && !story.contains("asks "),
        "{story}"
    );
}

#[tokio::test]
async fn a_hook_can_end_the_whole_run() {
    let hook = asked(
        HookPoint::PreToolUse,
        &prints(&json!({"continue": false, "stopReason": "enough"})),
    );
    let (runtime, session, story) = story_of(doing(vec![hook])).await;
    assert!(
        story.contains("tool     Do cancelled") && story.contains("stopped the run: enough"),
        "{story}"
    );
    assert_eq!(runtime.model.requests().len(), 1);
    assert!(runtime.wait_for_run(&session).await.error.is_some());
    runtime.verify().await;
}

#[tokio::test]
async fn calls_that_run_together_are_each_asked_about_once() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let look = |say: &str| call("Look", json!({ "say": say }));
    let entries = [
        say("").calls([look("a"), look("b"), look("c")]),
        say("{{ results | length }}"),
    ];
    let guard = format!(
        "tee -a '{}' | grep -q '\"say\":\"b\"' && exit 2; exit 0",
        log.display()
    );
    let plan = with(entries, vec![asked(HookPoint::PreToolUse, &guard)]).tools(Toolset::new([
        rooftree_testkit::ProbeTool::open("Look", Effect::ReadOnly),
    ]));
    let (runtime, session, _) = story_of(plan).await;
    assert_eq!(kept(&log).len(), 3);
    assert_eq!(runtime.wait_for_run(&session).await.denials.len(), 1);
}

/// A model that delegates.
fn delegating(hooks: Vec<ConfiguredHook>) -> TestRuntimeBuilder {
    let task = call(
        "Task",
        json!({"subagent_type": "explore", "prompt": "look", "description": "a look"}),
    );
    let script = [
        say("").agent("lead").calls([task]),
        say("{{ results[0].text }}").agent("lead"),
        say("I was told: {{ user }}").agent("explore"),
    ];
    with(script, hooks).with_delegation(Toolset::default())
}

#[tokio::test]
async fn r1_d16_a_hook_sees_the_words_of_a_dialect_and_can_answer_in_them() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let written = json!({"agent_name": "explore", "prompt": "look"});
    let changed = json!({"agent_name": "explore", "prompt": "look twice"});
    let hooks = vec![
        asked_about(HookPoint::PreToolUse, "Task", &keeps(&log)),
        asked_about(HookPoint::PreToolUse, "Task", &rewrites(changed)),
    ];
    let script = [
        say("")
            .agent("lead")
            .calls([call("InvokeAgent", written.clone())]),
        say("{{ results[0].text }}").agent("lead"),
        say("I was told: {{ user }}").agent("explore"),
    ];
    let story = with(script, hooks).with_delegation(Toolset::default());
    let (_, _, story) = story_of(story).await;
    let input = kept(&log).remove(0);
    assert_eq!(input["tool_input"]["subagent_type"], "explore", "{input}");
    assert_eq!(
        input["as_written"],
        json!({"tool_name": "InvokeAgent", "tool_input": written})
    );
    assert!(story.contains("look twice"), "{story}");
}

#[tokio::test]
async fn r1_d16_a_hook_sees_task_as_the_model_wrote_it_and_can_give_it_back_changed() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let written = json!({"subagent_type": "explore", "prompt": "look", "description": "a look"});
    let changed =
        json!({"subagent_type": "explore", "prompt": "look twice", "description": "a look"});
    let hooks = vec![
        asked_about(HookPoint::PreToolUse, "Task", &keeps(&log)),
        asked_about(HookPoint::PreToolUse, "Task", &rewrites(changed)),
    ];
    let (_, _, story) = story_of(delegating(hooks)).await;
    assert_eq!(kept(&log).remove(0)["tool_input"], written);
    assert!(story.contains("look twice"), "{story}");
}
