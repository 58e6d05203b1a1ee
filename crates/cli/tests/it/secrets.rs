//! No secret is left behind by the real program, whatever it meets.

#[path = "../canary/scenario.rs"]
mod scenario;

#[test]
fn no_canary_is_found_in_database_recording_exports_events_or_output() {
    let traces = scenario::play(&[]);
    assert!(
        traces.iter().any(
            |(place, text)| place == "rooftree.db" && text.contains("[redacted: github token]")
        )
    );
    assert!(
        traces
            .iter()
            .any(|(place, text)| place == "the recording" && text.contains("[redacted: "))
    );
    let found = scenario::found(&traces);
    assert!(
        found.is_empty(),
        "{} found:\n{}",
        found.len(),
        found.join("\n")
    );
}
