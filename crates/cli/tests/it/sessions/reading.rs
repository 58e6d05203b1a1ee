//! `show` and `events`, and how a session is named.

use std::{
    io::{BufRead, BufReader, Read},
    process::Stdio,
};

use rooftree_protocol::{ErrorCode, Outcome, RunStatus, SessionId};
use serde_json::json;

use super::fixture::House;

#[test]
fn a_session_reads_like_a_conversation() {
    let house = House::new();
    let session = house.session(Some("Auth"), |writer| {
        writer.asked("What is in \u{1b}[31mnotes.md?");
        writer.calls("Read", json!({}));
        writer.returned(Outcome::Done, "quiet output");
        writer.calls("Bash", json!({}));
        writer.returned(
            Outcome::Failed(ErrorCode::ToolFailed),
            "1\n2\n3\n4\n5\n6\n7",
        );
        writer.answered("Two lines.\n\nThat is all.");
        writer.ends(RunStatus::Failed);
    });
    let text = house.rooftree(&["sessions", "show", "auth"]).well();
    for wanted in [
        session.id.as_str(),
        "› you  ",
        "  What is in notes.md?\n",
        "  ✓ Read notes.md  3 ms\n",
        "  ✗ Bash notes.md  failed · 3 ms\n      1\n",
        "… 2 more lines (--full)",
        "● lead",
        "  Two lines.\n\n  That is all.\n",
        "✗ failed · 2 turns · 1 tool call · 1.2 s · 4.1k tok\n  it broke\n",
    ] {
        assert!(text.contains(wanted), "{wanted:?} is missing in\n{text}");
    }
    assert!(
        !text.contains("quiet output") && !text.contains('\u{1b}'),
        "{text}"
    );
    let full = house
        .rooftree(&["sessions", "show", "auth", "--full"])
        .well();
    assert!(
        full.contains("quiet output") && full.contains("      7\n"),
        "{full}"
    );
    let page = house
        .rooftree(&["sessions", "show", "auth", "-o", "json"])
        .json();
    assert_eq!(page["session"]["name"], "Auth");
    assert_eq!(page["transcript"][0]["is"], "message");
    assert_eq!(page["transcript"][2]["outcome"]["is"], "failed");
}

#[test]
fn colours_are_used_only_when_wanted() {
    let house = House::new();
    house.talk(Some("talk"), "Hello", "Hello.");
    let forced = house
        .rooftree(&["sessions", "show", "talk", "--color", "always"])
        .well();
    assert!(forced.contains('\u{1b}'));
    let output = house
        .command(&["sessions", "list"])
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    assert!(!output.stdout.contains(&0x1b));
}

#[test]
fn a_session_is_named_by_id_end_or_name() {
    let house = House::new();
    let session = house.talk(Some("Übung"), "Hello", "Hello.");
    let id = session.id.as_str();
    for typed in [id, &id[id.len() - 4..], &id[id.len() - 10..], "übung"] {
        let page = house
            .rooftree(&["sessions", "show", typed, "-o", "json"])
            .json();
        assert_eq!(page["session"]["id"], id, "{typed}");
    }
    for typed in [
        &id[id.len() - 3..],
        "ses_nobody",
        "nobody",
        "",
        "ses_../etc",
    ] {
        let err = house.rooftree(&["sessions", "show", typed]).ended(8);
        assert!(
            err.contains("error[E0801]") && err.contains("fix:"),
            "{err}"
        );
    }
}

#[test]
fn an_end_that_fits_two_sessions_lists_both() {
    let house = House::new();
    let (one, two) = (
        house.talk(Some("one"), "Hello", "Hello."),
        house.talk(Some("two"), "Hello", "Hello."),
    );
    let ids = ["ses_aaaaaaaaaaaasameend", "ses_bbbbbbbbbbbbsameend"];
    let database = rusqlite::Connection::open(house.database()).unwrap();
    for (session, id) in [one, two].iter().zip(ids) {
        database
            .execute(
                "UPDATE session SET id = ?1 WHERE id = ?2",
                [id, session.id.as_str()],
            )
            .unwrap();
    }
    let err = house.rooftree(&["sessions", "show", "sameend"]).ended(2);
    assert!(
        ids.iter().all(|id| err.contains(id)) && err.contains("`one`"),
        "{err}"
    );
    assert!(SessionId::parse(ids[0]).is_ok());
    house.rooftree(&["sessions", "show", "aasameend"]).well();
}

