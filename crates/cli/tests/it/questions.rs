//! What agents ask people, and what people see and type: on a terminal, from another one, by lines.

use std::process::Stdio;

use serde_json::json;

use crate::{permissions::WRITES, run::fixture::Desk, seat::Seat};

const ASKS: &str = r#"
[[reply]]
text = "I ask."
[[reply.call]]
tool = "AskUser"
input = { questions = [
  { question = "Which colour?", header = "wall", options = [{ label = "red", description = "warm" }, { label = "green", description = "calm" }] },
  { question = "Which door?", header = "door", options = [{ label = "oak", description = "old" }, { label = "steel", description = "new" }] } ] }

[[reply]]
text = "{{ results[0].text | replace('\n', ' ') }}"
"#;

#[test]
fn a_person_sees_what_is_asked_and_answers_with_a_key() {
    let desk = Desk::new(WRITES);
    let mut seat = Seat::take(&desk, "'Write it'");
    seat.sees("? lead wants to change files");
    seat.sees("Write  new.txt");
    seat.sees("+hello");
    seat.sees("s this session   p this project   a always   for all that match");
    seat.sees("Write(new.txt)");
    seat.sees("denied automatically in");
    seat.presses_until("y", "✓ yes, once — lead: Write new.txt");
    seat.sees("written");
    assert_eq!(seat.ends(), 0);
    assert!(desk.path().join("new.txt").exists());
}

#[test]
fn n_15_a_person_is_asked_on_the_terminal_although_standard_input_is_piped() {
    let desk = Desk::new(WRITES);
    let rooftree = env!("CARGO_BIN_EXE_rooftree");
    let mut seat = Seat::with_line(&desk, &format!("echo 'Write it' | {rooftree} run"));
    seat.sees("? lead wants to change files");
    seat.sees("denied automatically in");
    seat.presses_until("y", "✓ yes, once — lead: Write new.txt");
    seat.sees("written");
    assert_eq!(seat.ends(), 0);
    assert!(desk.path().join("new.txt").exists());
}

#[test]
fn n_15_a_person_is_asked_on_the_terminal_although_standard_error_is_redirected() {
    let desk = Desk::new(WRITES);
    let mut seat = Seat::take(&desk, "'Write it' 2>err.txt");
    seat.sees("? lead wants to change files");
    seat.sees("denied automatically in");
    seat.presses_until("y", "✓ yes, once — lead: Write new.txt");
    seat.sees("written");
    assert_eq!(seat.ends(), 0);
    let log = std::fs::read_to_string(desk.path().join("err.txt")).unwrap();
    assert!(log.contains("✓ yes, once"), "{log}");
    assert!(!log.contains("wants to change files"), "{log}");
}

#[test]
fn n_15_no_input_means_that_nothing_is_asked() {
    let desk = Desk::new(WRITES);
    let mut seat = Seat::take(&desk, "'Write it' --no-input");
    seat.sees("auto-rejected");
    assert_eq!(seat.ends(), 6);
}

#[test]
fn n_30_a_wrong_key_is_answered_with_the_keys_there_are() {
    let desk = Desk::new(WRITES);
    let mut seat = Seat::take(&desk, "'Write it'");
    seat.sees("denied automatically in");
    seat.presses_until("x", "`x` is no answer: press y, n, f, s, p or a; v shows");
    seat.presses_until("n", "✗ no");
    assert_eq!(seat.ends(), 0);
}

#[test]
fn n_29_plain_lines_have_no_colours_on_a_terminal() {
    let desk = Desk::with_echo();
    let mut seat = Seat::coloured(&desk, "run hello --plain");
    seat.sees("heard: hello");
    let rest = seat.reads_to_end();
    assert!(!rest.contains('\u{1b}'), "{rest:?}");
}

#[test]
fn a_card_answered_elsewhere_goes_away_with_a_word_who_did() {
    let desk = Desk::new(WRITES);
    let mut seat = Seat::take(&desk, "'Write it'");
    seat.sees("denied automatically in");
    let id = desk
        .house
        .rooftree(&["permissions", "list", "-o", "ids"])
        .well();
    let mut command =
        desk.house
            .command(&["permissions", "deny", id.trim(), "--because", "not now"]);
    assert!(
        command
            .env("USER", "anna")
            .stderr(Stdio::null())
            .status()
            .unwrap()
            .success()
    );
    seat.sees("answered by anna elsewhere — lead: Write new.txt");
    seat.sees("[rejected: not now]");
    assert_eq!(seat.ends(), 0);
    assert!(!desk.path().join("new.txt").exists());
}

