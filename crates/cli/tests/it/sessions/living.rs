//! Sessions that a real run has left, and that go on afterwards.

use std::fs;

use super::fixture::House;

const SCRIPT: &str = r#"
[[reply]]
on = "look"
text = "I look."

[[reply.call]]
tool = "Read"
input = { file_path = "notes.md" }

[[reply]]
on = "look"
text = "It begins with an otter."

[[reply]]
times = 1000
text = "You said {{ user }}"
"#;

/// A home in which a run has answered once.
fn lived_in() -> House {
    let house = House::new();
    furnish(&house);
    house
        .rooftree(&[
            "run",
            "-q",
            "-m",
            "scripted/script.toml",
            "look at the notes",
        ])
        .well();
    let id = house.rooftree(&["sessions", "list", "-o", "ids"]).well();
    house
        .rooftree(&["sessions", "rename", id.trim(), "talk"])
        .well();
    house
}

fn furnish(house: &House) {
    fs::write(house.path().join("script.toml"), SCRIPT).unwrap();
    fs::write(house.path().join("notes.md"), "an otter\n").unwrap();
}

/// Lets a session go on, and checks that it did.
#[track_caller]
fn goes_on(house: &House, session: &str, words: &str) {
    let before = house
        .rooftree(&["sessions", "events", session])
        .lines()
        .len();
    house
        .rooftree(&[
            "run",
            "-q",
            "-m",
            "scripted/script.toml",
            "-s",
            session,
            words,
        ])
        .well();
    let events = house.rooftree(&["sessions", "events", session]).lines();
    assert!(events.len() > before, "nothing was appended");
    assert_eq!(events.last().unwrap()["data"]["status"], "completed");
    house.is_sound();
}

#[test]
fn what_a_run_left_can_be_read_found_and_continued() {
    let house = lived_in();
    let text = house.rooftree(&["sessions", "show", "talk"]).well();
    assert!(
        text.contains("✓ Read notes.md") && text.contains("It begins with an otter."),
        "{text}"
    );
    assert_eq!(
        house
            .rooftree(&["sessions", "search", "otter", "-o", "jsonl"])
            .lines()
            .len(),
        1
    );
    goes_on(&house, "talk", "and now?");
    house.rooftree(&["sessions", "clear", "talk"]).well();
    goes_on(&house, "talk", "after clearing");
}

#[test]
fn an_imported_session_goes_on_where_the_exported_one_stopped() {
    let (house, other) = (lived_in(), House::new());
    goes_on(&house, "talk", "and now?");
    let file = other.path().join("talk.jsonl");
    house
        .rooftree(&[
            "sessions",
            "export",
            "talk",
            "--out",
            file.to_str().unwrap(),
        ])
        .well();
    furnish(&other);
    other.rooftree(&["sessions", "import", "talk.jsonl"]).well();
    other.is_sound();
    // The directory it worked in is another machine's; here it works where it was imported.
    goes_on(&other, "talk", "still there?");
}

#[test]
fn a_fork_in_the_middle_of_a_run_can_go_on_and_travel() {
    let (house, other) = (lived_in(), House::new());
    let before = house.rooftree(&["sessions", "events", "talk"]).well();
    let events = house.rooftree(&["sessions", "events", "talk"]).lines();
    let calls = events
        .iter()
        .find(|event| event["type"] == "message.completed")
        .unwrap()["id"]
        .to_string();
    house
        .rooftree(&[
            "sessions", "fork", "talk", "--at", &calls, "--name", "branch",
        ])
        .well();
    goes_on(&house, "branch", "go on from here");
    assert_eq!(
        house.rooftree(&["sessions", "events", "talk"]).well(),
        before,
        "the parent is untouched"
    );
    let file = other.path().join("branch.jsonl");
    house
        .rooftree(&[
            "sessions",
            "export",
            "branch",
            "--out",
            file.to_str().unwrap(),
        ])
        .well();
    furnish(&other);
    other
        .rooftree(&["sessions", "import", "branch.jsonl"])
        .well();
    other.is_sound();
    goes_on(&other, "branch", "and from there");
}

#[test]
fn a_deleted_session_does_not_go_on_until_it_is_restored() {
    let house = lived_in();
    house.rooftree(&["sessions", "rm", "talk"]).well();
    assert_eq!(
        house
            .rooftree(&[
                "run",
                "-q",
                "-m",
                "scripted/script.toml",
                "-s",
                "talk",
                "hello"
            ])
            .code,
        8
    );
    house.rooftree(&["sessions", "restore", "talk"]).well();
    goes_on(&house, "talk", "hello again");
}

#[test]
fn a_conversation_is_handed_over_with_all_of_it_and_comes_back_with_a_summary() {
    let house = lived_in();
    let first = house
        .rooftree(&["sessions", "list", "-o", "ids"])
        .well()
        .trim()
        .to_owned();
    let switched = house
        .rooftree(&["sessions", "switch", "talk", "lead", "--name", "other"])
        .well()
        .trim()
        .to_owned();
    assert_ne!(switched, first);
    house
        .rooftree(&[
            "run",
            "-q",
            "-m",
            "scripted/script.toml",
            "-s",
            "other",
            "decide something",
        ])
        .well();
    let whole = house.rooftree(&["sessions", "show", "other"]).well();
    assert!(
        whole.contains("an otter"),
        "the other one knows what was said before: {whole}"
    );
    assert_eq!(
        house.rooftree(&["sessions", "back", "other"]).well().trim(),
        first
    );
    // Told twice is told once.
    house.rooftree(&["sessions", "back", "other"]).well();
    goes_on(&house, "talk", "what came of it?");
    let told = house.rooftree(&["sessions", "show", "talk"]).well();
    assert_eq!(
        told.matches("\n  Asked: decide something\n").count(),
        1,
        "{told}"
    );
    assert!(told.contains("went on with agent lead"), "{told}");
}

#[test]
fn only_a_conversation_that_was_handed_over_comes_back_and_only_to_an_agent_there_is() {
    let house = lived_in();
    let why = house.rooftree(&["sessions", "back", "talk"]).ended(2);
    assert!(why.contains("was not handed over"), "{why}");
    let why = house
        .rooftree(&["sessions", "switch", "talk", "nobody"])
        .ended(8);
    assert!(why.contains("nobody"), "{why}");
}

#[test]
fn as5_a_switch_may_say_something_first_and_back_may_have_the_agent_write_the_summary() {
    let house = lived_in();
    let model = ["-m", "scripted/script.toml"];
    let line = ["sessions", "switch", "talk", "explore", "--name", "other"];
    let said = house.rooftree(&[&line[..], &model, &["decide something"]].concat());
    assert!(said.err.contains("explore goes on"), "{said:?}");
    assert!(said.well().contains("decide something"));
    let line = ["sessions", "back", "other", "--summary", "model"];
    let told = house.rooftree(&[&line[..], &model].concat()).well();
    assert!(told.contains("goes back to the agent"), "{told}");
    goes_on(&house, "talk", "what came of it?");
    let told = house
        .rooftree(&["sessions", "show", "talk", "--full"])
        .well();
    assert!(told.contains("Its summary:"), "{told}");
    assert!(!told.contains("Asked: decide something"), "{told}");
}