#[test]
fn events_are_the_protocols_own_lines() {
    let house = House::new();
    let session = house.talk(None, "Hello", "Hello.");
    let id = session.id.as_str();
    let events = house.rooftree(&["sessions", "events", id]).lines();
    let numbers: Vec<u64> = events
        .iter()
        .map(|event| event["id"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (1..=session.head).collect::<Vec<_>>());
    let keys: Vec<&str> = events[0]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        keys,
        [
            "v",
            "id",
            "ts",
            "session",
            "run",
            "parent_run",
            "agent",
            "type",
            "data"
        ]
    );
    let last = session.head.to_string();
    assert_eq!(
        house
            .rooftree(&["sessions", "events", id, "--since", "5"])
            .lines()
            .len(),
        session.head as usize - 5
    );
    assert_eq!(
        house
            .rooftree(&["sessions", "events", id, "--since", &last])
            .well(),
        ""
    );
    assert_eq!(
        house
            .rooftree(&["sessions", "events", id, "-o", "ids"])
            .well()
            .lines()
            .next(),
        Some("1")
    );
    assert_eq!(
        house
            .rooftree(&["sessions", "events", id, "-o", "json"])
            .json()[2]["type"],
        "message.user"
    );
    let table = house
        .rooftree(&["sessions", "events", id, "-o", "table"])
        .well();
    assert!(
        table.contains("run.completed") && table.contains("you: Hello"),
        "{table}"
    );
}

#[test]
fn a_place_that_is_not_there_is_an_error_and_not_everything() {
    let house = House::new();
    let session = house.talk(None, "Hello", "Hello.");
    let id = session.id.as_str();
    let beyond = (session.head + 1).to_string();
    let err = house
        .rooftree(&["sessions", "events", id, "--since", &beyond])
        .ended(2);
    assert!(
        err.contains(&format!("its last event is {}", session.head)),
        "{err}"
    );
    assert_eq!(
        house
            .rooftree(&["sessions", "events", id, "--since", "yesterday"])
            .code,
        2
    );
    assert_eq!(
        house
            .rooftree(&["sessions", "events", id, "--follow", "-o", "json"])
            .code,
        2
    );
}

#[test]
fn following_prints_what_other_processes_append() {
    let house = House::new();
    let session = house.talk(Some("talk"), "Hello", "Hello.");
    let last = session.head.to_string();
    let arguments = [
        "sessions",
        "events",
        "talk",
        "--follow",
        "-o",
        "ids",
        "--since",
        last.as_str(),
    ];
    let mut child = house
        .command(&arguments)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    house.rooftree(&["sessions", "clear", "talk"]).well();
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert_eq!(line.trim(), (session.head + 1).to_string());
    child.kill().unwrap();
    child.wait().unwrap();
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
}

#[test]
fn a_reader_who_goes_away_is_no_error() {
    let house = House::new();
    let session = house.session(None, |writer| {
        writer.asked("Say a lot");
        for _ in 0..40 {
            writer.answered(&"much ".repeat(4_000));
        }
        writer.ends(RunStatus::Completed);
    });
    for action in ["events", "export", "show"] {
        let mut child = house
            .command(&["sessions", action, session.id.as_str()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.success() && err.is_empty(),
            "{action}: {:?} {err}",
            output.status
        );
    }
}

#[test]
fn a_search_for_nothing_is_refused() {
    let house = House::new();
    let why = house.rooftree(&["sessions", "search", " "]).ended(2);
    assert!(why.contains("no words to look for"), "{why}");
}
