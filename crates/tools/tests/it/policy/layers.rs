//! The order of the layers, what each kind of rule matches, and how a decision is told.

use std::path::Path;

use rooftree_protocol::{Effect, PermissionMode};
use rooftree_tools::{PermissionRule, Policy, PolicyRequest, PolicyVerdict, policy::PolicyLayer};
use serde_json::{Value, json};

use super::bench_of_rules::{HERE, allowing, judge, judge_command, rules};

fn call<'a>(
    tool: &'a str,
    subject: Option<&'a str>,
    input: Option<&'a Value>,
) -> PolicyRequest<'a> {
    PolicyRequest {
        tool,
        subject,
        input,
        effect: Effect::RemoteAction,
        cwd: Path::new(HERE),
    }
}

/// 0 to deny, 1 to ask, 2 to allow: by one rule alone, in each of its uses.
fn uses(rule: &str, judged: &PolicyRequest<'_>) -> (u8, u8, u8) {
    let rules = vec![PermissionRule::parse(rule).unwrap()];
    let with = |policy: Policy| policy.judge(judged).freedom();
    let bypass = PermissionMode::Bypass;
    (
        with(Policy {
            mode: bypass,
            deny: rules.clone(),
            ..Policy::default()
        }),
        with(Policy {
            mode: bypass,
            ask: rules.clone(),
            ..Policy::default()
        }),
        with(Policy {
            allow: rules,
            ..Policy::default()
        }),
    )
}

const MATCHES: (u8, u8, u8) = (0, 1, 2);
const NEITHER: (u8, u8, u8) = (2, 2, 1);
const ONLY_DENIES: (u8, u8, u8) = (0, 1, 1);

#[test]
fn rules_for_hosts_servers_agents_and_skills_match_what_they_name() {
    let task = json!({"subagent_type": "explore", "prompt": "x"});
    let table = [
        (
            "WebFetch(domain:example.com)",
            "WebFetch",
            Some("https://example.com/a"),
            MATCHES,
        ),
        (
            "WebFetch(domain:example.com)",
            "WebFetch",
            Some("https://EXAMPLE.com.:443/a"),
            MATCHES,
        ),
        (
            "WebFetch(domain:example.com)",
            "WebFetch",
            Some("https://a.example.com/"),
            ONLY_DENIES,
        ),
        (
            "WebFetch(domain:*.example.com)",
            "WebFetch",
            Some("https://a.example.com/"),
            MATCHES,
        ),
        (
            "WebFetch(domain:example.com)",
            "WebFetch",
            Some("https://example.com.evil.org/"),
            NEITHER,
        ),
        (
            "WebFetch(domain:example.com)",
            "WebFetch",
            Some("https://evil.org/?example.com"),
            NEITHER,
        ),
        (
            "WebFetch(domain:example.com)",
            "WebFetch",
            Some("https://example.com@evil.org/"),
            NEITHER,
        ),
        (
            "WebFetch(domain:example.com)",
            "WebFetch",
            Some("https://evil.org#@example.com/"),
            NEITHER,
        ),
        (
            "WebFetch(domain:example.com)",
            "WebFetch",
            Some("https://evil.org\\@example.com/"),
            NEITHER,
        ),
        (
            "WebFetch(domain:example.com)",
            "WebFetch",
            Some("https://u@example.com/"),
            ONLY_DENIES,
        ),
        (
            "net:example.com",
            "WebFetch",
            Some("http://example.com"),
            MATCHES,
        ),
        ("mcp__github", "mcp__github__push", None, MATCHES),
        ("mcp__github__*", "mcp__github__push", None, MATCHES),
        ("mcp__github__push", "mcp__github__push", None, MATCHES),
        ("mcp__git", "mcp__github__push", None, NEITHER),
        ("mcp__github__pull", "mcp__github__push", None, NEITHER),
        ("Agent(explore)", "Task", None, MATCHES),
        ("Task(plan)", "Task", None, NEITHER),
        ("Skill(deploy)", "Skill", Some("deploy"), MATCHES),
        ("Skill(deploy)", "Skill", Some("deploys"), NEITHER),
    ];
    for (rule, tool, subject, expected) in table {
        assert_eq!(
            uses(rule, &call(tool, subject, Some(&task))),
            expected,
            "{rule} and {tool} {subject:?}"
        );
    }
}

