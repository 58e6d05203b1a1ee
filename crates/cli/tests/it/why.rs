//! `rooftree can` and `why`: what would be decided, and why something was.

use serde_json::json;

use crate::{permissions::WRITES, run::fixture::Desk, sessions::fixture::Done};

fn here(desk: &Desk, arguments: &[&str]) -> Done {
    let mut command = desk.house.command(arguments);
    command.current_dir(desk.path());
    command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    crate::run::fixture::finished(command.spawn().unwrap())
}

#[test]
fn can_answers_with_words_with_json_and_with_a_number() {
    let desk = Desk::new(WRITES);
    let table: [(&[&str], i32, &str); 13] = [
        (&["lead", "Read", "a.txt"], 0, "allow: "),
        (&["lead", "Write", "a.txt"], 6, "ask: "),
        (
            &[
                "lead",
                "write",
                "{\"file_path\":\"a.txt\",\"content\":\"x\"}",
            ],
            6,
            "lead › Write a.txt",
        ),
        (
            &["lead", "Bash", "{r,}m x", "--permission-mode", "bypass"],
            0,
            "lead › Bash {r,}m x",
        ),
        (&["lead", "Bash", "{ ls; }"], 0, "lead › Bash { ls; }"),
        (
            &["lead", "Write", ".git/config", "--allow", "Write(**)"],
            6,
            "which git obeys",
        ),
        (
            &["lead", "Write", ".git/config", "--allow", "Write(.git/*)"],
            0,
            "`Write(.git/*)`",
        ),
        (
            &[
                "lead",
                "Write",
                "a.txt",
                "--permission-mode",
                "accept-edits",
            ],
            0,
            "allow: mode `accept-edits`",
        ),
        (
            &[
                "lead",
                "Write",
                "/etc/a",
                "--permission-mode",
                "accept-edits",
            ],
            6,
            "ask: ",
        ),
        (
            &["lead", "Write", "a.txt", "--allow", "Write(a.*)"],
            0,
            "`Write(a.*)`",
        ),
        (
            &[
                "lead",
                "Bash",
                "rm -rf /",
                "--permission-mode",
                "bypass",
                "--deny",
                "Bash(rm *)",
            ],
            1,
            "deny: the deny rule `Bash(rm *)`",
        ),
        (
            &["lead", "Write", "a.txt", "--permission-mode", "plan"],
            1,
            "deny: plan mode only looks",
        ),
        (
            &["explore", "Write", "a.txt", "--permission-mode", "bypass"],
            1,
            "scope: the agent does not have it",
        ),
    ];
    for (arguments, code, words) in table {
        let done = here(&desk, &[&["can"], arguments].concat());
        assert_eq!(done.code, code, "{arguments:?}: {done:?}");
        assert!(done.out.contains(words), "{arguments:?}: {done:?}");
    }
    let done = here(&desk, &["can", "lead", "Write", "a.txt", "--json"]);
    let answer: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(
        (done.code, &answer["judgement"]["decision"]),
        (6, &json!("ask"))
    );
    assert_eq!(answer["judgement"]["rule"], "Write(a.txt)");
    for (arguments, code) in [
        (["can", "nobody", "Read", "x"], 8),
        (["can", "lead", "Raed", "x"], 8),
        (["can", "lead", "TodoWrite", "{"], 2),
    ] {
        assert_eq!(here(&desk, &arguments).code, code, "{arguments:?}");
    }
}

