//! `rename`, `clear`, `rm`, `restore`, `fork`.

use rooftree_protocol::Outcome;
use serde_json::{Value, json};

use super::fixture::House;

fn types(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect()
}

#[test]
fn a_name_can_be_given_and_taken_away() {
    let house = House::new();
    let session = house.talk(None, "Hello", "Hello.");
    house.talk(Some("Other"), "Hello", "Hello.");
    let id = session.id.as_str();
    let named = house.rooftree(&["sessions", "rename", id, "Auth work"]);
    assert!(named.err.contains("is called `Auth work` now"), "{named:?}");
    assert!(
        house
            .rooftree(&["sessions", "rename", "auth work", "OTHER"])
            .ended(2)
            .contains("already a session")
    );
    assert_eq!(house.rooftree(&["sessions", "rename", id, "ses_x"]).code, 2);
    house.rooftree(&["sessions", "rename", id, ""]).well();
    assert_eq!(house.rooftree(&["sessions", "show", "auth work"]).code, 8);
    house
        .rooftree(&["sessions", "rename", "nobody", "x"])
        .ended(8);
    house.is_sound();
}

#[test]
fn a_waiting_message_is_listed_replaced_and_withdrawn() {
    let house = House::new();
    let session = house.session(Some("busy"), |writer| {
        writer.leaves("First");
        writer.leaves("Second");
    });
    let queue = ["sessions", "queue", "busy"];
    let listed = house
        .rooftree(&[&queue[..], &["-o", "json"]].concat())
        .well();
    let listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
    let id = |index: usize| listed[index]["message"].as_str().unwrap().to_owned();
    let replaced = house.rooftree(&[&queue[..], &["replace", &id(1), "Better", "words"]].concat());
    assert!(replaced.err.contains("is replaced"), "{replaced:?}");
    let withdrawn = house.rooftree(&[&queue[..], &["withdraw", &id(0)]].concat());
    assert!(withdrawn.err.contains("is withdrawn"), "{withdrawn:?}");
    let table = house.rooftree(&queue).well();
    assert!(
        table.contains("withdrawn") && table.contains("Better words"),
        "{table}"
    );
    let late = house.rooftree(&[&queue[..], &["replace", &id(0), "late"]].concat());
    assert!(
        late.code != 0 && late.err.contains("was withdrawn"),
        "{late:?}"
    );
    house
        .rooftree(&[
            "sessions",
            "queue",
            session.id.as_str(),
            "withdraw",
            "msg_none",
        ])
        .ended(8);
}

#[test]
fn deleting_asks_nothing_says_how_to_undo_it_and_can_be_undone() {
    let house = House::new();
    let (one, two) = (
        house.talk(Some("one"), "Hello", "Hello."),
        house.talk(Some("two"), "Hello", "Hello."),
    );
    house
        .rooftree(&["sessions", "rm", "one", "nobody"])
        .ended(8);
    assert_eq!(
        house
            .rooftree(&["sessions", "list", "-o", "ids"])
            .well()
            .lines()
            .count(),
        2,
        "all or none"
    );
    let done = house.rooftree(&["sessions", "rm", "one", "two", "one"]);
    for session in [&one, &two] {
        assert!(
            done.err
                .contains(&format!("rooftree sessions restore {}", session.id)),
            "{done:?}"
        );
    }
    let err = house.rooftree(&["sessions", "show", "one"]).ended(8);
    assert!(
        err.contains("is deleted") && err.contains("restore"),
        "{err}"
    );
    house.rooftree(&["sessions", "restore", "one"]).well();
    assert!(
        house
            .rooftree(&["sessions", "restore", "one"])
            .ended(8)
            .contains("is not deleted")
    );
    house.rooftree(&["sessions", "show", "one"]).well();
    house.is_sound();
}

#[test]
fn a_session_whose_name_was_given_away_is_not_restored_over_it() {
    let house = House::new();
    let old = house.talk(Some("talk"), "Hello", "Hello.");
    house.rooftree(&["sessions", "rm", "talk"]).well();
    house.talk(Some("talk"), "Hello", "Hello.");
    let err = house
        .rooftree(&["sessions", "restore", old.id.as_str()])
        .ended(2);
    assert!(err.contains("rooftree sessions rename"), "{err}");
}

#[test]
fn clearing_keeps_identity_and_journal_and_appends_a_marker() {
    let house = House::new();
    let session = house.talk(Some("talk"), "Hello", "Hello.");
    house.rooftree(&["sessions", "clear", "talk"]).well();
    let events = house.rooftree(&["sessions", "events", "talk"]).lines();
    assert_eq!(events.len() as u64, session.head + 1);
    assert_eq!(types(&events).last(), Some(&"session.cleared"));
    assert!(
        house
            .rooftree(&["sessions", "show", "talk"])
            .well()
            .ends_with("── context cleared ──\n")
    );
    house.is_sound();
}

#[test]
fn clearing_a_session_that_was_cut_off_ends_its_run_first() {
    let house = House::new();
    let session = house.session(Some("cut"), |writer| {
        writer.asked("Do something");
        writer.calls("Bash", json!({ "command": "sleep 1" }));
    });
    house.rooftree(&["sessions", "clear", "cut"]).well();
    let events = house
        .rooftree(&[
            "sessions",
            "events",
            "cut",
            "--since",
            &session.head.to_string(),
        ])
        .lines();
    assert_eq!(
        types(&events),
        ["tool.completed", "run.completed", "session.cleared"]
    );
    assert_eq!(events[1]["data"]["status"], "interrupted");
    let rows = house.rooftree(&["sessions", "list", "-o", "jsonl"]).lines();
    assert_eq!(rows[0]["state"], "resting");
    house.is_sound();
}

