//! `run --record` and `run --replay`.

use std::fs;

use serde_json::Value;

use super::fixture::{Desk, finished};

/// Reads, writes, runs a command in the background and looks at it by the id it was given.
const WORKS: &str = r#"
[[reply]]
text = "I look first."
[[reply.call]]
tool = "Read"
input = { file_path = "notes.md" }
[[reply.call]]
tool = "Write"
input = { file_path = "new.txt", content = "hello" }

[[reply]]
[[reply.call]]
tool = "Bash"
input = { command = "sleep 60", run_in_background = true }

[[reply]]
[[reply.call]]
tool = "TaskStop"
input = { task_id = "{{ results[0].text | find('prc_[a-z0-9]+') }}" }

[[reply]]
text = "Done: {{ results[0].text }}"
"#;

/// What differs between two runs of the same work, besides ids and the directory.
const VARYING: [&str; 5] = ["ts", "at", "duration_ms", "created_at", "updated_at"];

/// A session's export without what differs between two runs of the same work.
fn journal(desk: &Desk, session: &str) -> Vec<Value> {
    let cwd = desk.path().display().to_string();
    desk.house
        .exported(session)
        .into_iter()
        .map(|event| without_variation(event, &cwd))
        .collect()
}

fn without_variation(value: Value, cwd: &str) -> Value {
    match value {
        Value::String(text) => without_ids(&text.replace(cwd, "CWD")).into(),
        Value::Array(items) => items
            .into_iter()
            .map(|item| without_variation(item, cwd))
            .collect(),
        Value::Object(fields) => {
            let same = fields
                .into_iter()
                .filter(|(name, _)| !VARYING.contains(&name.as_str()));
            Value::Object(
                same.map(|(name, field)| (name, without_variation(field, cwd)))
                    .collect(),
            )
        }
        other => other,
    }
}

/// A text whose ids have lost their tails: `call_`.
fn without_ids(text: &str) -> String {
    let mut done = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('_') {
        done.push_str(before);
        done.push('_');
        let tail = after
            .chars()
            .take_while(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit());
        let length = tail.count();
        rest = if length == 24 {
            &after[length..]
        } else {
            after
        };
    }
    done + rest
}

fn session(desk: &Desk) -> String {
    desk.house
        .rooftree(&["sessions", "list", "-o", "ids"])
        .well()
        .trim()
        .to_owned()
}

#[test]
fn a_replay_gives_the_same_journal_up_to_ids_and_times_without_the_model() {
    let first = Desk::new(WORKS);
    first.write("notes.md", "one\ntwo\n");
    let tape = first.house.path().join("run.cassette");
    let tape = tape.to_str().unwrap();
    let flags = ["--permission-mode", "bypass"];
    let done = first.run(&[&flags[..], &["--record", tape, "Do it"]].concat());
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.out.starts_with("Done: "), "{done:?}");

    // Another directory, another home, no script: everything the model says is in the file.
    let second = Desk::new("[[reply]]\ntext = \"this is not what was recorded\"");
    second.write("notes.md", "one\ntwo\n");
    let mut command = second.command(&[&flags[..], &["--replay", tape, "Do it"]].concat());
    let replayed = finished(command.env_remove("ROOFTREE_MODEL").spawn().unwrap());
    assert_eq!(replayed.code, 0, "{replayed:?}");
    assert_eq!(without_ids(&replayed.out), without_ids(&done.out));
    assert_eq!(
        journal(&second, &session(&second)),
        journal(&first, &session(&first))
    );
    assert_eq!(
        fs::read_to_string(second.path().join("new.txt")).unwrap(),
        "hello"
    );
}

#[test]
fn a_replay_stops_at_the_first_difference_and_shows_both_sides() {
    let desk = Desk::new(WORKS);
    desk.write("notes.md", "one\ntwo\n");
    desk.run(&["--permission-mode", "bypass", "--record", "tape", "Do it"])
        .well();
    desk.write("notes.md", "one\nthree\n");
    let done = desk.run(&["--permission-mode", "bypass", "--replay", "tape", "Do it"]);
    assert_eq!(done.code, 1, "{done:?}");
    assert!(
        done.err
            .contains("differs from the recording at question 2: /messages/2/results/0"),
        "{}",
        done.err
    );
    assert!(
        done.err.contains("two") && done.err.contains("three"),
        "{}",
        done.err
    );
    let done = desk.run(&["--replay", "tape", "Do something else"]);
    assert!(
        done.code == 1 && done.err.contains("question 1: /messages/0/user/0/text"),
        "{done:?}"
    );
}

#[test]
fn a_recording_is_never_written_over_and_a_broken_one_is_told_by_its_line() {
    let desk = Desk::with_echo();
    desk.run(&["--record", "tape", "hi"]).well();
    assert!(
        desk.run(&["--record", "tape", "hi"])
            .ended(2)
            .contains("there is such a file already")
    );
    assert!(
        desk.run(&["--record", "none/tape", "hi"])
            .ended(2)
            .contains("no such directory")
    );
    assert!(
        desk.run(&["--record", "other", "-m", "nowhere/x", "hi"])
            .ended(2)
            .contains("nowhere")
    );
    assert!(
        !desk.path().join("other").exists(),
        "a run that never began leaves no file"
    );
    let text = fs::read_to_string(desk.path().join("tape")).unwrap();
    desk.write(
        "tape",
        text.lines()
            .take(2)
            .chain(["{\"line\":\"exch"])
            .collect::<Vec<_>>()
            .join("\n"),
    );
    assert!(
        desk.run(&["--replay", "tape", "hi"])
            .ended(2)
            .contains("line 3: ")
    );
    assert!(
        desk.run(&["--replay", "none", "hi"])
            .ended(2)
            .contains("cannot replay")
    );
}

#[test]
fn a_key_that_was_said_is_not_recorded() {
    let desk = Desk::with_echo();
    let said = "my key is sk-test-0123456789abcdef, is it not?";
    let mut command = desk.command(&["--record", "tape", said]);
    finished(
        command
            .env("OPENAI_API_KEY", "sk-test-0123456789abcdef")
            .spawn()
            .unwrap(),
    )
    .well();
    let text = fs::read_to_string(desk.path().join("tape")).unwrap();
    assert!(
        text.contains("my key is [redacted: key of openai]") && !text.contains("0123456789abcdef"),
        "{text}"
    );
}