#[test]
fn can_and_a_run_agree_also_about_rules_people_made() {
    for mode in ["plan", "ask", "accept-edits", "auto", "bypass"] {
        for rule in [
            &["Write(new.txt)"][..],
            &["Write(new.txt)", "--deny"],
            &["Write(new.txt)", "--ask"],
            &[],
        ] {
            let desk = Desk::new(WRITES);
            if !rule.is_empty() {
                assert_eq!(
                    here(&desk, &[&["permissions", "rules", "add"], rule].concat()).code,
                    0
                );
            }
            let said = here(
                &desk,
                &["can", "lead", "Write", "new.txt", "--permission-mode", mode],
            )
            .code;
            let did = desk.run(&["--permission-mode", mode, "Write it"]);
            let wanted = match (desk.path().join("new.txt").exists(), did.code) {
                (true, 0) => 0,
                (false, 6) => 6,
                (false, 0) => 1,
                other => panic!("{mode} {rule:?}: {other:?}"),
            };
            assert_eq!(said, wanted, "{mode} {rule:?}: {did:?}");
        }
    }
}

#[test]
fn why_tells_how_a_past_call_was_decided() {
    let desk = Desk::new(WRITES);
    let mut run = desk.watch(&["--input-format", "stream-json", "Write it"]);
    let asked = run.until("permission.requested");
    let (id, call) = (
        asked["data"]["id"].as_str().unwrap(),
        asked["data"]["call"].as_str().unwrap(),
    );
    here(&desk, &["permissions", "allow", id, "--for", "session"]).well();
    run.until("run.completed");
    run.done();
    let session = asked["session"].as_str().unwrap();
    let event = format!("{session}:{}", asked["id"]);
    for typed in [call, id, &call[call.len() - 8..], &event] {
        let said = here(&desk, &["why", typed]).well();
        assert!(
            said.starts_with("lead › Write new.txt\n"),
            "{typed}: {said}"
        );
        assert!(said.contains("made, because "), "{said}");
        assert!(
            said.contains("said yes (session) after")
                && said.contains("that made the rule Write(new.txt)"),
            "{said}"
        );
        assert!(said.contains("mode ask, says ask: "), "{said}");
    }
    // What the answer allowed, the next call of that session needs nobody for.
    desk.run(&["-s", session, "Write it again"]).well();
    let all = here(&desk, &["sessions", "events", session]).lines();
    let last = all
        .iter()
        .rev()
        .find(|event| event["type"] == "tool.started")
        .unwrap();
    let told = here(
        &desk,
        &["why", last["data"]["call"].as_str().unwrap(), "--json"],
    )
    .json();
    assert_eq!(told[0]["judged"]["decision"], "allow", "{told}");
    assert!(
        told[0]["decided"]
            .as_str()
            .unwrap()
            .contains("`Write(new.txt)`"),
        "{told}"
    );
    assert_eq!(here(&desk, &["why", "call_nobody"]).code, 8);
    assert!(
        here(&desk, &["why", &format!("{session}:1")])
            .ended(2)
            .contains("decides about no call")
    );
    assert_eq!(here(&desk, &["why", &format!("{session}:9999")]).code, 8);
}

#[test]
fn why_tells_which_rule_refused() {
    let desk = Desk::new(WRITES);
    let done = desk
        .run(&[
            "-o",
            "json",
            "--deny",
            "Write",
            "--permission-mode",
            "bypass",
            "Write it",
        ])
        .json();
    let call = done["permission_denials"][0]["call"].as_str().unwrap();
    let said = here(&desk, &["why", call]).well();
    assert!(
        said.contains("not made: [denied] the deny rule `Write` refuses it"),
        "{said}"
    );
    assert!(
        said.contains("mode bypass, says deny: the deny rule `Write`"),
        "{said}"
    );
}