#[test]
fn a_rule_about_an_argument_denies_and_asks_and_never_allows() {
    let input = json!({"command": "ls", "run_in_background": true});
    for (rule, expected) in [
        ("Bash(run_in_background:true)", ONLY_DENIES),
        ("Bash(run_in_background:false)", NEITHER),
    ] {
        assert_eq!(
            uses(rule, &call("Bash", Some("frobnicate"), Some(&input))),
            expected,
            "{rule}"
        );
    }
}

#[test]
fn rules_for_reading_and_editing_are_about_every_tool_that_does() {
    let path = Some("a/b");
    for tool in ["Read", "Grep", "Glob", "List", "SemanticSearch"] {
        assert_eq!(
            uses("Read(a/**)", &call(tool, path, None)),
            MATCHES,
            "{tool}"
        );
        assert_eq!(
            uses("Edit(a/**)", &call(tool, path, None)),
            NEITHER,
            "{tool}"
        );
    }
    for tool in ["Write", "Edit", "ApplyDiff", "NotebookEdit"] {
        for rule in ["Edit(a/**)", "Write(a/**)", "write:./a/**", "Edit"] {
            assert_eq!(
                uses(rule, &call(tool, path, None)),
                MATCHES,
                "{rule} {tool}"
            );
        }
    }
    assert_eq!(uses("Edit(a/**)", &call("Delete", path, None)), ONLY_DENIES);
    assert_eq!(
        uses("Read(a/**)", &call("Grep", Some("a"), None)),
        ONLY_DENIES,
        "searching a directory is reading it"
    );
}

#[test]
fn deny_beats_ask_beats_allow_beats_mode() {
    let all = rules(&["Bash(frob *)"]);
    let policy = |deny: bool, ask: bool, mode| Policy {
        mode,
        allow: all.clone(),
        ask: if ask { all.clone() } else { vec![] },
        deny: if deny { all.clone() } else { vec![] },
        ..Policy::default()
    };
    for mode in [
        PermissionMode::Ask,
        PermissionMode::Auto,
        PermissionMode::Bypass,
    ] {
        for (deny, ask, freedom) in [
            (true, true, 0),
            (true, false, 0),
            (false, true, 1),
            (false, false, 2),
        ] {
            assert_eq!(
                judge_command(&policy(deny, ask, mode), "frob x").freedom(),
                freedom,
                "{mode:?} {deny} {ask}"
            );
        }
    }
}

#[test]
fn grants_have_one_normal_form() {
    let table = [
        ("read:/data/**", "Read(/data/**)"),
        ("write:/data/**", "Write(/data/**)"),
        ("net:example.com", "WebFetch(domain:example.com)"),
        ("Agent(x)", "Task(x)"),
        ("Read( /data/** )", "Read(/data/**)"),
    ];
    for (written, printed) in table {
        assert_eq!(PermissionRule::parse(written).unwrap().to_string(), printed);
        assert_eq!(PermissionRule::parse(printed).unwrap().to_string(), printed);
    }
    let policy = allowing(PermissionMode::Ask, &["write:/data/**"]);
    let write =
        |path: &str| judge(&policy, "Write", json!({"file_path": path, "content": ""})).freedom();
    assert_eq!((write("/data/a"), write("/data/../etc/a")), (2, 1));
}

/// Paths that programs obey, each with a rule that names it.
const OBEYED: [(&str, &str); 18] = [
    (".git/config", "Write(.git/*)"),
    ("sub/.git/hooks/x", "Edit(**/.git/hooks/*)"),
    (".GIT/config", "Write(.GIT/config)"),
    (".claude/settings.json", "Write(.claude/settings*.json)"),
    (".claude/settings.local.json", "Edit(.claude/**)"),
    (".mcp.json", "Write(.mcp.json)"),
    (".rooftree/agents/a.md", "Write(.rooftree/agents/*.md)"),
    (".agents/skills/a/SKILL.md", "Write(./.agents/**)"),
    (".emdash/agents/a.md", "Write(.emdash/**)"),
    (".vscode/tasks.json", "Write(/home/me/project/.vscode/*)"),
    (".idea/workspace.xml", "Write(.idea/**)"),
    (".devcontainer/devcontainer.json", "Write(.devcontainer/**)"),
    (".cargo/config.toml", "Write(.cargo/config.toml)"),
    (".envrc", "Write(**/.envrc)"),
    (".husky/pre-commit", "Edit(.husky/*)"),
    (".gitmodules", "write:./.gitmodules"),
    ("/elsewhere/.git/config", "Write(/elsewhere/.git/**)"),
    (".pre-commit-config.yaml", "Write(.pre-commit-config.yaml)"),
];

