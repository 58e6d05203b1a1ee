//! Promises about permissions that came from real bugs.

use rooftree_protocol::{Effect, PermissionMode};
use rooftree_tools::{BackgroundProcesses, Policy, PolicyVerdict, builtin};
use serde_json::json;
use std::sync::Arc;

use super::bench_of_rules::{allowing, judge, judge_command, rules};

#[test]
fn deny_rules_hold_in_every_mode() {
    use PermissionMode::{AcceptEdits, Ask, Auto, Bypass, Plan};
    for mode in [Plan, Ask, AcceptEdits, Auto, Bypass] {
        let policy = Policy {
            mode,
            allow: rules(&["*"]),
            deny: rules(&["Bash(rm *)", "Write(a)"]),
            ..Policy::default()
        };
        assert!(
            matches!(judge_command(&policy, "ls; rm x"), PolicyVerdict::Deny(_)),
            "{mode:?}"
        );
        let write = json!({"file_path": "a", "content": ""});
        assert!(
            matches!(judge(&policy, "Write", write), PolicyVerdict::Deny(_)),
            "{mode:?}"
        );
    }
}

#[test]
fn allowing_a_test_does_not_allow_what_mentions_it() {
    let policy = allowing(PermissionMode::Ask, &["Bash(npm test)"]);
    assert!(matches!(
        judge_command(&policy, "npm test"),
        PolicyVerdict::Allow(_)
    ));
    for command in [
        "rm -rf / # npm test",
        "npm test; rm -rf /",
        "echo npm test | sh",
        "npm testing",
    ] {
        assert!(
            matches!(judge_command(&policy, command), PolicyVerdict::Ask(_)),
            "{command}"
        );
    }
}

#[test]
fn in_plan_mode_no_tool_that_changes_anything_runs() {
    let policy = allowing(PermissionMode::Plan, &["*"]);
    let calls = [
        ("Write", json!({"file_path": "a", "content": ""})),
        (
            "Edit",
            json!({"file_path": "a", "old_string": "b", "new_string": "c"}),
        ),
        ("Delete", json!({"file_path": "a"})),
        ("Bash", json!({"command": "touch a"})),
        ("Bash", json!({"command": "ls > a"})),
        ("Bash", json!({"command": "ls", "run_in_background": true})),
    ];
    for (tool, input) in calls {
        assert!(
            matches!(judge(&policy, tool, input.clone()), PolicyVerdict::Deny(_)),
            "{tool} {input}"
        );
    }
    let looks = [
        ("Read", json!({"file_path": "a"})),
        ("Bash", json!({"command": "git status"})),
        ("Grep", json!({"pattern": "a"})),
    ];
    for (tool, input) in looks {
        assert!(
            matches!(judge(&policy, tool, input.clone()), PolicyVerdict::Allow(_)),
            "{tool} {input}"
        );
    }
}

#[test]
fn a_line_is_never_called_a_change_of_files() {
    let tools = builtin(Arc::new(BackgroundProcesses::new(|| 1)));
    let bash = tools
        .iter()
        .find(|tool| tool.spec().name == "Bash")
        .unwrap();
    for (command, effect) in [
        ("ls", Effect::ReadOnly),
        ("touch a", Effect::Destructive),
        ("ls > a", Effect::Destructive),
    ] {
        assert_eq!(
            bash.effect(&json!({ "command": command })),
            effect,
            "{command}"
        );
    }
}
