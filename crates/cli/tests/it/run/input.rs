//! Standard input: as the message, below the message, and as a program's side of the talk.

use serde_json::{Value, json};

use rooftree_protocol::{Lane, Message, MessageId, Origin, Part, SessionId, Timestamp};
use rooftree_store::{InboxPost, SqliteStore, prelude::*};

use super::fixture::Desk;

const ASKS: &str = r#"
[[reply]]
times = 1000
match = "(?i)^write"
text = "I write."

[[reply.call]]
tool = "Write"
input = { file_path = "new.txt", content = "hello" }

[[reply]]
times = 1000
text = "{{ last.text | first_line }}"
"#;

#[test]
fn piped_text_is_the_message() {
    let desk = Desk::with_echo();
    assert_eq!(
        desk.run_with_input(&[], "from a pipe\n").well(),
        "heard: from a pipe\n"
    );
    assert_eq!(
        desk.run_with_input(&["-"], "from a pipe\n").well(),
        "heard: from a pipe\n"
    );
}

#[test]
fn piped_text_stands_below_what_was_typed() {
    let said = Desk::with_echo()
        .run_with_input(&["Explain", "this"], "line 1\nline 2\n")
        .well();
    assert_eq!(
        said,
        "heard: Explain this\n\n<stdin>\nline 1\nline 2\n</stdin>\n"
    );
}

#[test]
fn standard_input_is_left_alone_if_nothing_may_be_asked() {
    let said = Desk::with_echo()
        .run_with_input(&["--no-input", "Hello"], "not read")
        .well();
    assert_eq!(said, "heard: Hello\n");
}

#[test]
fn a_message_of_a_megabyte_that_begins_with_a_dash_arrives() {
    let long = format!("-{}", "x".repeat(1 << 20));
    // It is larger than the window; that is for the provider to refuse, not for us to shorten.
    let said = Desk::with_echo().run_with_input(&["-"], &long).well();
    assert_eq!(said.len(), "heard: \n".len() + long.len());
    assert_eq!(Desk::with_echo().run(&["--", "-v"]).well(), "heard: -v\n");
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let desk = Desk::with_echo();
    let mut child = desk
        .command(&[])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"\xff\xfe\x00").unwrap();
    let said = super::fixture::finished(child).ended(2);
    assert!(said.contains("standard input is not text"), "{said}");
}

#[test]
fn a_program_can_say_several_things_one_after_the_other() {
    let desk = Desk::with_echo();
    let input = "{\"type\":\"user\",\"text\":\"one\"}\n\n{\"type\":\"user\",\"text\":\"two\"}\n";
    let lines = desk
        .run_with_input(
            &["--input-format", "stream-json", "-o", "stream-json"],
            input,
        )
        .lines();
    let ends: Vec<&str> = lines
        .iter()
        .filter(|line| line["type"] == "run.completed")
        .map(|line| line["data"]["text"].as_str().unwrap())
        .collect();
    assert_eq!(ends, ["heard: one", "heard: two"]);
    assert_eq!(lines.last().unwrap()["type"], "result");
    assert_eq!(lines.last().unwrap()["text"], "heard: two");
}

#[test]
fn a_line_that_is_wrong_is_told_and_the_talk_goes_on() {
    let desk = Desk::with_echo();
    let input = "{\"type\":\"user\",\"text\":\"one\"}\nnonsense\n{\"type\":\"dance\"}\n";
    let done = desk.run_with_input(
        &["--input-format", "stream-json", "-o", "stream-json"],
        input,
    );
    assert!(done.err.contains("not understood"), "{}", done.err);
    let lines = done.lines();
    let notices: Vec<&Value> = lines
        .iter()
        .filter(|line| line["data"]["code"] == "bad_input")
        .collect();
    assert_eq!(notices.len(), 2);
    assert_eq!(lines.last().unwrap()["text"], "heard: one");
}

#[test]
fn a_program_can_permit_and_refuse() {
    for (decision, text) in [("allow", "Wrote"), ("deny", "[rejected: not that one]")] {
        let desk = Desk::new(ASKS);
        let mut watched = desk.watch(&["--input-format", "stream-json", "Write it"]);
        let asked = watched.until("permission.requested");
        assert_eq!(asked["data"]["rule"], "Write(new.txt)");
        let answer = json!({
            "type": "permission", "id": asked["data"]["id"], "decision": decision, "because": "not that one"
        });
        watched.say(&answer.to_string());
        let ended = watched.until("run.completed");
        assert!(
            ended["data"]["text"].as_str().unwrap().starts_with(text),
            "{ended}"
        );
        assert_eq!(watched.done().code, 0);
        assert_eq!(desk.path().join("new.txt").exists(), decision == "allow");
    }
}

