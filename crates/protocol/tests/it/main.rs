//! Checks that the checked-in JSON schema of events is the one the code generates.

use rooftree_protocol::Event;

#[test]
fn the_checked_in_schema_of_events_is_the_one_the_code_speaks() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/events.schema.json");
    let checked_in = std::fs::read_to_string(path).unwrap_or_default();
    let spoken = serde_json::to_string_pretty(&schemars::schema_for!(Event)).unwrap() + "\n";
    assert!(
        checked_in == spoken,
        "docs/events.schema.json has drifted: run cargo xtask generate and commit it"
    );
}
