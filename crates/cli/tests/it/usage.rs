//! `rooftree usage`: a fold over the journals.

use crate::run::fixture::Desk;

const PAID: &str = "[script]\nusage = { input = 1000, output = 100, cost_usd = 0.25 }\n[[reply]]\ntimes = 9\ntext = \"yes\"";

#[test]
fn usage_is_added_up_by_whatever_is_asked_for() {
    let desk = Desk::new(PAID);
    desk.run(&["one"]).well();
    desk.run(&["--continue", "two"]).well();
    desk.run(&["three"]).well();
    for (by, count) in [("agent", 1), ("model", 1), ("day", 1), ("session", 2)] {
        let rows = desk
            .house
            .rooftree(&["usage", "--by", by, "-o", "json"])
            .json();
        let rows = rows.as_array().unwrap();
        assert_eq!(rows.len(), count, "{by}: {rows:?}");
        let sum = |field: &str| {
            rows.iter()
                .map(|row| row[field].as_f64().unwrap())
                .sum::<f64>()
        };
        assert_eq!(
            (sum("replies"), sum("input"), sum("cost_usd")),
            (3.0, 3000.0, 0.75),
            "{by}"
        );
    }
    let text = desk.house.rooftree(&["usage", "--by", "session"]).well();
    assert!(
        text.contains("≈$0.50") && text.lines().last().unwrap().contains("≈$0.75"),
        "{text}"
    );
}

#[test]
fn what_a_fork_inherits_is_not_paid_twice_and_what_is_deleted_was_paid() {
    let desk = Desk::new(PAID);
    desk.run(&["one"]).well();
    let session = desk
        .house
        .rooftree(&["sessions", "list", "-o", "ids"])
        .well();
    desk.house
        .rooftree(&["sessions", "fork", session.trim()])
        .well();
    desk.house
        .rooftree(&["sessions", "rm", session.trim()])
        .well();
    let rows = desk.house.rooftree(&["usage", "-o", "json"]).json();
    assert_eq!(rows[0]["cost_usd"], 0.25, "{rows}");
    assert_eq!(rows.as_array().unwrap().len(), 1);
}
