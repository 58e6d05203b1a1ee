//! `rooftree board`: the table, JSON and the stream of changes.

use crate::run::fixture::Desk;

const SCRIPT: &str = "[[reply]]\ntimes = 9\ntext = \"I looked. All is well.\"";

#[test]
fn the_board_shows_sessions_as_a_table_and_as_json() {
    let desk = Desk::new(SCRIPT);
    let none = desk.house.rooftree(&["board", "-o", "json"]).json();
    assert_eq!(none["rows"].as_array().unwrap().len(), 0);
    desk.run(&["Look around"]).well();
    let board = desk.house.rooftree(&["board", "-o", "json"]).json();
    let row = &board["rows"][0];
    assert_eq!(row["state"], "done", "{row}");
    assert_eq!(row["process"], "asleep", "{row}");
    assert_eq!(row["headline"], "All is well.", "{row}");
    assert_eq!(row["title"], "Look around", "{row}");
    assert_eq!(row["origin"], "user", "{row}");
    let table = desk.house.rooftree(&["board"]).well();
    assert!(
        table.contains("DONE (1)") && table.contains("Look around"),
        "{table}"
    );
    let other = desk
        .house
        .rooftree(&["board", "--agent", "scout", "-o", "json"])
        .json();
    assert_eq!(other["rows"].as_array().unwrap().len(), 0);
    let change = desk
        .house
        .rooftree(&["board", "--once", "-o", "stream-json"])
        .json();
    assert_eq!(change["event"], "board.snapshot");
    assert_eq!(change["data"]["rows"][0]["session"], row["session"]);
}