#[test]
fn a_program_that_leaves_a_question_open_permits_nothing() {
    let desk = Desk::new(ASKS);
    let mut watched = desk.watch(&["--input-format", "stream-json", "Write it"]);
    watched.until("permission.requested");
    let done = watched.done();
    assert_eq!(done.code, 6, "{done:?}");
    assert!(!desk.path().join("new.txt").exists());
}

#[test]
fn a_program_can_steer_and_cancel() {
    let script = "[[reply]]\nmatch = \"left\"\ntext = \"turning\"\n[[reply]]\ntext = \"I wait.\"\n[[reply.call]]\n\
                  tool = \"Bash\"\ninput = { command = \"sleep 60\" }\n[[reply]]\ntext = \"straight on\"";
    let desk = Desk::new(script);
    let mut watched = desk.watch(&[
        "--input-format",
        "stream-json",
        "--permission-mode",
        "bypass",
        "Go",
    ]);
    watched.until("tool.started");
    watched.say("{\"type\":\"cancel\"}");
    assert_eq!(
        watched.until("run.completed")["data"]["status"],
        "cancelled"
    );
    watched.say("{\"type\":\"steer\",\"text\":\"left\"}");
    assert_eq!(watched.until("run.completed")["data"]["text"], "turning");
    assert_eq!(watched.done().code, 0);
}

#[test]
fn the_first_line_is_the_opened_session_whatever_was_not_understood_before() {
    let lines = "{\"type\":\"user\",\"text\":\"hi\"}\nnonsense\n";
    let formats = ["--input-format", "stream-json", "-o", "stream-json"];
    let said = Desk::with_echo().run_with_input(&formats, lines).well();
    let types: Vec<Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(types.first().unwrap()["type"], "session.opened", "{said}");
    assert_eq!(
        types
            .iter()
            .filter(|event| event["data"]["code"] == "bad_input")
            .count(),
        1,
        "{said}"
    );
}

/// Fills the inbox of a session up to its limit.
async fn fill_inbox(desk: &Desk, session: &SessionId) {
    let store = SqliteStore::open(desk.house.path().join("rooftree.db")).unwrap();
    let post = |number: u128| {
        let message = Message {
            id: MessageId::from_entropy(number),
            parts: vec![Part::text("more")],
            origin: Origin::User,
            outside: false,
            silent: true,
            context: None,
            mandate: None,
            call: None,
            restriction: None,
            revision: 0,
            who: None,
            at: Timestamp(1),
        };
        let key = format!("fill:{number}");
        store.post(InboxPost {
            session: session.clone(),
            lane: Lane::Mail,
            key,
            message,
            capacity: u64::MAX,
        })
    };
    let posted: Vec<_> = (0..10_000).map(post).collect();
    for one in posted {
        one.await.unwrap();
    }
}

#[tokio::test]
async fn s_l5_a_line_that_does_not_fit_into_the_inbox_is_refused_and_the_run_goes_on() {
    let desk = Desk::new(
        "[[reply]]\n[[reply.call]]\ntool = \"Bash\"\ninput = { command = \"until [ -e open ]; do sleep 0.05; done\" }\n\
         [[reply]]\ntimes = 100000\ntext = \"finished\"\n",
    );
    let mut watched = desk.watch(&["--permission-mode", "auto", "--input-format", "stream-json"]);
    watched.say(r#"{"type": "user", "text": "go"}"#);
    let started = watched.until("tool.started");
    let session: SessionId = serde_json::from_value(started["session"].clone()).unwrap();
    fill_inbox(&desk, &session).await;
    watched.say(r#"{"type": "user", "text": "one too many"}"#);
    let told = watched.until("notice").to_string();
    assert!(told.contains("inbox"), "{told}");
    desk.write("open", "");
    assert_eq!(watched.until("run.completed")["data"]["text"], "finished");
    watched.signal("KILL");
    watched.done();
}