#[test]
fn a_program_answers_questions_with_lines() {
    let desk = Desk::new(ASKS);
    let mut run = desk.watch(&["--input-format", "stream-json", "Go"]);
    let asked = run.until("question.requested");
    let id = &asked["data"]["id"];
    run.say(&json!({ "type": "answer", "id": id }).to_string());
    let notice = run.until("notice");
    assert!(
        notice["data"]["message"]
            .as_str()
            .unwrap()
            .contains("either `answers` or `decline`"),
        "{notice}"
    );
    assert!(
        notice["data"]["hint"]
            .as_str()
            .unwrap()
            .contains("\"decline\":true"),
        "{notice}"
    );
    run.say(
        &json!({ "type": "answer", "id": id, "answers": { "wall": ["green"], "door": ["oak"] } })
            .to_string(),
    );
    let end = run.until("run.completed");
    let text = end["data"]["text"].as_str().unwrap();
    assert!(text.contains("green") && text.contains("oak"), "{end}");
    assert_eq!(run.done().code, 0);
}

#[test]
fn a_question_is_declined_by_a_line_or_by_leaving() {
    for line in [
        Some(json!({ "decline": true, "because": "ask later" })),
        None,
    ] {
        let desk = Desk::new(ASKS);
        let mut run = desk.watch(&["--input-format", "stream-json", "Go"]);
        let asked = run.until("question.requested");
        if let Some(mut line) = line {
            (line["type"], line["id"]) = (json!("answer"), asked["data"]["id"].clone());
            run.say(&line.to_string());
            let answered = run.until("question.answered");
            assert_eq!(
                answered["data"]["reply"]["because"], "ask later",
                "{answered}"
            );
        }
        let done = run.done();
        assert!(
            done.out.contains("\"reply\":\"declined\"") || done.code == 0,
            "{done:?}"
        );
    }
}

#[test]
fn questions_are_answered_from_another_terminal_by_number_or_name() {
    let desk = Desk::new(ASKS);
    let mut run = desk.watch(&["--input-format", "stream-json", "Go"]);
    let asked = run.until("question.requested");
    let id = asked["data"]["id"].as_str().unwrap();
    let list = desk.house.rooftree(&["permissions", "list"]);
    assert!(list.out.contains("Which colour? / Which door?"), "{list:?}");
    assert!(list.err.contains("permissions answer"), "{list:?}");
    let answer = |words: &[&str]| {
        desk.house
            .rooftree(&[&["permissions", "answer", id], words].concat())
    };
    assert!(
        answer(&["wall=2"])
            .ended(2)
            .contains("`door` is not answered")
    );
    assert!(
        answer(&["wall=9", "door=oak"])
            .ended(2)
            .contains("choose from 1 to 2")
    );
    assert!(
        desk.house
            .rooftree(&["permissions", "allow", id])
            .ended(2)
            .contains("is not asked that way")
    );
    answer(&["wall=2", "door=steel"]).well();
    let end = run.until("run.completed");
    let text = end["data"]["text"].as_str().unwrap();
    assert!(text.contains("green") && text.contains("steel"), "{end}");
    run.done();
}

#[test]
fn a_first_line_that_is_wrong_is_answered_with_a_notice() {
    let input = "nonsense\n{\"type\":\"user\",\"text\":\"hi\"}\n";
    let formats = ["--input-format", "stream-json", "-o", "stream-json"];
    let lines = Desk::with_echo().run_with_input(&formats, input).lines();
    assert_eq!(lines[0]["type"], "session.opened");
    let notices: Vec<_> = lines
        .iter()
        .filter(|line| line["data"]["code"] == "bad_input")
        .collect();
    assert_eq!(notices.len(), 1, "{lines:?}");
    assert!(
        notices[0]["data"]["hint"]
            .as_str()
            .unwrap()
            .contains("{\"type\":\"user\"")
    );
    let said = Desk::with_echo().run_with_input(&formats, "nonsense\n");
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains("standard input ended before any message")
            && said.err.contains("nonsense"),
        "{said:?}"
    );
}
