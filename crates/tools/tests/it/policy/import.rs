//! Rules of other programs become ours, and never allow more than they did.

use rooftree_protocol::PermissionMode;
use rooftree_tools::{
    PermissionRule, Policy, PolicyVerdict,
    policy::import::{ImportedRules, claude, opencode},
};
use serde_json::json;

use super::bench_of_rules::{judge, judge_command};

fn shown(rules: &[PermissionRule]) -> Vec<String> {
    rules.iter().map(ToString::to_string).collect()
}

fn policy(imported: ImportedRules) -> Policy {
    Policy {
        mode: imported.mode.unwrap_or_default(),
        allow: imported.allow,
        ask: imported.ask,
        deny: imported.deny,
        ..Policy::default()
    }
}

#[test]
fn settings_of_claude_become_rules_and_remarks() {
    let imported = claude(
        r#"{"model": "x", "permissions": {
            "allow": ["Bash(npm run lint)", "Bash(git log:*)", "Bash(python3:*)", "Bash(git * main)", "Edit(/src/**)", "mcp__github",
                "WebFetch(domain:example.com)", "Agent(explore)", 7, "Bash(", "Read(//etc/hosts)", "MultiEdit"],
            "ask": ["Bash(git push *)"],
            "deny": ["Read(./.env)", "Read(~/.ssh/**)", "Read(secrets/**)", "Bash(curl:*)"],
            "defaultMode": "acceptEdits", "additionalDirectories": ["../docs/"], "wish": true}}"#,
    )
    .unwrap();
    assert_eq!(imported.mode, Some(PermissionMode::AcceptEdits));
    assert_eq!(
        shown(&imported.allow),
        [
            "Bash(npm run lint)",
            "Bash(git log:*)",
            "Bash(python3:*)",
            "Edit(src/**)",
            "mcp__github",
            "WebFetch(domain:example.com)",
            "Task(explore)",
            "Read(/etc/hosts)",
            "Edit",
            "Read(../docs/**)",
        ]
    );
    assert_eq!(shown(&imported.ask), ["Bash(git push *)"]);
    assert_eq!(
        shown(&imported.deny),
        [
            "Read(**/.env)",
            "Read(~/.ssh/**)",
            "Read(secrets/**)",
            "Bash(curl:*)"
        ]
    );
    assert_eq!(imported.directories, ["../docs/"]);
    let remarks = imported.remarks.join("\n");
    for about in [
        "`Bash(python3:*)`",
        "`Bash(git * main)`",
        "`7`",
        "`Bash(`",
        "`wish`",
    ] {
        assert!(remarks.contains(about), "{about} in {remarks}");
    }
    assert_eq!(imported.remarks.len(), 5, "{remarks}");
    let policy = policy(imported);
    for denied in ["cat sub/.env", "curl x", "cat /home/you/.ssh/id_rsa"] {
        assert!(
            matches!(judge_command(&policy, denied), PolicyVerdict::Deny(_)),
            "{denied}"
        );
    }
    assert!(matches!(
        judge_command(&policy, "git push origin main"),
        PolicyVerdict::Ask(_)
    ));
    assert!(matches!(
        judge(&policy, "Read", json!({"file_path": "a/.env"})),
        PolicyVerdict::Deny(_)
    ));
}

#[test]
fn bypassing_is_not_taken_over_from_a_file() {
    let imported = claude(r#"{"permissions": {"defaultMode": "bypassPermissions"}}"#).unwrap();
    assert_eq!((imported.mode, imported.remarks.len()), (None, 1));
}

#[test]
fn settings_of_opencode_become_rules_that_are_never_freer() {
    let imported = opencode(
        r#"{"permission": {
            "edit": "deny", "webfetch": "ask", "doom_loop": "ask",
            "read": {"*": "allow", "*.env": "deny", "secrets/*": "deny"},
            "bash": {"*": "ask", "git status*": "allow", "git *": "allow", "git push*": "deny", "* --force": "deny", "a * b": "allow"},
            "task": {"*": "deny", "explore": "allow"}}}"#,
    )
    .unwrap();
    assert_eq!(
        shown(&imported.allow),
        ["Read", "Bash(git status *)", "Bash(git *)"]
    );
    assert_eq!(shown(&imported.ask), ["WebFetch"]);
    let denied = [
        "Edit",
        "Read(**/*.env)",
        "Read(secrets/**)",
        "Bash(git push*)",
        "Bash(* --force)",
        "Task",
    ];
    let mut found = shown(&imported.deny);
    let mut denied = denied.to_vec();
    found.sort_unstable();
    denied.sort_unstable();
    assert_eq!(found, denied);
    assert_eq!(imported.remarks.len(), 4, "{:#?}", imported.remarks);
    let policy = policy(imported);
    let table = [
        ("git status -s", 2),
        ("git log", 2),
        ("git push", 0),
        ("git push origin", 0),
        ("npm test", 1),
        ("cat a.env", 0),
    ];
    for (command, freedom) in table {
        assert_eq!(
            judge_command(&policy, command).freedom(),
            freedom,
            "{command}"
        );
    }
}

#[test]
fn what_is_no_settings_file_says_so() {
    for text in ["", "[]", "{", r#"{"permissions": []}"#] {
        assert!(claude(text).unwrap_err().fix.is_some(), "{text}");
    }
    assert_eq!(claude("{}").unwrap(), ImportedRules::default());
    assert_eq!(opencode("{}").unwrap(), ImportedRules::default());
}
