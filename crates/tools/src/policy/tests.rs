//! Table tests of the policy.

use std::path::Path;

use super::*;

fn judged<'a>(tool: &'a str, subject: &'a str, effect: Effect) -> PolicyRequest<'a> {
    PolicyRequest {
        tool,
        subject: Some(subject),
        input: None,
        effect,
        cwd: Path::new("/home/me/project"),
    }
}

fn rules(texts: &[&str]) -> Vec<PermissionRule> {
    texts
        .iter()
        .map(|text| PermissionRule::parse(text).unwrap())
        .collect()
}

fn is_allowed(rule: &str, tool: &str, subject: &str) -> bool {
    let policy = Policy {
        allow: rules(&[rule]),
        ..Policy::default()
    };
    matches!(
        policy.judge(&judged(tool, subject, Effect::Destructive)),
        PolicyVerdict::Allow(_)
    )
}

fn is_denied(rule: &str, tool: &str, subject: &str) -> bool {
    let policy = Policy {
        mode: PermissionMode::Bypass,
        deny: rules(&[rule]),
        ..Policy::default()
    };
    matches!(
        policy.judge(&judged(tool, subject, Effect::Destructive)),
        PolicyVerdict::Deny(_)
    )
}

#[test]
fn an_allow_rule_for_a_command_allows_that_command_and_nothing_around_it() {
    let table = [
        ("Bash(npm test)", "npm test", true),
        ("bash(npm test)", "  npm test\n", true),
        ("Bash(npm test)", "rm -rf / # npm test", false),
        ("Bash(npm test)", "npm test; rm -rf /", false),
        ("Bash(npm test)", "npm test -- --watch", false),
        ("Bash(git log *)", "git log", true),
        ("Bash(git log *)", "git log --oneline -5", true),
        ("Bash(git log:*)", "git log -5", true),
        ("Bash(git log *)", "git logout", false),
        ("Bash(git log *)", "git -c core.pager=evil log", false),
        ("Bash(git log *)", "git log > /etc/passwd", false),
        ("Bash(git log *)", "git log $(rm -rf /)", false),
        ("Bash(git log *)", "git log `id`", false),
        ("Bash(git log *)", "git log\nrm -rf /", false),
        ("Bash(git log *)", "git log\r rm", false),
        ("Bash(git log *)", "git log && rm x", false),
        ("Bash(git log *)", "git log & rm x", false),
        ("Bash(git log *)", "git log | sh", false),
        ("Bash(git log *)", "git log 'a b'", true),
        ("Bash(git log *)", "git log ~", true),
        ("Bash(git log *)", r"git log \x", true),
        ("Bash(git log *)", "X=1 git log", false),
        ("Bash(ls *.rs)", "ls *.rs", true),
        ("Bash(ls *.rs)", "ls x.rs", false),
        (r"Bash(rm \*)", "rm *", true),
        (r"Bash(rm \*)", "rm x", false),
        ("Bash(a && b)", "a && b", true),
        ("Bash(*)", "anything; at all", true),
        ("Bash", "anything", true),
        ("*", "anything", true),
        ("Read", "anything", false),
    ];
    for (rule, command, expected) in table {
        assert_eq!(
            is_allowed(rule, "Bash", command),
            expected,
            "{rule} and {command:?}"
        );
    }
}

#[test]
fn a_deny_rule_for_a_command_finds_it_wherever_it_hides() {
    let table = [
        ("Bash(rm)", "rm -rf x", true),
        ("Bash(rm *)", "cd /tmp && rm x", true),
        ("Bash(rm *)", "/bin/rm x", true),
        ("Bash(rm *)", "echo hi | xargs rm", true),
        ("Bash(rm *)", "echo $(rm x)", true),
        ("Bash(rm *)", "echo `rm x`", true),
        ("Bash(rm *)", "FOO=1 sudo -n rm x", true),
        ("Bash(rm *)", "bash -c 'rm x'", true),
        ("Bash(rm *)", r"r\m x", true),
        ("Bash(rm *)", "timeout -k 5 10 rm x", true),
        ("Bash(rm *)", "if true; then rm x; fi", true),
        ("Bash(rm *)", "true\nrm x", true),
        ("Bash(git push)", "git push origin main", true),
        ("Bash(git push)", "git pull", false),
        ("Bash(rm)", "echo rm", false),
        ("Bash(rm)", "rmdir x", false),
        ("Bash", "anything", true),
    ];
    for (rule, command, expected) in table {
        assert_eq!(
            is_denied(rule, "Bash", command),
            expected,
            "{rule} and {command:?}"
        );
    }
}

