//! `rooftree runs`: what is listed, told, drawn and stopped, from the journals alone.

use crate::run::{delegating::TWO, fixture::Desk};

/// A desk at which a lead has asked two others.
fn after_two() -> (Desk, String) {
    let desk = Desk::new(TWO);
    let run = desk.run(&["-o", "json", "go"]).json()["run"]
        .as_str()
        .unwrap()
        .to_owned();
    (desk, run)
}

#[test]
fn runs_are_listed_by_their_roots_or_all_of_them() {
    let (desk, run) = after_two();
    assert_eq!(
        desk.house
            .rooftree(&["runs", "list", "-o", "ids"])
            .well()
            .trim(),
        run
    );
    let all = desk
        .house
        .rooftree(&["runs", "list", "--all", "-o", "jsonl"])
        .lines();
    assert_eq!(all.len(), 3);
    assert_eq!(
        all.iter()
            .filter(|one| one["parent"] == run.as_str())
            .count(),
        2
    );
    assert_eq!(
        all.iter().filter(|one| one["status"] == "failed").count(),
        1
    );
    let table = desk.house.rooftree(&["runs", "list"]).well();
    assert!(
        table.contains("✓ completed") && table.contains("go"),
        "{table}"
    );
}

#[test]
fn a_run_tells_what_it_did_and_whom_it_asked() {
    let (desk, run) = after_two();
    let text = desk.house.rooftree(&["runs", "show", &run]).well();
    for fact in [
        "✓ run_",
        "asked     go",
        "2 turns · 2 tools",
        "✗ lead",
        "Both are back.",
    ] {
        assert!(text.contains(fact), "{fact}: {text}");
    }
    let object = desk
        .house
        .rooftree(&["runs", "show", &run, "--json"])
        .json();
    assert_eq!(object["children"].as_array().unwrap().len(), 2);
    assert_eq!(object["tools_used"][0], "Task");
}

#[test]
fn the_end_of_an_id_is_enough_and_what_is_not_there_is_said() {
    let (desk, run) = after_two();
    let end = &run[run.len() - 6..];
    assert!(
        desk.house
            .rooftree(&["runs", "show", end])
            .well()
            .contains(&run)
    );
    assert!(
        desk.house
            .rooftree(&["runs", "show", "abc"])
            .ended(8)
            .contains("at least 4")
    );
    assert!(
        desk.house
            .rooftree(&["runs", "trace", "run_nobody"])
            .ended(8)
            .contains("no run")
    );
    let nothing = crate::sessions::fixture::House::new();
    assert!(
        nothing
            .rooftree(&["runs", "list"])
            .err
            .contains("no runs yet")
    );
    assert_eq!(nothing.rooftree(&["runs", "show", "abcdef"]).code, 8);
}

#[test]
fn a_trace_has_a_bar_for_each_run_and_says_why_one_failed() {
    let (desk, run) = after_two();
    let text = desk.house.rooftree(&["runs", "trace", &run]).well();
    let bars: Vec<&str> = text.lines().filter(|line| line.contains('█')).collect();
    assert_eq!(bars.len(), 3, "{text}");
    assert!(
        bars[0].starts_with("lead")
            && bars[1].starts_with("├ lead")
            && bars[2].starts_with("└ lead"),
        "{text}"
    );
    assert!(
        text.contains("failed: the provider refused the request: no such thing"),
        "{text}"
    );
    assert!(
        desk.house
            .rooftree(&["runs", "trace", &run, "--ascii"])
            .well()
            .is_ascii()
    );
    desk.house
        .rooftree(&["runs", "trace", &run, "--svg", "trace.svg"])
        .well();
    let svg = std::fs::read_to_string(desk.house.path().join("trace.svg")).unwrap();
    assert!(
        svg.starts_with("<svg")
            && svg.contains("no such thing")
            && svg.trim_end().ends_with("</svg>")
    );
}

#[test]
fn a_run_that_has_ended_cannot_be_stopped_and_that_is_no_failure() {
    let (desk, run) = after_two();
    let done = desk.house.rooftree(&["runs", "cancel", &run]);
    assert!(
        done.code == 0 && done.err.contains("has ended already: completed"),
        "{done:?}"
    );
}