#[test]
fn r2_d24_a_session_at_work_is_cleared_only_by_force() {
    let desk = crate::run::fixture::Desk::new(crate::permissions::WRITES);
    let mut run = desk.watch(&["--input-format", "stream-json", "Write it"]);
    let asked = run.until("permission.requested");
    let id = asked["session"].as_str().unwrap();
    let said = desk.house.rooftree(&["sessions", "clear", id]).ended(9);
    assert!(
        said.contains("is at work on session") && said.contains("--force"),
        "{said}"
    );
    desk.house
        .rooftree(&["sessions", "clear", id, "--force"])
        .well();
    assert_eq!(run.until("run.completed")["data"]["status"], "cancelled");
    run.until("session.cleared");
    run.done();
}

#[test]
fn a_fork_shows_what_it_inherits_and_leaves_its_parent_alone() {
    let house = House::new();
    let parent = house.talk(Some("talk"), "Hello", "Hello.");
    let before = house.rooftree(&["sessions", "events", "talk"]).well();
    let id = house
        .rooftree(&["sessions", "fork", "talk", "--at", "4", "--name", "branch"])
        .well();
    let events = house.rooftree(&["sessions", "events", "branch"]).lines();
    assert_eq!(events.len(), 4);
    assert!(
        events
            .iter()
            .all(|event| event["session"] == parent.id.as_str()),
        "inherited, not copied"
    );
    house.rooftree(&["sessions", "clear", "branch"]).well();
    let events = house.rooftree(&["sessions", "events", id.trim()]).lines();
    assert_eq!(types(&events)[4..], ["session.opened", "session.cleared"]);
    assert_eq!(
        events[4]["data"]["forked_from"],
        json!({ "session": parent.id, "at": 4 })
    );
    assert!(
        house
            .rooftree(&["sessions", "show", "branch"])
            .well()
            .contains("forked from")
    );
    assert_eq!(
        house.rooftree(&["sessions", "events", "talk"]).well(),
        before
    );
    house.is_sound();
}

#[test]
fn a_fork_needs_a_place_that_is_there() {
    let house = House::new();
    let session = house.talk(Some("talk"), "Hello", "Hello.");
    for at in ["0".to_owned(), (session.head + 1).to_string()] {
        let err = house
            .rooftree(&["sessions", "fork", "talk", "--at", &at])
            .ended(2);
        assert!(
            err.contains(&format!("numbered 1 to {}", session.head)),
            "{err}"
        );
    }
    house.rooftree(&["sessions", "fork", "nobody"]).ended(8);
    house
        .rooftree(&["sessions", "fork", "talk", "--name", "TALK"])
        .ended(2);
    let id = house.rooftree(&["sessions", "fork", "talk"]).well();
    assert_eq!(
        house
            .rooftree(&["sessions", "events", id.trim()])
            .lines()
            .len() as u64,
        session.head
    );
}

#[test]
fn nothing_can_be_changed_where_nothing_is() {
    let house = House::new();
    for action in [
        &["clear", "x"][..],
        &["rm", "x"],
        &["restore", "x"],
        &["rename", "x", "y"],
        &["fork", "x"],
    ] {
        house.rooftree(&[&["sessions"], action].concat()).ended(8);
    }
    assert!(!house.database().exists());
    house.session(None, |writer| {
        writer.asked("Hello");
        writer.calls("Read", json!({}));
        writer.returned(Outcome::Done, "");
    });
}

#[test]
fn as2_sessions_are_pinned_and_keep_attributes() {
    let house = House::new();
    house.talk(Some("talk"), "Hello", "Hello.");
    house.talk(Some("other"), "Hello", "Hello.");
    let listed = || {
        let rows = house.rooftree(&["sessions", "list", "-o", "json"]).json();
        let rows = rows.as_array().unwrap().clone();
        rows.into_iter().find(|row| row["name"] == "talk").unwrap()
    };
    let before = listed();
    let said = house.rooftree(&["sessions", "pin", "talk"]);
    assert!(said.err.contains("is pinned"), "{said:?}");
    assert!(listed()["pinned_at"].is_string(), "{}", listed());
    assert_ne!(listed()["updated_at"], before["updated_at"]);
    assert!(
        house
            .rooftree(&["sessions", "list"])
            .well()
            .contains("pinned")
    );
    let set = |arguments: &[&str]| {
        let mut line = vec!["sessions", "set", "talk"];
        line.extend(arguments);
        house.rooftree(&line)
    };
    assert_eq!(
        set(&["ticket=42", "note=a = b", "open=true"]).json(),
        json!({"ticket": 42, "note": "a = b", "open": true})
    );
    assert_eq!(
        set(&["ticket=", "open={\"x\": []}"]).json(),
        json!({"note": "a = b", "open": {"x": []}})
    );
    assert_eq!(listed()["attributes"]["note"], "a = b");
    assert!(set(&["ticket"]).ended(2).contains("KEY=VALUE"));
    set(&["=x"]).ended(2);
    house.rooftree(&["sessions", "pin", "nobody"]).ended(8);
    house.rooftree(&["sessions", "unpin", "talk"]).well();
    assert!(listed().get("pinned_at").is_none(), "{}", listed());
    house.is_sound();
}