#[test]
fn path_rules_are_globs_from_the_working_directory() {
    let table = [
        ("Write(src/**)", "src/a/b.rs", true),
        ("Write(src/**)", "/home/me/project/src/b.rs", true),
        ("Write(./src/**)", "src/b.rs", true),
        ("Write(src/**)", "src/../../../../etc/passwd", false),
        ("Write(src/**)", "/etc/src/x", false),
        ("Write(src/*)", "src/a/b.rs", false),
        ("Write(**/*.md)", "docs/deep/a.md", true),
        ("Write(/tmp/**)", "/tmp/x", true),
        ("Write(/tmp/**)", "tmp/x", false),
        ("Write(a.txt)", "a.txt", true),
        ("Write(a.txt)", "b/a.txt", false),
        ("Write(../other/*)", "/home/me/other/x", true),
        ("Edit(src/**)", "src/a.rs", true),
    ];
    for (rule, path, expected) in table {
        assert_eq!(
            is_allowed(rule, "Write", path),
            expected,
            "{rule} and {path}"
        );
    }
}

#[test]
fn a_deny_rule_for_a_directory_covers_what_is_below_it() {
    let table = [
        ("Read(secrets)", "secrets/deep/key", true),
        ("Read(secrets/**)", "public/../secrets/key", true),
        ("*(secrets)", "secrets/key", true),
        ("Read(secrets)", "secrets.md", false),
        ("Read(.env*)", ".env.local", true),
    ];
    for (rule, path, expected) in table {
        assert_eq!(is_denied(rule, "Read", path), expected, "{rule} and {path}");
    }
}

#[test]
fn a_mode_decides_what_no_rule_does() {
    use Effect::*;
    use PermissionMode::*;
    for mode in [Plan, Ask, AcceptEdits, Auto, Bypass] {
        for effect in [ReadOnly, LocalMutation, Destructive, RemoteAction] {
            let verdict = Policy {
                mode,
                ..Policy::default()
            }
            .judge(&judged("Write", "a", effect));
            let is_right = match verdict {
                PolicyVerdict::Allow(_) => mode.permits(effect),
                PolicyVerdict::Deny(_) => mode == Plan && effect != ReadOnly,
                PolicyVerdict::Ask(_) => mode != Plan && !mode.permits(effect),
            };
            assert!(is_right, "{mode:?} {effect:?}");
        }
    }
}

#[test]
fn edits_are_accepted_only_below_the_working_directory() {
    let policy = Policy {
        mode: PermissionMode::AcceptEdits,
        ..Policy::default()
    };
    let table = [
        ("src/a.rs", true),
        ("/home/me/project/a", true),
        ("../other/a", false),
        ("src/../../a", false),
        ("/etc/passwd", false),
        ("/home/me/project-b/a", false),
    ];
    for (path, is_accepted) in table {
        let verdict = policy.judge(&judged("Write", path, Effect::LocalMutation));
        assert_eq!(
            matches!(verdict, PolicyVerdict::Allow(_)),
            is_accepted,
            "{path}: {verdict:?}"
        );
    }
    let looked = policy.judge(&judged("Read", "/etc/passwd", Effect::ReadOnly));
    assert!(matches!(looked, PolicyVerdict::Allow(_)));
}