#[test]
fn can_tells_what_a_skill_leaves() {
    let desk = Desk::new(WRITES);
    let place = desk.house.path().join("skills/narrow");
    std::fs::create_dir_all(&place).unwrap();
    let skill = "---\nname: narrow\ndescription: Commits\nallowed-tools: Bash(git commit:*) Bash(git add *), Edit(docs/**)\n---\nCommit.";
    std::fs::write(place.join("SKILL.md"), skill).unwrap();
    let table: [(&[&str], i32, &str); 5] = [
        (
            &["Bash", "git add . && git commit -m x"],
            0,
            "skills that are followed (3 rules): have nothing against it",
        ),
        (
            &["Bash", "git push"],
            1,
            "deny: the skill `narrow` is followed, and it uses only Bash(git commit:*),",
        ),
        (&["Write", "src/a.rs"], 1, "the skill `narrow` is followed"),
        (&["Write", "docs/a.md"], 0, "allow: "),
        (&["Read", "src/a.rs"], 0, "allow: "),
    ];
    for (call, code, words) in table {
        let flags = ["--permission-mode", "bypass", "--skill", "NARROW"];
        let done = here(&desk, &[&["can", "lead"], call, &flags[..]].concat());
        assert_eq!(done.code, code, "{call:?}: {done:?}");
        assert!(done.out.contains(words), "{call:?}: {done:?}");
    }
    let done = here(&desk, &["can", "lead", "Read", "a", "--skill", "other"]);
    assert!(done.ended(2).contains("skills there are: narrow"));
}

/// A server of ours as a project's own folder has it.
fn server(options: &[&str]) -> String {
    let written = concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/mcp/server.py");
    let program = std::fs::canonicalize(written)
        .unwrap()
        .display()
        .to_string();
    let args: Vec<&str> = [program.as_str()]
        .into_iter()
        .chain(options.iter().copied())
        .collect();
    json!({"mcpServers": {"one": {"command": "python3", "args": args}}}).to_string()
}

#[test]
fn can_knows_the_tools_of_servers_that_were_seen_and_starts_none() {
    let desk = Desk::new(WRITES);
    let heard = desk.path().join("heard").display().to_string();
    std::fs::write(
        desk.house.path().join("mcp.json"),
        server(&["--reading", "--record", &heard]),
    )
    .unwrap();
    let can = |arguments: &[&str]| here(&desk, &[&["can", "lead"], arguments].concat());
    let unseen = can(&["mcp__one__echo", "hello"]);
    assert_eq!(unseen.code, 8, "{unseen:?}");
    assert!(
        unseen.err.contains("`one` was never reached")
            && unseen.err.contains("rooftree mcp test one")
    );
    assert!(
        !std::path::Path::new(&heard).exists(),
        "nothing is started to find out"
    );
    here(&desk, &["mcp", "test", "one"]).well();
    let before = std::fs::read_to_string(&heard).unwrap();
    let table: [(&[&str], i32, &str); 6] = [
        (&["mcp__one__echo", "hello"], 6, "ask: mcp__one__echo"),
        (
            &["mcp__one__echo", "hello", "--allow", "mcp__one"],
            0,
            "allow: the rule `mcp__one__*`",
        ),
        (
            &[
                "mcp__one__echo",
                "hello",
                "--permission-mode",
                "bypass",
                "--deny",
                "mcp__one",
            ],
            1,
            "deny: ",
        ),
        (
            &[
                "ReadMcpResource",
                r#"{"uri": "note:///first"}"#,
                "--allow",
                "mcp__one",
            ],
            0,
            "allow: ",
        ),
        (
            &[
                "ReadMcpResource",
                r#"{"uri": "x"}"#,
                "--permission-mode",
                "bypass",
                "--deny",
                "mcp__one",
            ],
            1,
            "deny: the deny rule `mcp__one__*`",
        ),
        (&["mcp__one__gone", "{}"], 8, ""),
    ];
    for (arguments, code, words) in table {
        let done = can(arguments);
        assert_eq!(done.code, code, "{arguments:?}: {done:?}");
        assert!(done.out.contains(words), "{arguments:?}: {done:?}");
    }
    let scoped = here(
        &desk,
        &[
            "can",
            "explore",
            "mcp__one__echo",
            "hello",
            "--permission-mode",
            "bypass",
        ],
    );
    assert_eq!(scoped.code, 1, "{scoped:?}");
    assert_eq!(
        std::fs::read_to_string(&heard).unwrap(),
        before,
        "nobody was asked"
    );
}

