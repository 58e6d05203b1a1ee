//! What is seen of a run that asks others: lines, events, one result for all of them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fixture::Desk;

/// A lead that asks two at once. It asks agents of its own kind; what they are asked tells them apart.
pub const TWO: &str = r#"
[[reply]]
on = "^go"
text = "I ask two."
[[reply.call]]
tool = "Task"
input = { subagent_type = "lead", description = "List", prompt = "list this place" }
[[reply.call]]
tool = "Task"
input = { subagent_type = "lead", description = "Break", prompt = "break something" }

[[reply]]
on = "^go"
text = "Both are back."

[[reply]]
on = "^list"
[[reply.call]]
tool = "List"
input = { path = "." }
[[reply]]
on = "^list"
text = "nothing here"

[[reply]]
on = "^break"
error = "refused"
message = "no such thing"
[[reply]]
on = "^break"
text = "never said"
"#;

/// A lead that starts one in background, which waits for a file and then answers.
pub const BACKGROUND: &str = r#"
[[reply]]
on = "^go"
[[reply.call]]
tool = "Task"
input = { subagent_type = "lead", description = "Dig", prompt = "dig here", run_in_background = true, isolation = "none" }
[[reply]]
on = "^go"
text = "It digs."

[[reply]]
on = "Background sub-agent"
text = "It is back."

[[reply]]
on = "^dig"
[[reply.call]]
tool = "Bash"
input = { command = "while [ ! -e open ]; do sleep 0.02; done; touch dug; echo gold" }
[[reply]]
on = "^dig"
text = "I dug up {{ all[0].text | first_line }}."
"#;

const AUTO: [&str; 2] = ["--permission-mode", "auto"];

#[test]
fn each_agent_has_a_line_when_it_begins_and_one_when_it_ends() {
    let done = Desk::new(TWO).run(&["go"]);
    assert_eq!((done.code, done.out.as_str()), (0, "Both are back.\n"));
    for line in [
        "◌ lead scripted/script.toml  List",
        "✓ lead scripted/script.toml  2 turns · 1 tool · ",
        "◌ lead scripted/script.toml  Break",
        "✗ lead scripted/script.toml  failed: the provider refused the request: no such thing",
        "✓ 2 agents · 3 tools · ",
        "trace: rooftree runs trace ",
    ] {
        assert!(done.err.contains(line), "{line}: {}", done.err);
    }
    assert!(
        !done.err.contains('\u{1b}') && !done.err.contains('\r'),
        "{:?}",
        done.err
    );
}

#[test]
fn one_result_tells_of_everybody() {
    let desk = Desk::new(TWO);
    let result = desk.run(&["-q", "-o", "json", "go"]).json();
    let runs = result["runs"].as_array().unwrap();
    let mut status: Vec<&str> = runs
        .iter()
        .map(|run| run["status"].as_str().unwrap())
        .collect();
    status.sort_unstable();
    assert_eq!(status, ["completed", "failed"]);
    for run in runs {
        assert_eq!(
            (&run["parent"], &run["mode"]),
            (&result["run"], &"parallel".into()),
            "{run}"
        );
    }
    let model = result["model"].as_str().unwrap();
    assert_eq!(result["by_model"][model]["input"], result["usage"]["input"]);
    let theirs: u64 = runs
        .iter()
        .map(|run| run["usage"]["input"].as_u64().unwrap())
        .sum();
    assert!(theirs > 0 && result["usage"]["input"].as_u64().unwrap() > theirs);
    assert_eq!(result["usage"]["cost_complete"], true);
    desk.house.is_sound();
}

#[test]
fn a_stream_has_the_events_of_all_sessions_each_without_a_gap() {
    let lines = Desk::new(TWO).run(&["-o", "stream-json", "go"]).lines();
    assert_eq!(lines.first().unwrap()["type"], "session.opened");
    assert_eq!(lines.last().unwrap()["type"], "result");
    let mut ids: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for line in &lines {
        if let (Some(session), Some(id)) = (line["session"].as_str(), line["id"].as_u64()) {
            ids.entry(session).or_default().push(id);
        }
    }
    assert_eq!(ids.len(), 3);
    for ids in ids.values() {
        assert_eq!(*ids, (1..=ids.len() as u64).collect::<Vec<_>>());
    }
    let root = &lines.first().unwrap()["session"];
    let below: Vec<&Value> = lines
        .iter()
        .filter(|line| line["type"] == "run.started" && line["session"] != *root)
        .collect();
    assert!(
        below.len() == 2 && below.iter().all(|event| !event["parent_run"].is_null()),
        "{below:?}"
    );
}

