//! `list` and `search`.

use rooftree_protocol::RunStatus;
use serde_json::Value;

use super::fixture::House;

#[test]
fn a_list_without_a_database_is_empty_and_makes_none() {
    let house = House::new();
    let done = house.rooftree(&["sessions", "list"]);
    assert_eq!((done.code, done.out.as_str()), (0, ""));
    assert!(done.err.contains("no sessions yet"), "{done:?}");
    assert_eq!(
        house.rooftree(&["sessions", "list", "-o", "json"]).json(),
        Value::Array(Vec::new())
    );
    assert!(!house.database().exists());
}

#[test]
fn a_list_has_four_forms() {
    let house = House::new();
    let first = house.talk(Some("Auth"), "What is here?", "Notes.");
    let second = house.talk(None, "And now?", "Nothing new.");
    let table = house.rooftree(&["sessions", "list"]).well();
    let lines: Vec<&str> = table.lines().collect();
    assert!(
        lines[0].starts_with("ID        AGENT  NAME  UPDATED"),
        "{table}"
    );
    assert_eq!(lines.len(), 3, "{table}");
    assert!(
        table.contains("Auth") && table.contains("What is here?") && !table.contains('\u{1b}'),
        "{table}"
    );
    let ids = house.rooftree(&["sessions", "list", "-o", "ids"]).well();
    assert_eq!(ids, format!("{}\n{}\n", second.id, first.id));
    let rows = house.rooftree(&["sessions", "ls", "-o", "jsonl"]).lines();
    assert_eq!(rows[1]["id"], first.id.as_str());
    assert_eq!(rows[1]["state"], "resting");
    assert_eq!(
        rows[1]["created_at"],
        first.created_at.to_string(),
        "programs read absolute times"
    );
    let array = house.rooftree(&["sessions", "list", "-o", "json"]).json();
    assert_eq!(array.as_array().unwrap().len(), 2);
}

#[test]
fn n_22_a_list_says_where_and_what_was_asked_and_can_be_of_one_directory() {
    let house = House::new();
    let first = house.talk(None, "What is\n here?", "Notes.");
    let table = house.rooftree(&["sessions", "list"]).well();
    let heading = table.lines().next().unwrap();
    assert!(
        heading.contains("WHERE") && heading.contains("ASKED"),
        "{table}"
    );
    assert!(
        table.contains("/somewhere") && table.contains("What is here?"),
        "{table}"
    );
    let rows = house.rooftree(&["sessions", "list", "-o", "jsonl"]).lines();
    assert_eq!(rows[0]["asked"], "What is here?");
    assert_eq!(rows[0]["cwd"], "/somewhere");
    let here = house.rooftree(&["sessions", "list", "--here", "-o", "ids"]);
    assert_eq!(here.well(), "", "it is of another directory");
    let there = tempfile::tempdir().unwrap();
    let there = there.path().canonicalize().unwrap();
    let directory = there.to_str().unwrap();
    let named = house.rooftree(&["-C", directory, "sessions", "list", "-o", "ids"]);
    assert_eq!(named.well(), "", "-C names the directory");
    assert_eq!(
        house.rooftree(&["sessions", "list", "-o", "ids"]).well(),
        format!("{}\n", first.id)
    );
}

#[test]
fn a_list_can_be_of_one_agent_or_of_deleted_ones() {
    let house = House::new();
    let session = house.talk(None, "Hello", "Hello.");
    let ids = |arguments: &[&str]| {
        house
            .rooftree(&[&["sessions", "list", "-o", "ids"], arguments].concat())
            .well()
    };
    assert_eq!(ids(&["--agent", "LEAD"]).lines().count(), 1);
    assert_eq!(ids(&["--agent", "nobody"]), "");
    assert_eq!(ids(&["--deleted"]), "");
    house
        .rooftree(&["sessions", "rm", session.id.as_str()])
        .well();
    assert_eq!(ids(&[]), "");
    assert_eq!(ids(&["--deleted"]), format!("{}\n", session.id));
}

#[test]
fn a_session_with_something_left_to_do_says_so() {
    let house = House::new();
    house.session(Some("cut off"), |writer| writer.asked("Do something long"));
    let rows = house.rooftree(&["sessions", "list", "-o", "jsonl"]).lines();
    assert_eq!(rows[0]["state"], "unfinished");
    assert!(
        house
            .rooftree(&["sessions", "list"])
            .well()
            .contains("! unfinished")
    );
}

#[test]
fn search_finds_messages_and_replies_and_puts_the_best_first() {
    let house = House::new();
    let weak = house.talk(
        Some("weak"),
        "a long text about many things, and among all of them an otter too",
        "Yes.",
    );
    let strong = house.talk(Some("strong"), "otter otter otter", "I saw the otter.");
    let deleted = house.talk(None, "another otter", "Gone.");
    house
        .rooftree(&["sessions", "rm", deleted.id.as_str()])
        .well();
    let hits = house
        .rooftree(&["sessions", "search", "otter", "-o", "jsonl"])
        .lines();
    let places: Vec<(&str, u64)> = hits
        .iter()
        .map(|hit| {
            (
                hit["session"].as_str().unwrap(),
                hit["event"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(places[0], (strong.id.as_str(), 3));
    assert!(
        places.contains(&(strong.id.as_str(), 6)) && places.contains(&(weak.id.as_str(), 3)),
        "{places:?}"
    );
    assert!(
        places
            .iter()
            .all(|(session, _)| *session != deleted.id.as_str())
    );
    assert!(
        hits[0]["snippet"].as_str().unwrap().contains("[otter]"),
        "{hits:?}"
    );
    let table = house
        .rooftree(&["sessions", "search", "saw", "OTTER"])
        .well();
    assert!(
        table.contains("strong") && table.lines().count() == 2,
        "{table}"
    );
}

#[test]
fn words_are_not_operators_and_nothing_found_is_no_failure() {
    let house = House::new();
    let nothing = house.rooftree(&["sessions", "search", "otter"]);
    assert_eq!((nothing.code, nothing.out.as_str()), (0, ""));
    house.session(None, |writer| {
        writer.asked("say \"hi\" AND (more");
        writer.ends(RunStatus::Completed);
    });
    for words in ["\"hi\"", "AND", "(more", "say*"] {
        house.rooftree(&["sessions", "search", words]).well();
    }
    assert_eq!(house.rooftree(&["sessions", "search"]).code, 2);
}