#[test]
fn can_names_the_hooks_that_would_be_asked_and_asks_none() {
    let desk = Desk::new(WRITES);
    let guard = format!("touch {}", desk.path().join("asked").display());
    let hooks = json!({"hooks": {"PreToolUse": [
        {"matcher": "Write", "hooks": [{"type": "command", "command": guard}]},
        {"matcher": "Bash", "hooks": [{"type": "command", "command": "other-guard"}]},
    ]}});
    std::fs::write(desk.house.path().join("hooks.json"), hooks.to_string()).unwrap();
    let said = here(
        &desk,
        &[
            "can",
            "lead",
            "Write",
            "a.txt",
            "--permission-mode",
            "accept-edits",
        ],
    )
    .well();
    assert!(said.contains(&format!(
        "a hook would be asked first, and could refuse or change it: `{guard}`"
    )));
    assert!(!said.contains("other-guard"), "{said}");
    let answer = here(&desk, &["can", "lead", "Bash", "ls", "--json"]).out;
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(
        answer["judgement"]["hooks"][0]["hook"], "other-guard",
        "{answer}"
    );
    let refused = here(&desk, &["can", "lead", "Write", "a.txt", "--deny", "Write"]);
    assert!(
        refused.code == 1 && !refused.out.contains("a hook"),
        "{refused:?}"
    );
    assert!(!desk.path().join("asked").exists(), "nobody was asked");
}

/// Reads something from outside, then runs a command.
const WARY: &str = r#"
[[reply]]
[[reply.call]]
tool = "mcp__one__look"
input = {}

[[reply]]
[[reply.call]]
tool = "Bash"
input = { command = "touch made" }

[[reply]]
text = "done"
"#;

#[test]
fn why_tells_the_mode_and_the_rules_that_really_held() {
    for (wary, mode, decision) in [(true, "accept-edits", "ask"), (false, "auto", "allow")] {
        let desk = Desk::new(WARY);
        std::fs::write(desk.house.path().join("mcp.json"), server(&[])).unwrap();
        let settings = format!("[permission]\nwary = {wary}\n");
        std::fs::write(desk.house.path().join("config.toml"), settings).unwrap();
        let run = desk.run(&[
            "--permission-mode",
            "auto",
            "--allow",
            "mcp__one",
            "-o",
            "json",
            "go",
        ]);
        assert_eq!(desk.path().join("made").exists(), !wary, "{run:?}");
        let said: serde_json::Value = serde_json::from_str(&run.out).unwrap();
        let session = said["session"].as_str().unwrap().to_owned();
        let all = here(&desk, &["sessions", "events", &session]).lines();
        let calls: Vec<&str> = all
            .iter()
            .filter(|event| event["type"] == "tool.completed")
            .map(|event| event["data"]["call"].as_str().unwrap())
            .collect();
        // What holds when somebody looks is not what held.
        std::fs::write(
            desk.house.path().join("config.toml"),
            "[permission]\nwary = true\n",
        )
        .unwrap();
        let told = |call: &str| here(&desk, &["why", call, "--json"]).json()[0].clone();
        let (look, touch) = (told(calls[0]), told(calls[1]));
        assert_eq!(
            (&look["policy"]["mode"], &look["judged"]["decision"]),
            (&json!("auto"), &json!("allow"))
        );
        assert_eq!(
            (&touch["policy"]["mode"], &touch["judged"]["decision"]),
            (&json!(mode), &json!(decision))
        );
        let narrowed = touch["policy"]["wary"].as_str();
        assert_eq!(
            narrowed.is_some_and(|read| read.contains("mcp__one__look")),
            wary,
            "{touch}"
        );
        assert_eq!(
            all.iter()
                .filter(|event| event["type"] == "permission.policy")
                .count(),
            usize::from(wary)
        );
    }
}