fn write(policy: &Policy, path: &str) -> u8 {
    judge(policy, "Write", json!({"file_path": path, "content": ""})).freedom()
}

#[test]
fn files_that_programs_obey_are_not_edited_without_asking() {
    use PermissionMode::{AcceptEdits, Ask, Auto, Bypass};
    for (path, _) in OBEYED {
        for (mode, freedom) in [(Ask, 1), (AcceptEdits, 1), (Auto, 1), (Bypass, 2)] {
            assert_eq!(
                write(&allowing(mode, &[]), path),
                freedom,
                "{mode:?} {path}"
            );
        }
    }
    for path in [
        "src/a",
        ".github/workflows/a.yml",
        ".gitignore",
        ".cargo/registry/x",
        "git/config",
    ] {
        assert_eq!(write(&allowing(AcceptEdits, &[]), path), 2, "{path}");
    }
}

/// Names in homes and projects that other programs obey.
const OBEYED_TOO: [&str; 44] = [
    ".bashrc",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".bash_profile",
    ".config/fish/config.fish",
    ".ssh/authorized_keys",
    ".ssh/config",
    ".gitconfig",
    ".config/git/config",
    ".config/autostart/x.desktop",
    ".config/systemd/user/x.service",
    ".config/environment.d/x.conf",
    ".cargo/bin/cargo",
    ".local/bin/ls",
    ".claude.json",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".config/pip/pip.conf",
    ".vimrc",
    ".config/nvim/init.lua",
    ".emacs.d/init.el",
    ".tmux.conf",
    ".direnvrc",
    ".config/direnv/direnvrc",
    ".gdbinit",
    ".xprofile",
    ".githooks/pre-commit",
    "lefthook.yaml",
    ".lefthook.yml",
    "lefthook-local.yml",
    ".zed/tasks.json",
    ".opencode/plugin/x.ts",
    ".gemini/settings.json",
    ".codex/config.toml",
    "shop.code-workspace",
    "rust-toolchain.toml",
    "rust-toolchain",
    ".dir-locals.el",
    ".mise.toml",
    ".BashRC",
    "home/me/.bashrc",
    ".hgrc",
];

#[test]
fn s_b9_what_other_programs_obey_in_homes_and_projects_is_asked_about() {
    use PermissionMode::{AcceptEdits, Auto, Bypass};
    for path in OBEYED_TOO {
        for (mode, freedom) in [(AcceptEdits, 1), (Auto, 1), (Bypass, 2)] {
            assert_eq!(
                write(&allowing(mode, &[]), path),
                freedom,
                "{mode:?} {path}"
            );
            assert_eq!(
                write(&allowing(mode, &["Write(**)"]), path),
                freedom,
                "{mode:?} {path}"
            );
        }
        assert_eq!(
            write(&allowing(AcceptEdits, &[&format!("Write({path})")]), path),
            2,
            "{path}"
        );
    }
    let benign = [
        "src/bashrc",
        "Makefile",
        "package.json",
        "justfile",
        "Cargo.toml",
        ".gitignore",
        ".editorconfig",
        ".github/workflows/ci.yml",
        "docs/ssh.md",
        "workspace.json",
        ".config/app.toml",
        ".local/share/x",
    ];
    for path in benign {
        assert_eq!(write(&allowing(AcceptEdits, &[]), path), 2, "{path}");
    }
}

#[test]
fn no_wildcard_covers_what_programs_obey_and_a_rule_that_names_it_does() {
    let wild = [
        "*",
        "Write",
        "Edit",
        "Write(**)",
        "Edit(**/*)",
        "Write(.*/**)",
        "Write(/**)",
        "Write({.git,.*}/**)",
    ];
    for (path, naming) in OBEYED {
        for rule in wild {
            let policy = allowing(PermissionMode::Auto, &[rule]);
            assert_eq!(write(&policy, path), 1, "{rule} {path}");
            assert_eq!(write(&policy, "src/a"), 2, "{rule}");
        }
        assert_eq!(
            write(&allowing(PermissionMode::Ask, &[naming]), path),
            2,
            "{naming} {path}"
        );
    }
    // One name that is said does not cover another one.
    let policy = allowing(PermissionMode::Ask, &["Write(.claude/**)"]);
    assert_eq!(
        (
            write(&policy, ".claude/a"),
            write(&policy, ".claude/.git/config")
        ),
        (2, 1)
    );
    // Neither is it deleted by a wildcard.
    let delete = |rule: &str| {
        judge(
            &allowing(PermissionMode::Auto, &[rule]),
            "Delete",
            json!({"file_path": ".git/hooks"}),
        )
        .freedom()
    };
    assert_eq!((delete("Delete(**)"), delete("Delete(.git/hooks)")), (1, 2));
    // Looking is free.
    let looked = judge(
        &allowing(PermissionMode::Ask, &[]),
        "Read",
        json!({"file_path": ".git/config"}),
    );
    assert_eq!(looked.freedom(), 2);
}

