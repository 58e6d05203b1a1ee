//! `rooftree outbox`: lists messages to chats, drops and retries them.

use rooftree_protocol::{Account, Timestamp};
use rooftree_store::{OutboxBody, OutboxKind, OutboxPost, SqliteStore, prelude::*};

use crate::run::fixture::Desk;

#[test]
fn messages_to_chats_are_listed_dropped_and_found_by_the_end_of_their_id() {
    let desk = Desk::new("");
    let none = desk
        .house
        .rooftree(&["outbox", "list", "-o", "json"])
        .json();
    assert_eq!(none.as_array().unwrap().len(), 0);
    put(&desk, &["apple", "pear"]);
    let listed = desk
        .house
        .rooftree(&["outbox", "list", "-o", "json"])
        .json();
    assert_eq!(listed[0]["text"], "pear", "{listed}");
    assert_eq!(listed[1]["target"], "telegram:1", "{listed}");
    let table = desk.house.rooftree(&["outbox", "list"]).well();
    assert!(
        table.contains("planned") && table.contains("apple"),
        "{table}"
    );
    let dropped = desk.house.rooftree(&["outbox", "drop", "pple"]).well();
    assert!(
        dropped.contains("out_apple to telegram:1: dropped"),
        "{dropped}"
    );
    let states = ["outbox", "list", "--state", "planned", "-o", "json"];
    let left = desk.house.rooftree(&states).json();
    assert_eq!(left.as_array().unwrap().len(), 1, "{left}");
    let again = desk.house.rooftree(&["outbox", "retry", "out_apple"]);
    assert!(again.err.contains("superseded"), "{again:?}");
}

fn put(desk: &Desk, texts: &[&str]) {
    let store = SqliteStore::open(desk.house.database()).unwrap();
    let waiting = tokio::runtime::Builder::new_current_thread().build();
    let waiting = waiting.unwrap();
    for text in texts {
        let post = OutboxPost {
            id: format!("out_{text}"),
            key: (*text).into(),
            account: Account::default(),
            session: None,
            run: None,
            kind: OutboxKind::Notice,
            target: "telegram:1".parse().unwrap(),
            body: OutboxBody::Text {
                text: (*text).into(),
            },
            at: Timestamp(1_800_000_000_000),
        };
        waiting.block_on(store.post_outbox(post, None)).unwrap();
    }
}
