//! `rooftree can` and `why`: what would be decided, and why something was.

use serde_json::json;

use crate::{permissions::WRITES, run::desk::Desk, sessions::house::Done};

fn here(desk: &Desk, arguments: &[&str]) -> Done {
    let mut command = desk.house.command(arguments);
    command.current_dir(desk.path());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    crate::run::desk::finished(command.spawn().unwrap())
}

#[test]
fn can_answers_with_words_with_json_and_with_a_number() {
    let desk = Desk::new(WRITES);
    let table: [(&[&str], i32, &str); 13] = [
        (&["lead", "Read", "a.txt"], 0, "allow: "),
        (&["lead", "Write", "a.txt"], 6, "ask: "),
        (&["lead", "write", "{\"file_path\":\"a.txt\",\"content\":\"x\"}"], 6, "lead › Write a.txt"),
        (&["lead", "Bash", "{r,}m x", "--permission-mode", "bypass"], 0, "lead › Bash {r,}m x"),
        (&["lead", "Bash", "{ ls; }"], 0, "lead › Bash { ls; }"),
        (&["lead", "Write", ".git/config", "--allow", "Write(**)"], 6, "which git obeys"),
        (&["lead", "Write", ".git/config", "--allow", "Write(.git/*)"], 0, "`Write(.git/*)`"),
        (&["lead", "Write", "a.txt", "--permission-mode", "accept-edits"], 0, "allow: mode `accept-edits`"),
        (&["lead", "Write", "/etc/a", "--permission-mode", "accept-edits"], 6, "ask: "),
        (&["lead", "Write", "a.txt", "--allow", "Write(a.*)"], 0, "`Write(a.*)`"),
        (
            &["lead", "Bash", "rm -rf /", "--permission-mode", "bypass", "--deny", "Bash(rm *)"],
            1,
            "deny: the deny rule `Bash(rm *)`",
        ),
        (&["lead", "Write", "a.txt", "--permission-mode", "plan"], 1, "deny: plan mode only looks"),
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
    assert_eq!((done.code, &answer["judgement"]["decision"]), (6, &json!("ask")));
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
        for rule in
            [&["Write(new.txt)"][..], &["Write(new.txt)", "--deny"], &["Write(new.txt)", "--ask"], &[]]
        {
            let desk = Desk::new(WRITES);
            if !rule.is_empty() {
                assert_eq!(here(&desk, &[&["permissions", "rules", "add"], rule].concat()).code, 0);
            }
            let said = here(&desk, &["can", "lead", "Write", "new.txt", "--permission-mode", mode]).code;
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
    let (id, call) = (asked["data"]["id"].as_str().unwrap(), asked["data"]["call"].as_str().unwrap());
    here(&desk, &["permissions", "allow", id, "--for", "session"]).well();
    run.until("run.completed");
    run.done();
    let session = asked["session"].as_str().unwrap();
    let event = format!("{session}:{}", asked["id"]);
    for typed in [call, id, &call[call.len() - 8..], &event] {
        let said = here(&desk, &["why", typed]).well();
        assert!(said.starts_with("lead › Write new.txt\n"), "{typed}: {said}");
        assert!(said.contains("made, because "), "{said}");
        assert!(
            said.contains("said yes (session) after") && said.contains("that made the rule Write(new.txt)"),
            "{said}"
        );
        assert!(said.contains("mode ask, says ask: "), "{said}");
    }
    // What the answer allowed, the next call of that session needs nobody for.
    desk.run(&["-s", session, "Write it again"]).well();
    let all = here(&desk, &["sessions", "events", session]).lines();
    let last = all.iter().rev().find(|event| event["type"] == "tool.started").unwrap();
    let told = here(&desk, &["why", last["data"]["call"].as_str().unwrap(), "--json"]).json();
    assert_eq!(told[0]["judged"]["decision"], "allow", "{told}");
    assert!(told[0]["decided"].as_str().unwrap().contains("`Write(new.txt)`"), "{told}");
    assert_eq!(here(&desk, &["why", "call_nobody"]).code, 8);
    assert!(here(&desk, &["why", &format!("{session}:1")]).ended(2).contains("decides about no call"));
    assert_eq!(here(&desk, &["why", &format!("{session}:9999")]).code, 8);
}

#[test]
fn why_tells_which_rule_refused() {
    let desk = Desk::new(WRITES);
    let done = desk.run(&["-o", "json", "--deny", "Write", "--permission-mode", "bypass", "Write it"]).json();
    let call = done["permission_denials"][0]["call"].as_str().unwrap();
    let said = here(&desk, &["why", call]).well();
    assert!(said.contains("not made: [denied] the deny rule `Write` refuses it"), "{said}");
    assert!(said.contains("mode bypass, says deny: the deny rule `Write`"), "{said}");
}
