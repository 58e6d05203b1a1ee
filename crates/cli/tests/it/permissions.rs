//! `rooftree permissions`: what agents ask is seen and answered from another terminal, and rules are kept.

use serde_json::{Value, json};

use crate::{run::fixture::Desk, sessions::fixture::House};

/// A model that writes a file and says what came of it.
pub const WRITES: &str = r#"
[[reply]]
times = 1000
match = "(?i)^write"
text = "I write."

[[reply.call]]
tool = "Write"
input = { file_path = "new.txt", content = "hello", overwrite = true }

[[reply]]
times = 1000
text = "{{ 'written' if results[0].ok else last.text }}"
"#;

const TALKING: [&str; 3] = ["--input-format", "stream-json", "Write it"];

fn listed(house: &House) -> Vec<Value> {
    house
        .rooftree(&["permissions", "list", "--json"])
        .json()
        .as_array()
        .unwrap()
        .clone()
}

#[test]
fn a_question_is_listed_and_answered_from_another_terminal_while_the_run_goes_on() {
    let desk = Desk::new(WRITES);
    let mut run = desk.watch(&TALKING);
    let asked = run.until("permission.requested");
    let id = asked["data"]["id"].as_str().unwrap();
    let table = desk.house.rooftree(&["permissions", "list"]);
    assert!(
        table
            .err
            .contains(&format!("permissions allow {}", &id[id.len() - 8..])),
        "{table:?}"
    );
    assert!(
        table.out.contains("Write new.txt") && table.out.contains("◌ waits"),
        "{table:?}"
    );
    let row = &listed(&desk.house)[0];
    assert_eq!(row["id"], asked["data"]["id"]);
    assert_eq!(
        (&row["tool"], &row["state"]),
        (&json!("Write"), &json!("pending"))
    );
    assert_eq!(
        (&row["is_awaited"], &row["rule"]),
        (&json!(true), &json!("Write(new.txt)"))
    );
    let shown = desk
        .house
        .rooftree(&["permissions", "show", &id[id.len() - 8..]])
        .well();
    assert!(
        shown.contains("+hello") && shown.contains("rule   Write(new.txt)"),
        "{shown}"
    );

    let said = desk.house.rooftree(&[
        "permissions",
        "allow",
        &id[id.len() - 8..],
        "--for",
        "project",
    ]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(
        said.err.starts_with("allowed: Write new.txt\nrule below "),
        "{said:?}"
    );
    assert!(
        said.err.contains(": Write(new.txt)") && !said.err.contains("no process is at work"),
        "{said:?}"
    );
    assert_eq!(
        run.until("permission.resolved")["data"]["answer"]["scope"],
        "project"
    );
    assert_eq!(run.until("run.completed")["data"]["text"], "written");
    assert_eq!(run.done().code, 0);
    assert!(listed(&desk.house).is_empty());
    let late = desk.house.rooftree(&["permissions", "deny", id]);
    assert!(late.ended(6).contains("is settled already"));

    // The rule was kept: the next run asks nobody.
    let rules = desk
        .house
        .rooftree(&["permissions", "rules", "--json"])
        .json();
    assert_eq!(
        (&rules[0]["rule"], &rules[0]["kind"]),
        (&json!("Write(new.txt)"), &json!("allow"))
    );
    assert_eq!(desk.run(&["Write it"]).well(), "written\n");
    let number = rules[0]["number"].to_string();
    desk.house
        .rooftree(&["permissions", "rules", "rm", &number])
        .well();
    assert_eq!(desk.run(&["Write it"]).code, 6);
}

#[test]
fn a_no_has_words_for_the_agent() {
    let desk = Desk::new(WRITES);
    let mut run = desk.watch(&TALKING);
    let asked = run.until("permission.requested");
    let id = asked["data"]["id"].as_str().unwrap();
    desk.house
        .rooftree(&["permissions", "deny", id, "--because", "not there"])
        .well();
    assert_eq!(
        run.until("run.completed")["data"]["text"],
        "[rejected: not there]"
    );
    assert_eq!(run.done().code, 0, "a person said no: that is an answer");
}

#[test]
fn an_answer_waits_for_a_run_that_was_killed_and_the_call_goes_on() {
    let desk = Desk::new(WRITES);
    let mut run = desk.watch(&TALKING);
    let asked = run.until("permission.requested");
    run.signal("KILL");
    run.child.wait().unwrap();
    let (id, session) = (
        asked["data"]["id"].as_str().unwrap(),
        asked["session"].as_str().unwrap(),
    );
    let list = desk.house.rooftree(&["permissions", "list"]);
    assert!(list.out.contains("! no process at work"), "{list:?}");
    assert!(list.err.contains("rooftree run -s "), "{list:?}");
    let said = desk.house.rooftree(&["permissions", "allow", id]);
    assert!(
        said.err
            .contains("the answer is kept, and it goes on with: rooftree run -s "),
        "{said:?}"
    );
    assert!(
        !desk.path().join("new.txt").exists(),
        "nothing happens before the run goes on"
    );
    assert_eq!(desk.run(&["-s", session]).well(), "written\n");
    assert!(desk.path().join("new.txt").exists());
    desk.house.is_sound();
}

#[test]
fn whoever_is_second_learns_who_was_faster() {
    let desk = Desk::new(WRITES);
    let mut run = desk.watch(&TALKING);
    let asked = run.until("permission.requested");
    let id = asked["data"]["id"].as_str().unwrap().to_owned();
    let answer = |verb: &str| {
        let mut command = desk.house.command(&["permissions", verb, &id]);
        command
            .env("USER", verb)
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap()
    };
    let both = [answer("allow"), answer("deny")].map(|child| child.wait_with_output().unwrap());
    let won = both.iter().filter(|output| output.status.success()).count();
    assert_eq!(won, 1, "{both:?}");
    let by = run.until("permission.resolved")["data"]["by"]
        .as_str()
        .unwrap()
        .to_owned();
    let lost = both.iter().find(|output| !output.status.success()).unwrap();
    let words = String::from_utf8_lossy(&lost.stderr).into_owned();
    assert!(
        words.contains(&format!("{by} was faster")) || words.contains("gone on"),
        "{words}"
    );
    run.done();
}

#[test]
fn a_line_can_be_bound_to_what_was_shown_and_a_wrong_one_ends_nothing() {
    let desk = Desk::new(WRITES);
    let mut run = desk.watch(&TALKING);
    let asked = run.until("permission.requested");
    let (id, digest) = (&asked["data"]["id"], &asked["data"]["digest"]);
    run.say(
        &json!({ "type": "permission", "id": id, "decision": "allow", "digest": "other" })
            .to_string(),
    );
    let notice = run.until("notice");
    assert!(
        notice["data"]["message"]
            .as_str()
            .unwrap()
            .contains("asks something else now"),
        "{notice}"
    );
    run.say(&json!({ "type": "permission", "id": "per_nobody", "decision": "allow" }).to_string());
    assert!(
        run.until("notice")["data"]["message"]
            .as_str()
            .unwrap()
            .contains("no open request matches")
    );
    run.say(
        &json!({ "type": "permission", "id": id, "decision": "allow", "digest": digest })
            .to_string(),
    );
    assert_eq!(run.until("run.completed")["data"]["text"], "written");
    assert_eq!(run.done().code, 0);
}

#[test]
fn rules_are_made_listed_with_their_place_and_taken_away() {
    let desk = Desk::new(WRITES);
    std::fs::write(
        desk.house.path().join("config.toml"),
        "[permission]\nallow = ['Bash(ls)']\n",
    )
    .unwrap();
    desk.write(
        ".rooftree/config.toml",
        "[permission]\nallow = ['Write']\ndeny = ['Read(.env)']\n",
    );
    let here = |arguments: &[&str]| {
        let mut command = desk.house.command(&["permissions", "rules"]);
        crate::run::fixture::finished(
            command
                .args(arguments)
                .current_dir(desk.path())
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap(),
        )
    };
    let said = here(&["add", "write(new.txt)", "--deny"]);
    assert!(
        said.err.starts_with("rule 1: deny Write(new.txt) ("),
        "{said:?}"
    );
    here(&["add", "Bash(git log *)", "--ask", "--for", "always"]).well();
    let rules = here(&["--json"]).json();
    let told: Vec<(String, String)> = rules
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| {
            (
                rule["kind"].as_str().unwrap().into(),
                rule["rule"].as_str().unwrap().into(),
            )
        })
        .collect();
    let wanted = [
        ("deny", "Write(new.txt)"),
        ("ask", "Bash(git log *)"),
        ("allow", "Bash(ls)"),
        ("deny", "Read(.env)"),
    ];
    let wanted = wanted.map(|(kind, rule)| (kind.to_owned(), rule.to_owned()));
    assert_eq!(
        told, wanted,
        "what a project would allow does not count and is not listed"
    );
    assert!(rules[2]["file"].as_str().unwrap().ends_with("config.toml"));
    // A deny rule holds in every mode, and is no question that nobody could answer.
    let done = desk.run(&["--permission-mode", "bypass", "Write it"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(
        done.err
            .contains("the deny rule `Write(new.txt)` refuses it"),
        "{done:?}"
    );
    here(&["rm", "1"]).well();
    assert!(here(&["rm", "1"]).ended(8).contains("there is no rule 1"));
    for (rule, words) in [("Wrte(x)", "names no tool"), ("Bash(", "is not a rule")] {
        let said = here(&["add", rule]).ended(2);
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn nothing_is_asked_where_nothing_ever_was() {
    let house = House::new();
    let done = house.rooftree(&["permissions", "list"]);
    assert_eq!(
        (done.code, done.out.as_str(), done.err.as_str()),
        (0, "", "nothing waits for an answer\n")
    );
    assert_eq!(house.rooftree(&["permissions", "allow", "abcd"]).code, 8);
    assert!(!house.database().exists(), "looking makes nothing");
}

#[test]
fn rules_of_another_program_are_shown_as_ours_before_they_are_saved() {
    let desk = Desk::new(WRITES);
    let settings = json!({ "permissions": {
        "allow": ["Bash(git log:*)", "Edit(new.txt)", "Bash(git * main)"],
        "deny": ["Read(.env)"],
        "defaultMode": "acceptEdits",
    }});
    desk.write(".claude/settings.json", settings.to_string());
    let import = |arguments: &[&str]| {
        let mut command = desk.house.command(&["permissions", "import"]);
        command.args(arguments).current_dir(desk.path());
        command
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        crate::run::fixture::finished(command.spawn().unwrap())
    };
    let said = import(&[]).ended(6);
    assert!(
        said.contains("deny  Read(**/.env)") && said.contains("add --yes"),
        "{said}"
    );
    assert!(
        said.contains("! ") && said.contains("Bash(git * main)"),
        "what is lost is said: {said}"
    );
    assert_eq!(
        desk.house.rooftree(&["permissions", "rules"]).well(),
        "",
        "nothing is saved unasked"
    );
    let said = import(&["--yes"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(
        said.err.contains("rule 1: deny Read(**/.env) ("),
        "{said:?}"
    );
    assert_eq!(
        desk.run(&["Write it"]).well(),
        "written\n",
        "its rules hold here now"
    );
    assert!(import(&["nowhere.json"]).ended(2).contains("cannot import"));
    desk.write("broken.json", "{");
    assert!(import(&["broken.json"]).ended(2).contains("cannot import"));
}

#[test]
fn rules_may_name_every_tool_and_an_unknown_one_is_told_when_it_is_imported() {
    let house = House::new();
    for rule in ["Task(explore)", "Task(agents:12)", "Skill(deploy)"] {
        let added = house.rooftree(&["permissions", "rules", "add", rule, "--deny"]);
        assert!(added.code == 0 && added.err.contains(rule), "{added:?}");
    }
    let can = house.rooftree(&[
        "can",
        "lead",
        "Task",
        r#"{"subagent_type":"explore","description":"look","prompt":"Look."}"#,
    ]);
    assert!(
        can.code == 1 && can.out.contains("deny rule `Task(explore)`"),
        "{can:?}"
    );
    // A rule of another program's settings is not left out either.
    let desk = Desk::new(WRITES);
    let settings = json!({ "permissions": { "deny": ["Task(explore)"] }});
    desk.write(".claude/settings.json", settings.to_string());
    let mut can = desk.house.command(&["can", "lead", "Task"]);
    can.arg(r#"{"subagent_type":"explore","description":"look","prompt":"Look."}"#)
        .current_dir(desk.path());
    let can = can.output().unwrap();
    assert_eq!(can.status.code(), Some(1), "{can:?}");
    let file = house.path().join("theirs.json");
    std::fs::write(&file, r#"{"permissions": {"allow": ["Foo(x)", "Read"]}}"#).unwrap();
    let imported = house.rooftree(&["permissions", "import", "--yes", file.to_str().unwrap()]);
    assert!(
        imported.code == 0 && imported.err.contains("`Foo(x)` names no tool that exists"),
        "{imported:?}"
    );
}
