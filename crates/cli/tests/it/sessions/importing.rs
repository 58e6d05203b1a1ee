//! `import`: what was exported comes back, whole or not at all.

use std::{fs, io::Write, process::Stdio};

use rooftree_protocol::{Outcome, Part, RunStatus};
use serde_json::{Value, json};

use super::fixture::House;

/// A house with a session that has everything, and its export in `talk.jsonl`.
fn exported() -> House {
    let house = House::new();
    house.session(Some("talk"), |writer| {
        let picture = writer.keeps(b"\x89PNG not really");
        writer.asked_with(vec![
            Part::text("Look"),
            Part::Image {
                blob: picture,
                media_type: "image/png".into(),
                bytes: 15,
            },
        ]);
        writer.calls("Read", json!({ "file_path": "notes.md" }));
        writer.returned(Outcome::Done, "first line");
        writer.answered("A picture.");
        writer.ends(RunStatus::Completed);
        writer.asked("And?");
        writer.answered("Nothing.");
        writer.ends(RunStatus::Completed);
    });
    house
        .rooftree(&["sessions", "export", "talk", "--out", "talk.jsonl"])
        .well();
    house
}

/// Lines without what must differ: the session's own id and name, where it works and its model.
fn without_ids(mut lines: Vec<Value>) -> Vec<Value> {
    for line in &mut lines {
        if line["type"] == "session" {
            line["session"]["id"].take();
            line["session"]["name"].take();
            line["session"]["cwd"].take();
            line["session"]["model"].take();
        }
        if let Some(session) = line
            .as_object_mut()
            .and_then(|line| line.get_mut("session"))
            .filter(|id| id.is_string())
        {
            session.take();
        }
    }
    lines
}

fn ids(house: &House) -> String {
    house
        .rooftree(&["sessions", "list", "--all", "-o", "ids"])
        .well()
        + &house
            .rooftree(&["sessions", "list", "--all", "--deleted", "-o", "ids"])
            .well()
}

#[test]
fn what_is_exported_imported_and_exported_again_is_the_same() {
    let house = exported();
    let id = house.rooftree(&["sessions", "import", "talk.jsonl"]).well();
    let (before, after) = (house.exported("talk"), house.exported(id.trim()));
    assert_ne!(before[0]["session"]["id"], after[0]["session"]["id"]);
    assert_eq!(after[0]["session"]["name"], "talk (2)", "names are unique");
    assert_eq!(without_ids(before), without_ids(after));
    assert!(
        house
            .rooftree(&["sessions", "search", "picture", "-o", "ids"])
            .well()
            .contains(id.trim())
    );
    house.is_sound();
}

#[test]
fn another_home_gets_the_same_session() {
    let (house, other) = (exported(), House::new());
    let file = house.path().join("talk.jsonl");
    let id = other
        .rooftree(&["sessions", "import", file.to_str().unwrap()])
        .well();
    assert_eq!(
        without_ids(house.exported("talk")),
        without_ids(other.exported(id.trim()))
    );
    assert_eq!(
        other.exported("talk")[0]["session"]["name"],
        "talk",
        "the name is free there"
    );
    other.is_sound();
}

#[test]
fn a_directory_comes_back_too() {
    let (house, other) = (exported(), House::new());
    house
        .rooftree(&[
            "sessions", "export", "talk", "--layout", "files", "--out", "talk",
        ])
        .well();
    let directory = house.path().join("talk");
    let id = other
        .rooftree(&["sessions", "import", directory.to_str().unwrap()])
        .well();
    assert_eq!(
        without_ids(house.exported("talk")),
        without_ids(other.exported(id.trim()))
    );
    other.is_sound();
    fs::remove_dir_all(directory.join("blobs")).unwrap();
    let err = other
        .rooftree(&["sessions", "import", directory.to_str().unwrap()])
        .ended(2);
    assert!(err.contains("bytes of blb_"), "{err}");
}