#[test]
fn a_rule_under_another_name_of_a_tool_means_that_tool() {
    let tools = crate::builtin(std::sync::Arc::new(crate::BackgroundProcesses::new(|| 1)));
    let resolved = |text: &str| {
        PermissionRule::parse(text)
            .unwrap()
            .resolved(&tools)
            .map(|rule| rule.to_string())
    };
    assert_eq!(resolved("execute_command(rm *)").unwrap(), "Bash(rm *)");
    assert_eq!(resolved("read").unwrap(), "Read");
    assert_eq!(resolved("mcp__*").unwrap(), "mcp__*");
    assert!(
        resolved("Bahs(rm *)")
            .unwrap_err()
            .fix
            .unwrap()
            .contains("Bash")
    );
}

#[test]
fn the_policy_knows_what_kind_of_subject_each_tool_has() {
    use rooftree_protocol::ToolKind;
    let tools = crate::builtin(std::sync::Arc::new(crate::BackgroundProcesses::new(|| 1)));
    for tool in tools.iter() {
        let name = tool.spec().name.as_str();
        let is_file_tool = matches!(
            tool.kind(),
            ToolKind::Read | ToolKind::Edit | ToolKind::Delete | ToolKind::Search
        );
        let kind = call::family(name);
        assert_eq!(kind == SubjectKind::Path, is_file_tool, "{name}");
        assert_eq!(kind == SubjectKind::Command, name == "Bash", "{name}");
    }
}

#[test]
fn plan_mode_and_deny_rules_win_over_allow_rules() {
    let allow = rules(&["Write(a)"]);
    let plan = Policy {
        mode: PermissionMode::Plan,
        allow: allow.clone(),
        ..Policy::default()
    };
    let denied = Policy {
        mode: PermissionMode::Bypass,
        allow,
        deny: rules(&["Write"]),
        ..Policy::default()
    };
    for policy in [plan, denied] {
        let verdict = policy.judge(&judged("Write", "a", Effect::LocalMutation));
        assert!(matches!(verdict, PolicyVerdict::Deny(_)), "{verdict:?}");
    }
}

#[test]
fn a_question_names_the_flag_that_would_have_allowed_it() {
    let PolicyVerdict::Ask(reason) =
        Policy::default().judge(&judged("Bash", "git status", Effect::Destructive))
    else {
        panic!("it does not ask");
    };
    assert!(reason.contains("--allow 'Bash(git status)'"), "{reason}");
    let quoted = judged("Bash", "echo 'a'", Effect::Destructive);
    let PolicyVerdict::Ask(reason) = Policy::default().judge(&quoted) else {
        panic!("it does not ask")
    };
    assert!(
        reason.contains(r"--allow 'Bash(echo '\''a'\'')'"),
        "{reason}"
    );
}

#[test]
fn a_suggested_rule_allows_the_call_and_not_its_neighbours() {
    let table = [
        ("Bash", "rm *", "rm x"),
        ("Bash", r"rm \*", "rm *"),
        ("Bash", "a (b) && c", "a"),
        ("Write", "/home/me/project/src/[a].rs", "src/a.rs"),
        ("Write", "/etc/x*", "/etc/xy"),
        ("Write", ".", "a"),
        ("TaskStop", "prc_a*", "prc_ab"),
    ];
    for (tool, subject, neighbour) in table {
        let call = judged(tool, subject, Effect::Destructive);
        let rule = Policy::suggested_rule(&call).to_string();
        assert!(
            is_allowed(&rule, tool, subject),
            "{rule} does not allow {subject}"
        );
        assert!(
            !is_allowed(&rule, tool, neighbour),
            "{rule} allows {neighbour}"
        );
    }
}

#[test]
fn a_rule_that_is_not_one_says_how_to_write_it() {
    for bad in ["", "(x)", "Bash(git", "Bash()", "rm -rf", "Bash(a) b"] {
        let problem = PermissionRule::parse(bad).unwrap_err();
        assert!(problem.fix.is_some(), "{bad}");
    }
    for good in [
        "Bash",
        "*",
        "mcp__github__*",
        "Bash(a (b))",
        "Write( src/** )",
    ] {
        assert!(PermissionRule::parse(good).is_ok(), "{good}");
    }
}

