//! Narrowing only narrows: over random policies and calls.

use std::path::Path;

use proptest::prelude::*;
use rooftree_protocol::{Effect, PermissionMode};
use rooftree_tools::{PermissionRule, Policy, PolicyRequest};

use super::bench_of_rules::HERE;

const RULES: [&str; 27] = [
    "*",
    "Bash",
    "Bash(*)",
    "Bash(git *)",
    "Bash(git log:*)",
    "Bash(npm test)",
    "Bash(rm *)",
    "Bash(ls *)",
    "Bash(echo *)",
    "Bash(a && b)",
    "Write",
    "Write(src/**)",
    "Edit",
    "Edit(src/**)",
    "Edit(**/*.rs)",
    "Read(.env)",
    "Read(src/**)",
    "Read",
    "WebFetch(domain:example.com)",
    "WebFetch(domain:*.example.com)",
    "mcp__github",
    "mcp__*",
    "Task(explore)",
    "Delete(src/*)",
    "Write(**)",
    "Write(.git/**)",
    "Edit(.claude/settings.json)",
];

const CALLS: [(&str, &str); 29] = [
    ("Bash", "ls"),
    ("Bash", "git log"),
    ("Bash", "git log | head"),
    ("Bash", "git push; rm x"),
    ("Bash", "npm test"),
    ("Bash", "npm test > src/a"),
    ("Bash", "echo x > a"),
    ("Bash", "a && b"),
    ("Bash", "rm -rf x"),
    ("Bash", "$x"),
    ("Bash", "(("),
    ("Bash", "cat .env"),
    ("Bash", "echo x > src/a.rs"),
    ("Write", "src/a.rs"),
    ("Write", "/etc/x"),
    ("Edit", "src/a"),
    ("Edit", ".git/config"),
    ("Delete", "src/a"),
    ("Read", ".env"),
    ("Grep", "src"),
    ("Glob", "."),
    ("WebFetch", "https://example.com/"),
    ("WebFetch", "https://a.example.com/"),
    ("mcp__github__push", "x"),
    ("Task", "explore"),
    ("TodoWrite", ""),
    ("Write", ".git/config"),
    ("Edit", ".claude/settings.json"),
    ("Delete", "sub/.git/hooks/x"),
];

fn rules() -> impl Strategy<Value = Vec<PermissionRule>> {
    let rule = (0..RULES.len()).prop_map(|at| PermissionRule::parse(RULES[at]).unwrap());
    prop::collection::vec(rule, 0..4)
}

fn mode() -> impl Strategy<Value = PermissionMode> {
    use PermissionMode::{AcceptEdits, Ask, Auto, Bypass, Plan};
    prop::sample::select(vec![Plan, Ask, AcceptEdits, Auto, Bypass])
}

fn policy() -> impl Strategy<Value = Policy> {
    (mode(), rules(), rules(), rules()).prop_map(|(mode, allow, ask, deny)| Policy {
        mode,
        allow,
        ask,
        deny,
        ..Policy::default()
    })
}

fn effect() -> impl Strategy<Value = Effect> {
    prop::sample::select(vec![
        Effect::ReadOnly,
        Effect::LocalMutation,
        Effect::Destructive,
        Effect::RemoteAction,
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_child_is_freer_than_its_parent(parent in policy(), child in policy(), effect in effect()) {
        let narrowed = parent.narrowed_by(&child);
        for (tool, subject) in CALLS {
            let judged = PolicyRequest { tool, subject: Some(subject), input: None, effect, cwd: Path::new(HERE) };
            let freedom = narrowed.judge(&judged).freedom();
            prop_assert!(freedom <= parent.judge(&judged).freedom(), "{tool} {subject}: {narrowed:?}");
            prop_assert!(freedom <= child.judge(&judged).freedom(), "{tool} {subject}: {narrowed:?}");
        }
    }

    #[test]
    fn another_deny_or_ask_rule_never_frees(policy in policy(), more in rules(), effect in effect()) {
        let mut denying = policy.clone();
        denying.deny.extend(more.clone());
        let mut asking = policy.clone();
        asking.ask.extend(more);
        for (tool, subject) in CALLS {
            let judged = PolicyRequest { tool, subject: Some(subject), input: None, effect, cwd: Path::new(HERE) };
            let freedom = policy.judge(&judged).freedom();
            prop_assert!(denying.judge(&judged).freedom() <= freedom, "{tool} {subject}");
            prop_assert!(asking.judge(&judged).freedom() <= freedom, "{tool} {subject}");
        }
    }
}