#[test]
fn standard_input_is_a_file_too_and_a_name_can_be_chosen() {
    let house = exported();
    let text = fs::read(house.path().join("talk.jsonl")).unwrap();
    let mut child = house
        .command(&["sessions", "import", "-", "--name", "copy"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&text).unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    house.rooftree(&["sessions", "show", "copy"]).well();
    let before = ids(&house);
    house
        .rooftree(&["sessions", "import", "talk.jsonl", "--name", "COPY"])
        .ended(2);
    assert_eq!(ids(&house), before);
}

#[test]
fn a_fork_comes_back_as_a_session_of_its_own() {
    let house = exported();
    for (at, name) in [("5", "in the middle"), ("7", "between runs")] {
        let fork = house
            .rooftree(&["sessions", "fork", "talk", "--at", at, "--name", name])
            .well();
        house.rooftree(&["sessions", "clear", fork.trim()]).well();
        house
            .rooftree(&["sessions", "export", fork.trim(), "--out", "fork.jsonl"])
            .well();
        let (other, file) = (House::new(), house.path().join("fork.jsonl"));
        other
            .rooftree(&["sessions", "import", file.to_str().unwrap()])
            .well();
        let types: Vec<Value> = other
            .rooftree(&["sessions", "events", name])
            .lines()
            .iter()
            .map(|event| event["type"].clone())
            .collect();
        assert_eq!(
            types
                .iter()
                .filter(|name| **name == "session.opened")
                .count(),
            2
        );
        assert_eq!(types.last().unwrap(), "session.cleared");
        other.is_sound();
    }
    house.is_sound();
}

#[test]
fn a_run_that_was_cut_off_is_closed_and_not_resumed() {
    let house = House::new();
    house.session(Some("cut"), |writer| {
        writer.asked("Do something");
        writer.calls("Bash", json!({ "command": "sleep 1" }));
    });
    house
        .rooftree(&["sessions", "export", "cut", "--out", "cut.jsonl"])
        .well();
    let other = House::new();
    let file = house.path().join("cut.jsonl");
    other
        .rooftree(&["sessions", "import", file.to_str().unwrap()])
        .well();
    let rows = other.rooftree(&["sessions", "list", "-o", "jsonl"]).lines();
    assert_eq!(rows[0]["state"], "resting");
    let last = other
        .rooftree(&["sessions", "events", "cut"])
        .lines()
        .pop()
        .unwrap();
    assert_eq!(
        (&last["type"], &last["data"]["status"]),
        (&json!("run.completed"), &json!("interrupted"))
    );
    other.is_sound();
}

#[test]
fn a_file_that_is_not_whole_or_not_ours_is_refused_with_its_line() {
    let house = exported();
    let good = fs::read_to_string(house.path().join("talk.jsonl")).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    let joined = |lines: &[&str]| lines.join("\n") + "\n";
    let with = |at: usize, line: &str| joined(&[&lines[..at], &[line], &lines[at + 1..]].concat());
    let last = lines.len() - 1;
    let table = [
        ("empty", String::new(), "the file"),
        (
            "torn in the last line",
            good[..good.len() - 40].to_owned(),
            &*format!("line {}", last + 1),
        ),
        (
            "torn in the middle",
            good[..good.len() / 2].to_owned(),
            "line",
        ),
        (
            "cut between two lines",
            joined(&lines[..lines.len() - 3]),
            "something was cut off",
        ),
        ("without its bytes", joined(&lines[..last]), "bytes of blb_"),
        ("foreign line", with(4, "hello"), "line 5"),
        ("empty line", with(4, ""), "line 5"),
        ("foreign object", with(4, "{\"a\":1}"), "line 5"),
        (
            "unknown event",
            with(4, &lines[4].replace("message.completed", "message.sung")),
            "line 5",
        ),
        (
            "later version of an event",
            with(4, &lines[4].replacen("\"v\":1", "\"v\":2", 1)),
            "version 2",
        ),
        (
            "later version of the file",
            with(0, &lines[0].replacen("\"v\":1", "\"v\":9", 1)),
            "version 9",
        ),
        (
            "another format",
            with(0, &lines[0].replace("rooftree.session", "other.session")),
            "line 1",
        ),
        ("no session first", joined(&lines[1..]), "line 1"),
        (
            "two sessions",
            joined(&[&lines[..], &lines[..1]].concat()),
            "second session",
        ),
        (
            "an event missing",
            joined(&[&lines[..3], &lines[4..]].concat()),
            "line 4",
        ),
        (
            "an event that is never kept",
            with(4, &lines[4].replace("message.completed", "message.delta")),
            "line 5",
        ),
        (
            "a result for nobody",
            with(5, &lines[5].replacen("call_", "call_x", 1)),
            "line 6",
        ),
        (
            "a run within a run",
            with(7, &lines[2].replace("\"id\":2", "\"id\":7")),
            "line 8",
        ),
        (
            "other bytes",
            with(
                last,
                &lines[last].replacen("\"base64\":\"", "\"base64\":\"AAAA", 1),
            ),
            "not those of",
        ),
    ];
    let before = ids(&house);
    for (what, text, wanted) in table {
        fs::write(house.path().join("bad.jsonl"), text).unwrap();
        let err = house
            .rooftree(&["sessions", "import", "bad.jsonl"])
            .ended(2);
        assert!(
            err.contains(wanted) && err.contains("nothing was imported"),
            "{what}: {err}"
        );
    }
    house
        .rooftree(&["sessions", "import", "nowhere.jsonl"])
        .ended(2);
    assert_eq!(ids(&house), before, "nothing is imported in part");
    house.is_sound();
}