#[test]
fn a_link_is_judged_by_where_it_leads() {
    let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::os::unix::fs::symlink(outside.path(), inside.path().join("link")).unwrap();
    std::os::unix::fs::symlink(inside.path(), outside.path().join("project")).unwrap();
    let write = |subject, cwd| PolicyRequest {
        tool: "Write",
        subject: Some(subject),
        input: None,
        effect: Effect::LocalMutation,
        cwd,
    };
    let edits = Policy {
        mode: PermissionMode::AcceptEdits,
        ..Policy::default()
    };
    let is_free = |subject| {
        matches!(
            edits.judge(&write(subject, inside.path())),
            PolicyVerdict::Allow(_)
        )
    };
    assert!(is_free("a.txt") && is_free("new/a.txt"));
    assert!(!is_free("link/a.txt") && !is_free("link/new/deep/a.txt"));
    // A working directory that is itself behind a link is not outside of itself.
    let behind = outside.path().join("project");
    assert!(matches!(
        edits.judge(&write("a.txt", &behind)),
        PolicyVerdict::Allow(_)
    ));

    let through = write("link/a.txt", inside.path());
    let named = Policy {
        allow: rules(&["Write(link/**)"]),
        ..Policy::default()
    };
    assert!(matches!(named.judge(&through), PolicyVerdict::Ask(_)));
    let suggested = Policy {
        allow: vec![Policy::suggested_rule(&through)],
        ..Policy::default()
    };
    assert!(matches!(suggested.judge(&through), PolicyVerdict::Allow(_)));

    let target = format!(
        "Write({}/**)",
        outside.path().canonicalize().unwrap().display()
    );
    for deny in ["Write(link/**)", &target] {
        let bypass = Policy {
            mode: PermissionMode::Bypass,
            deny: rules(&[deny]),
            ..Policy::default()
        };
        assert!(
            matches!(bypass.judge(&through), PolicyVerdict::Deny(_)),
            "{deny}"
        );
    }
}

#[test]
fn r2_d15_the_permissions_of_daycare_are_rules() {
    let read = |text: &str| PermissionRule::parse(text).map(|rule| rule.to_string());
    assert_eq!(read("@web").unwrap(), "Web*");
    assert_eq!(read("@read:/srv/a").unwrap(), "Read(/srv/a{,/**})");
    assert_eq!(read("@write:/srv/a/").unwrap(), "Write(/srv/a{,/**})");
    for wrong in [
        "@",
        "@wbe",
        "@web:x",
        "@web(x)",
        "@read",
        "@read:",
        "@read:a",
        "@write:~/x",
        "@exec:/x",
        "@write:/srv/*",
        "@read:/a(b)",
    ] {
        let problem = read(wrong).unwrap_err();
        assert!(
            problem
                .message
                .contains("Permission must be @web, @read:<path>, or @write:<path>"),
            "{wrong}: {problem:?}"
        );
    }
    for (tool, subject, is_meant) in [
        ("Read", "/srv/a", true),
        ("Read", "/srv/a/b/c.txt", true),
        ("Read", "/srv/ab", false),
        ("Read", "/srv/a/../b", false),
        ("Write", "/srv/a/b", false),
    ] {
        assert_eq!(
            is_allowed("@read:/srv/a", tool, subject),
            is_meant,
            "{subject}"
        );
    }
    assert!(
        is_allowed("@write:/srv/a", "Write", "/srv/a/b")
            && is_allowed("@write:/srv/a", "Edit", "/srv/a")
    );
    assert!(
        !is_allowed("@write:/srv/a", "Delete", "/srv/a/b"),
        "deleting is more"
    );
    assert!(
        is_denied("@write:/srv/a", "Delete", "/srv/a/b")
            && is_denied("@read:/srv/a", "Read", "/srv/a")
    );
    assert!(
        is_denied("@web", "WebFetch", "https://a.test/") && is_denied("@web", "WebSearch", "x")
    );
    assert!(is_allowed("@web", "WebFetch", "https://a.test/") && !is_allowed("@web", "Bash", "ls"));
}