#[test]
fn agents_in_background_are_waited_for_and_so_is_what_they_wake() {
    let desk = Desk::new(BACKGROUND);
    desk.write("open", "");
    let done = desk.run(&[&AUTO[..], &["go"]].concat());
    assert_eq!(
        (done.code, done.out.as_str()),
        (0, "It digs.\nIt is back.\n"),
        "{}",
        done.err
    );
    assert!(done.err.contains("(background)"), "{}", done.err);
    let left = desk
        .house
        .rooftree(&["tasks", "list", "--running", "-o", "ids"])
        .well();
    assert_eq!(left, "");
    desk.house.is_sound();
}

#[test]
fn n_39_one_agent_in_background_can_be_left_and_is_told_in_the_singular() {
    let desk = Desk::new(BACKGROUND);
    let done = desk.run(&[&AUTO[..], &["--no-wait", "go"]].concat());
    assert_eq!((done.code, done.out.as_str()), (0, "It digs.\n"));
    assert!(
        done.err
            .contains("still at work: 1 agent in background; resume with"),
        "{}",
        done.err
    );
    let left = desk
        .house
        .rooftree(&["tasks", "list", "--running", "-o", "jsonl"])
        .lines();
    assert_eq!((left.len(), &left[0]["is_left"]), (1, &true.into()));
    desk.write("open", "");
    let session = desk
        .house
        .rooftree(&["sessions", "list", "-o", "ids"])
        .well();
    let done = desk.run(&[&AUTO[..], &["-s", session.trim()]].concat());
    assert_eq!(done.out, "It is back.\n", "{}", done.err);
    desk.house.is_sound();
}

#[test]
fn whoever_takes_too_long_is_stopped_and_that_is_said() {
    let desk = Desk::new(BACKGROUND);
    let done = desk.run(&[&AUTO[..], &["--wait", "0s", "go"]].concat());
    assert_eq!(
        (done.code, done.out.as_str()),
        (7, "It digs.\n"),
        "{}",
        done.err
    );
    assert!(
        done.err.contains("stopping lead") && done.err.contains("cancelled"),
        "{}",
        done.err
    );
    let unfinished = desk
        .house
        .rooftree(&["sessions", "list", "--all", "-o", "jsonl"])
        .lines();
    assert!(
        unfinished
            .iter()
            .all(|session| session["state"] == "resting"),
        "{unfinished:?}"
    );
}

#[test]
fn ctrl_c_stops_everybody() {
    let desk = Desk::new(BACKGROUND);
    let mut watched = desk.watch(&[&AUTO[..], &["go"]].concat());
    while watched.until("tool.started")["data"]["tool"] != "Bash" {}
    watched.signal("INT");
    let done = watched.done();
    assert_eq!(done.code, 130, "{}", done.err);
    assert_eq!(
        desk.house
            .rooftree(&["tasks", "list", "--running", "-o", "ids"])
            .well(),
        ""
    );
    desk.house.is_sound();
}

#[test]
fn a_question_of_an_agent_below_is_answered_to_that_agent() {
    let desk = Desk::new(BACKGROUND);
    desk.write("open", "");
    let mut watched = desk.watch(&["--input-format", "stream-json"]);
    watched.say(r#"{"type":"user","text":"go"}"#);
    let opened = watched.until("session.opened");
    let asked = watched.until("permission.requested");
    assert_ne!(asked["session"], opened["session"]);
    watched.say(&format!(
        r#"{{"type":"permission","id":{},"decision":"allow"}}"#,
        asked["data"]["id"]
    ));
    let settled = watched.until("permission.resolved");
    assert_eq!(
        (&settled["session"], &settled["data"]["by"]),
        (&asked["session"], &"user".into())
    );
    let last: Value = serde_json::from_str(watched.done().out.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["text"], &last["runs"][0]["status"]),
        (&"It is back.".into(), &"completed".into())
    );
}
