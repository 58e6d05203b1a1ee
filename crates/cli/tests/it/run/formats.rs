//! What is written where, in which form.

use serde_json::Value;

use super::fixture::Desk;

const READS: &str = r#"
[script]
chunk = 3

[[reply]]
text = "Let me look."

[[reply.call]]
tool = "Read"
input = { file_path = "notes.md" }

[[reply]]
text = "It says: {{ results[0].text | find('→(.*)') }}"
"#;

fn reading_desk() -> Desk {
    let desk = Desk::new(READS);
    desk.write("notes.md", "buy milk\n");
    desk
}

#[test]
fn the_answer_alone_goes_to_standard_output() {
    let done = reading_desk().run(&["What do my notes say?"]);
    assert_eq!((done.code, done.out.as_str()), (0, "It says: buy milk\n"));
    assert!(done.err.contains("⏺ Read notes.md"), "{}", done.err);
    assert!(done.err.contains("✓ 2 turns · 1 tool · "), "{}", done.err);
    assert!(
        done.err.contains("continue with: rooftree run -s "),
        "{}",
        done.err
    );
    assert!(
        !done.err.contains('\u{1b}') && !done.err.contains('\r'),
        "{:?}",
        done.err
    );
}

#[test]
fn quiet_says_nothing_but_the_answer() {
    let done = reading_desk().run(&["-q", "What do my notes say?"]);
    assert_eq!(
        (done.out.as_str(), done.err.as_str()),
        ("It says: buy milk\n", "")
    );
}

#[test]
fn colours_come_only_when_they_are_asked_for() {
    let desk = reading_desk();
    let coloured = desk.run(&["--color", "always", "What?"]);
    assert!(coloured.err.contains("\u{1b}[32m") && !coloured.out.contains('\u{1b}'));
    let plain = finished(
        desk.command(&["What?"])
            .env("NO_COLOR", "1")
            .env("CLICOLOR_FORCE", "1"),
    );
    assert!(!plain.contains('\u{1b}'));
}

fn finished(command: &mut std::process::Command) -> String {
    super::fixture::finished(command.spawn().unwrap()).err
}

#[test]
fn json_is_one_object_with_everything_in_it() {
    let result = reading_desk().run(&["-o", "json", "What?"]).json();
    for (key, value) in [
        ("type", "result".into()),
        ("v", 1.into()),
        ("status", "completed".into()),
        ("text", "It says: buy milk".into()),
        ("agent", "lead".into()),
        ("turns", 2.into()),
        ("permission_denials", Value::Array(Vec::new())),
        ("error", Value::Null),
        ("exit_code", 0.into()),
    ] {
        assert_eq!(result[key], value, "{key} of {result}");
    }
    assert!(result["session"].as_str().unwrap().starts_with("ses_"));
    assert!(result["run"].as_str().unwrap().starts_with("run_"));
    let model = result["model"].as_str().unwrap();
    assert_eq!(result["by_model"][model]["input"], result["usage"]["input"]);
}

#[test]
fn what_fails_before_a_run_is_an_object_too() {
    let done = reading_desk().run(&["-o", "json", "-a", "nobody", "Hello"]);
    assert_eq!(done.code, 8);
    let result: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(
        (&result["status"], &result["exit_code"]),
        (&"failed".into(), &8.into())
    );
    assert_eq!(result["error"]["code"], "agent_not_found");
}

#[test]
fn a_stream_begins_with_the_session_and_ends_with_the_result() {
    let lines = reading_desk().run(&["-o", "stream-json", "What?"]).lines();
    assert_eq!(lines.first().unwrap()["type"], "session.opened");
    assert_eq!(lines.last().unwrap()["type"], "result");
    let ids: Vec<u64> = lines
        .iter()
        .filter_map(|line| line["id"].as_u64())
        .collect();
    assert_eq!(
        ids,
        (1..=ids.len() as u64).collect::<Vec<_>>(),
        "no gap in what is kept"
    );
    let of = |wanted: &str| lines.iter().filter(|line| line["type"] == wanted).count();
    assert_eq!(
        (of("run.started"), of("run.completed"), of("message.delta")),
        (1, 1, 0)
    );
}

#[test]
fn deltas_come_when_they_are_asked_for_and_make_up_the_text() {
    let lines = reading_desk()
        .run(&["-o", "stream-json", "--include-deltas", "What?"])
        .lines();
    let deltas = lines.iter().filter(|line| line["type"] == "message.delta");
    let text: String = deltas
        .map(|line| line["data"]["text"].as_str().unwrap())
        .collect();
    assert_eq!(text, "Let me look.It says: buy milk");
}

#[test]
fn a_session_that_exists_is_announced_all_the_same() {
    let desk = Desk::with_echo();
    let first = desk.run(&["-o", "json", "one"]).json();
    let session = first["session"].as_str().unwrap();
    let lines = desk
        .run(&["-o", "stream-json", "-s", session, "two"])
        .lines();
    let opened = lines.first().unwrap();
    assert_eq!(
        (&opened["type"], &opened["session"]),
        (&"session.opened".into(), &session.into())
    );
    assert_eq!(lines.last().unwrap()["text"], "heard: two");
    let said: Vec<&Value> = lines
        .iter()
        .filter(|line| line["type"] == "message.user")
        .collect();
    assert_eq!(said.len(), 1, "what was said earlier is not told again");
}

#[test]
fn the_last_message_is_also_put_into_a_file() {
    let desk = Desk::with_echo();
    desk.run(&["--last-message", "answer.txt", "hello"]).well();
    assert_eq!(
        std::fs::read_to_string(desk.path().join("answer.txt")).unwrap(),
        "heard: hello"
    );
}

#[test]
fn what_a_model_says_cannot_steer_the_terminal() {
    let desk = Desk::new(
        "[[reply]]\ntext = \"\\u001b[2Jgone\\u0007\"\n[[reply.call]]\ntool = \"Read\"\n\
         input = { file_path = \"\\u001b]0;owned\\u0007x\" }\n[[reply]]\ntext = \"done\"",
    );
    let done = desk.run(&["Go"]);
    assert!(done.err.contains("gone"), "{}", done.err);
    assert!(
        !done.err.contains('\u{1b}') && !done.err.contains('\u{7}'),
        "{:?}",
        done.err
    );
}

/// Escapes, concealed text, a title and a reversed word, all in an answer.
const STEERING: &str = "[[reply]]\ntext = \"a\\u001b[31mb\\u001b[8mc\\u001b[0m\\u001b]0;owned\\u0007d\\u202ee\\u009bm\\tf\"";

#[test]
fn s_l6_an_answer_is_sanitised_behind_a_pipe_and_whole_in_json_or_raw() {
    let desk = Desk::new(STEERING);
    let piped = desk.run(&["Go"]).out;
    assert_eq!(piped.trim_end(), "abcd\\u{202e}e\tf", "{piped:?}");
    let json = desk.run(&["-o", "json", "Go"]).out;
    for letter in ['\u{1b}', '\u{7}', '\u{202e}', '\u{9b}'] {
        assert!(!json.contains(letter), "{json:?}");
    }
    let whole: serde_json::Value = serde_json::from_str(&json).unwrap();
    let said = whole.to_string() + &format!("{whole:?}");
    assert!(
        said.contains('\u{202e}') || said.contains("202e"),
        "nothing is lost: {said}"
    );
    let raw = desk.run(&["--raw", "Go"]).out;
    assert!(
        raw.contains("\u{1b}[8mc") && raw.contains('\u{202e}'),
        "{raw:?}"
    );
}
