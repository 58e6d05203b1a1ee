//! What agents ask people, and what people see and type: on a terminal, from another one, by lines.

use std::{
    io::{Read, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use serde_json::json;

use crate::{permissions::WRITES, run::fixture::Desk};

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

/// The program on a terminal of its own, and somebody before it.
struct Seat {
    child: Child,
    keyboard: ChildStdin,
    screen: mpsc::Receiver<Vec<u8>>,
    seen: String,
}

impl Seat {
    fn take(desk: &Desk, arguments: &str) -> Self {
        let run = desk.command(&[]);
        let mut command = Command::new("script");
        let program = format!("{} run {arguments}", env!("CARGO_BIN_EXE_rooftree"));
        command
            .args(["-qfec", &program, "/dev/null"])
            .current_dir(desk.path());
        for (name, value) in run.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
            .env("TERM", "dumb")
            .env("SHELL", "/bin/sh")
            .env_remove("USER")
            .env("NO_COLOR", "1");
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let (tx, screen) = mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = out.read(&mut buffer) {
                if tx.send(buffer[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        let keyboard = child.stdin.take().unwrap();
        Self {
            child,
            keyboard,
            screen,
            seen: String::new(),
        }
    }

    /// Looks until these words are there; what was on the screen before them is forgotten.
    #[track_caller]
    fn sees(&mut self, words: &str) {
        while !self.seen.contains(words) {
            match self.screen.recv_timeout(Duration::from_secs(60)) {
                Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(error) => panic!("`{words}` did not come ({error}):\n{}", self.seen),
            }
        }
        let at = self.seen.find(words).unwrap() + words.len();
        self.seen = self.seen.split_off(at);
    }

    /// Presses a key until these words are there: keys count only after a card was seen for a while.
    #[track_caller]
    fn presses_until(&mut self, key: &str, words: &str) {
        for _ in 0..300 {
            self.types(key);
            if let Ok(bytes) = self.screen.recv_timeout(Duration::from_millis(200)) {
                self.seen.push_str(&String::from_utf8_lossy(&bytes));
            }
            if self.seen.contains(words) {
                return self.sees(words);
            }
        }
        panic!("`{words}` did not come:\n{}", self.seen);
    }

    fn types(&mut self, text: &str) {
        // The program may have ended meanwhile.
        let _ = self
            .keyboard
            .write_all(text.as_bytes())
            .and_then(|()| self.keyboard.flush());
    }

    fn ends(mut self) -> i32 {
        drop(self.keyboard);
        self.child.wait().unwrap().code().unwrap()
    }
}

#[test]
fn a_person_sees_what_is_asked_and_answers_with_a_key() {
    let desk = Desk::new(WRITES);
    let mut seat = Seat::take(&desk, "'Write it'");
    seat.sees("? lead wants to change files");
    seat.sees("Write  new.txt");
    seat.sees("+hello");
    seat.sees("s this session   p this project   a always   whatever matches");
    seat.sees("Write(new.txt)");
    seat.sees("no by itself in");
    seat.presses_until("y", "✓ yes, once — lead: Write new.txt");
    seat.sees("written");
    assert_eq!(seat.ends(), 0);
    assert!(desk.path().join("new.txt").exists());
}

#[test]
fn a_card_answered_elsewhere_goes_away_with_a_word_who_did() {
    let desk = Desk::new(WRITES);
    let mut seat = Seat::take(&desk, "'Write it'");
    seat.sees("no by itself in");
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