#[test]
fn who_is_asked_about_what_programs_obey_hears_why_and_what_would_allow_it() {
    let policy = allowing(PermissionMode::Auto, &["Write(**)"]);
    let input = json!({});
    let judged = PolicyRequest {
        effect: Effect::LocalMutation,
        ..call("Write", Some(".vscode/tasks.json"), Some(&input))
    };
    let told = policy.explain(&judged).to_string();
    for words in [
        "path and network grants (1): do not cover `.vscode`: only a rule that names it would",
        "ask: Write changes `.vscode`, which editors obey: its settings and tasks name programs",
        "--allow 'Write(.vscode/tasks.json)' or --permission-mode bypass would allow it",
    ] {
        assert!(told.contains(words), "{words}\n{told}");
    }
}

#[test]
fn nobody_passes_on_what_programs_obey_without_a_rule_that_names_it() {
    let tools = rooftree_tools::builtin(std::sync::Arc::new(
        rooftree_tools::BackgroundProcesses::new(|| 1),
    ));
    let grants = |mode, own: &[&str], rule: &str| {
        allowing(mode, own).grants(&PermissionRule::parse(rule).unwrap(), &tools)
    };
    let table = [
        (PermissionMode::Auto, &[][..], "Write(src/**)", true),
        (PermissionMode::Auto, &[], "Write(.git/**)", false),
        (PermissionMode::Ask, &["Write"], "Write(src/**)", true),
        (PermissionMode::Ask, &["Write"], "Write(.git/**)", false),
        (
            PermissionMode::Ask,
            &["Write(.git/**)"],
            "Write(.git/**)",
            true,
        ),
        (PermissionMode::Bypass, &[], "Write(.git/**)", true),
    ];
    for (mode, own, rule, is_granted) in table {
        assert_eq!(
            grants(mode, own, rule),
            is_granted,
            "{mode:?} {own:?} {rule}"
        );
    }
}

#[test]
fn a_decision_is_told_layer_by_layer_and_names_the_command_that_made_it() {
    let policy = Policy {
        allow: rules(&["Bash(npm test)", "Read(/data/**)"]),
        deny: rules(&["Bash(rm *)"]),
        ..Policy::default()
    };
    let input = json!({});
    let explain =
        |command: &'static str| policy.explain(&call("Bash", Some(command), Some(&input)));
    let denied = explain("npm test && sudo rm -rf x");
    assert_eq!(
        denied.to_string(),
        "1. deny rules (1): decides\ndeny: the deny rule `Bash(rm *)` refuses `rm -rf x`, in every mode"
    );
    let asked = explain("npm test && npm publish");
    let layers: Vec<PolicyLayer> = asked.steps.iter().map(|step| step.layer).collect();
    assert_eq!(
        layers,
        [
            PolicyLayer::Deny,
            PolicyLayer::Plan,
            PolicyLayer::Ask,
            PolicyLayer::Grants,
            PolicyLayer::Allow,
            PolicyLayer::Mode,
            PolicyLayer::Person
        ]
    );
    let told = asked.to_string();
    assert!(
        told.contains(
            "5. allow rules (1): do not cover `npm publish`: its program can run or write anything"
        ),
        "{told}"
    );
    assert!(
        told.contains("ask: Bash acts on something elsewhere"),
        "{told}"
    );
    let allowed = explain("npm test");
    assert!(
        allowed
            .to_string()
            .ends_with("5. allow rules (1): decides\nallow: the rule `Bash(npm test)` allows it"),
        "{allowed}"
    );
    for command in ["npm test", "rm x", "a | b", "(("] {
        let judged = call("Bash", Some(command), Some(&input));
        assert_eq!(policy.judge(&judged), policy.explain(&judged).verdict);
        assert_eq!(
            policy
                .explain(&judged)
                .steps
                .iter()
                .filter(|step| step.is_deciding)
                .count(),
            1
        );
    }
    assert!(matches!(denied.verdict, PolicyVerdict::Deny(_)));
}
