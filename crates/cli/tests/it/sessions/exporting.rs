//! `export`: to people, to files, to directories.

use std::fs;

use rooftree_protocol::{ErrorCode, Outcome, Part, RunStatus};
use serde_json::{Value, json};

use super::fixture::House;

#[test]
fn markdown_has_the_whole_conversation() {
    let house = House::new();
    house.session(Some("Auth"), |writer| {
        writer.asked("What is here?");
        writer.calls("Read", json!({}));
        writer.returned(Outcome::Failed(ErrorCode::ToolFailed), "```\nfenced\n```");
        writer.answered("**Notes.**");
        writer.ends(RunStatus::Completed);
    });
    let text = house
        .rooftree(&["sessions", "export", "auth", "--format", "md"])
        .well();
    for wanted in [
        "# Auth\n",
        "## you (",
        "What is here?",
        "**Read** `notes.md` · failed · 3 ms",
        "````\n```\nfenced",
        "**Notes.**",
        "*completed · 2 turns",
    ] {
        assert!(text.contains(wanted), "{wanted:?} is missing in\n{text}");
    }
}

#[test]
fn lines_begin_with_the_session_and_end_with_the_bytes() {
    let house = House::new();
    let session = house.session(Some("files"), |writer| {
        let picture = writer.keeps(b"\x89PNG not really");
        let image = Part::Image {
            blob: picture,
            media_type: "image/png".into(),
            bytes: 15,
        };
        writer.asked_with(vec![Part::text("Look"), image]);
        writer.calls("Bash", json!({}));
        let full = writer.keeps(b"all of the output");
        writer.returned_in_full(Outcome::Done, "some of the output", Some(full));
        writer.ends(RunStatus::Completed);
    });
    let lines = house.exported("files");
    assert_eq!(lines[0]["type"], "session");
    assert_eq!(lines[0]["v"], 1);
    assert_eq!(lines[0]["session"]["id"], session.id.as_str());
    let events = house.rooftree(&["sessions", "events", "files"]).lines();
    assert_eq!(
        lines[1..=events.len()],
        events[..],
        "events are written as they are"
    );
    let blobs: Vec<&Value> = lines[events.len() + 1..].iter().collect();
    assert_eq!(blobs.len(), 2);
    assert!(
        blobs
            .iter()
            .all(|line| line["type"] == "blob" && line["base64"].is_string())
    );
}

#[test]
fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
    let house = House::new();
    house.talk(Some("talk"), "Hello", "Hello.");
    let file = house.path().join("talk.jsonl");
    fs::write(&file, "old").unwrap();
    let done = house.rooftree(&["sessions", "export", "talk", "--out", "talk.jsonl"]);
    assert!(
        done.out.is_empty() && done.err.contains("wrote session"),
        "{done:?}"
    );
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .starts_with("{\"type\":\"session\"")
    );
    let err = house
        .rooftree(&["sessions", "export", "talk", "--out", "nowhere/talk.jsonl"])
        .ended(2);
    assert!(err.contains("cannot write"), "{err}");
    house
        .rooftree(&["sessions", "export", "talk", "--out", "."])
        .ended(2);
    let beside = fs::read_dir(house.path()).unwrap().filter(|entry| {
        entry
            .as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with('.')
    });
    assert_eq!(beside.count(), 0);
}

#[test]
fn the_layout_of_files_has_descriptor_state_and_history() {
    let house = House::new();
    let session = house.talk(Some("talk"), "Hello", "Hello.");
    house.rooftree(&["sessions", "clear", "talk"]).well();
    house
        .rooftree(&["sessions", "export", "talk", "--layout", "files"])
        .well();
    let directory = house.path().join(session.id.as_str());
    let json = |name: &str| {
        serde_json::from_slice::<Value>(&fs::read(directory.join(name)).unwrap()).unwrap()
    };
    let (descriptor, state) = (json("descriptor.json"), json("state.json"));
    assert_eq!(
        (&descriptor["id"], &descriptor["agent"]),
        (&json!(session.id), &json!("lead"))
    );
    assert_eq!(state["head"], session.head + 1);
    assert_eq!(
        state["context_after"],
        session.head + 1,
        "restoring starts after the latest marker"
    );
    let history = fs::read_to_string(directory.join("history.jsonl")).unwrap();
    assert_eq!(
        history,
        house.rooftree(&["sessions", "events", "talk"]).well()
    );
    house
        .rooftree(&["sessions", "export", "talk", "--layout", "files"])
        .well();
    house.talk(Some("other"), "Hello", "Hello.");
    let place = directory.to_str().unwrap();
    let err = house
        .rooftree(&[
            "sessions", "export", "other", "--layout", "files", "--out", place,
        ])
        .ended(2);
    assert!(err.contains("holds another session"), "{err}");
}

#[test]
fn what_cannot_be_exported_says_why() {
    let house = House::new();
    house.talk(Some("talk"), "Hello", "Hello.");
    house.rooftree(&["sessions", "export", "nobody"]).ended(8);
    assert_eq!(
        house
            .rooftree(&["sessions", "export", "talk", "--format", "pdf"])
            .code,
        2
    );
    assert_eq!(
        house
            .rooftree(&[
                "sessions", "export", "talk", "--format", "md", "--layout", "files"
            ])
            .code,
        2
    );
}

#[test]
fn s_l6_markdown_has_nothing_for_a_terminal_to_obey() {
    let house = House::new();
    house.session(Some("Auth"), |writer| {
        writer.asked("What is \u{1b}[8mhere\u{1b}[0m?\u{202e}");
        writer.answered("a\u{1b}]0;owned\u{7}b\tc");
        writer.ends(RunStatus::Completed);
    });
    let text = house
        .rooftree(&["sessions", "export", "auth", "--format", "md"])
        .well();
    assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
    assert!(
        text.contains("What is here?") && text.contains("ab\tc"),
        "{text:?}"
    );
    let raw = house
        .rooftree(&["--raw", "sessions", "export", "auth", "--format", "md"])
        .well();
    assert!(raw.contains("\u{1b}[8mhere"), "{raw:?}");
}

#[test]
fn dc9_the_state_says_what_may_happen_without_asking_and_an_import_carries_none_of_it() {
    let house = House::new();
    let script = "[[reply]]\ntext = \"hi\"\ntimes = 9\n";
    fs::write(house.path().join("s.toml"), script).unwrap();
    let run = [
        "run",
        "-q",
        "-m",
        "scripted/s.toml",
        "--permission-mode",
        "plan",
        "--deny",
        "Bash(rm *)",
        "hello",
    ];
    house.rooftree(&run).well();
    let id = house.rooftree(&["sessions", "list", "-o", "ids"]).well();
    let id = id.trim();
    house
        .rooftree(&["permissions", "rules", "add", "Bash(ls)", "--session", id])
        .well();
    let place = house.path().join("out");
    let out = place.to_str().unwrap();
    house
        .rooftree(&["sessions", "export", id, "--layout", "files", "--out", out])
        .well();
    let state: Value =
        serde_json::from_slice(&fs::read(place.join("state.json")).unwrap()).unwrap();
    let permissions = &state["permissions"];
    assert_eq!(permissions["mode"], "plan", "{permissions}");
    assert_eq!(permissions["deny"], json!(["Bash(rm *)"]), "{permissions}");
    assert_eq!(permissions["rules"][0]["rule"], "Bash(ls)", "{permissions}");
    let new = house.rooftree(&["sessions", "import", out]).well();
    let rules = house
        .rooftree(&["permissions", "rules", "-o", "json"])
        .well();
    assert!(!rules.contains(new.trim()), "{rules}");
}
