//! The table of what each mode does with each kind of call, as it is checked in.
//!
//! `ROOFTREE_GENERATE=1 cargo test -p rooftree-tools --test it policy::table` writes it anew.

use std::{fmt::Write, fs, path::Path};

use rooftree_protocol::{Effect, PermissionMode};
use rooftree_tools::{Policy, PolicyRequest, PolicyVerdict};
use serde_json::{Value, json};

use super::bench_of_rules::{HERE, allowing, tool};

const MODES: [(&str, PermissionMode); 5] = [
    ("plan", PermissionMode::Plan),
    ("ask", PermissionMode::Ask),
    ("accept-edits", PermissionMode::AcceptEdits),
    ("auto", PermissionMode::Auto),
    ("bypass", PermissionMode::Bypass),
];

/// A call and how the table names it.
fn calls() -> Vec<(&'static str, &'static str, Value)> {
    let write = |path: &str| json!({"file_path": path, "content": ""});
    let edit = |path: &str| json!({"file_path": path, "old_string": "a", "new_string": "b"});
    let bash = |command: &str| json!({"command": command});
    vec![
        ("Read", "a file", json!({"file_path": "a"})),
        ("List", "a directory", json!({"path": "."})),
        ("Glob", "a pattern", json!({"pattern": "*"})),
        ("Grep", "a pattern", json!({"pattern": "a"})),
        ("SemanticSearch", "a question", json!({"query": "a"})),
        ("Write", "below the working directory", write("a")),
        ("Write", "elsewhere", write("/etc/a")),
        ("Write", "`.git/config`", write(".git/config")),
        ("Write", "`.vscode/tasks.json`", write(".vscode/tasks.json")),
        ("Edit", "below the working directory", edit("a")),
        ("Edit", "elsewhere", edit("/etc/a")),
        (
            "Delete",
            "below the working directory",
            json!({"file_path": "a"}),
        ),
        ("Delete", "`.git/hooks`", json!({"file_path": ".git/hooks"})),
        ("Delete", "elsewhere", json!({"file_path": "/etc/a"})),
        ("TodoWrite", "a list", json!({"todos": []})),
        ("Bash", "`git status`", bash("git status")),
        ("Bash", "`ls \\| head`", bash("ls | head")),
        ("Bash", "`ls > a`", bash("ls > a")),
        ("Bash", "`ls > /etc/a`", bash("ls > /etc/a")),
        ("Bash", "`npm test`", bash("npm test")),
        ("Bash", "`rm a`", bash("rm a")),
        ("Bash", "what is not understood", bash("((")),
    ]
}

fn word(verdict: &PolicyVerdict) -> &'static str {
    match verdict {
        PolicyVerdict::Allow(_) => "allow",
        PolicyVerdict::Ask(_) => "ask",
        PolicyVerdict::Deny(_) => "deny",
    }
}

fn effect_word(effect: Effect) -> String {
    serde_json::to_value(effect)
        .unwrap()
        .as_str()
        .unwrap()
        .replace('_', " ")
}

/// A policy so many delegations further down, where each definition would like to do anything.
fn below(policy: Policy, depth: usize) -> Policy {
    let wish = allowing(PermissionMode::Bypass, &["*"]);
    (0..depth).fold(policy, |policy, _| policy.narrowed_by(&wish))
}

fn row(name: &str, subject: Option<&str>, effect: Effect, depth: usize) -> String {
    let judged = PolicyRequest {
        tool: name,
        subject,
        input: None,
        effect,
        cwd: Path::new(HERE),
    };
    MODES.iter().fold(String::new(), |cells, (_, mode)| {
        let policy = below(allowing(*mode, &[]), depth);
        format!("{cells} {} |", word(&policy.judge(&judged)))
    })
}

fn table() -> String {
    let mut text = String::from(
        "# What each mode does with each call\n\n\
         Made from the code by `crates/tools/tests/it/policy/table.rs`; no rules are set. How to read it is in\n\
         [docs/permissions.md](../permissions.md). Depth 1 and 2 are agents asked by others whose own definitions would\n\
         allow everything.\n",
    );
    for depth in 0..3 {
        let names: Vec<&str> = MODES.iter().map(|(name, _)| *name).collect();
        write!(
            text,
            "\n## Depth {depth}\n\n| tool | call | effect | {} |\n|---|---|---|",
            names.join(" | ")
        )
        .unwrap();
        text += &"---|".repeat(MODES.len());
        text.push('\n');
        for (name, shown, input) in calls() {
            let tool = tool(name);
            let input = tool.normalise(name, input).unwrap();
            let (subject, effect) = (tool.subject(&input), tool.effect(&input));
            let cells = row(name, subject.as_deref(), effect, depth);
            writeln!(
                text,
                "| {name} | {shown} | {} |{cells}",
                effect_word(effect)
            )
            .unwrap();
        }
        for effect in [
            Effect::ReadOnly,
            Effect::LocalMutation,
            Effect::Destructive,
            Effect::RemoteAction,
        ] {
            let cells = row("mcp__any__tool", None, effect, depth);
            writeln!(text, "| any other | any | {} |{cells}", effect_word(effect)).unwrap();
        }
    }
    text
}

#[test]
fn the_table_that_is_checked_in_is_what_the_code_decides() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated/permissions.md");
    if std::env::var_os("ROOFTREE_GENERATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, table()).unwrap();
    }
    let checked_in = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        checked_in,
        table(),
        "run with ROOFTREE_GENERATE=1 and commit docs/generated/permissions.md"
    );
}

#[test]
fn at_every_depth_the_table_is_the_same_or_stricter() {
    for (name, _, input) in calls() {
        let tool = tool(name);
        let input = tool.normalise(name, input).unwrap();
        let subject = tool.subject(&input);
        let judged = PolicyRequest {
            tool: name,
            subject: subject.as_deref(),
            input: Some(&input),
            effect: tool.effect(&input),
            cwd: Path::new(HERE),
        };
        for (_, mode) in MODES {
            let freedom = |depth| below(allowing(mode, &[]), depth).judge(&judged).freedom();
            assert!(
                freedom(1) <= freedom(0) && freedom(2) <= freedom(1),
                "{name} {mode:?}"
            );
        }
    }
}
