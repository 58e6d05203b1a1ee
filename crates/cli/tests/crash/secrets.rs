//! The search for secrets with their removal switched off: it must find them, or it proves nothing.

#[path = "../canary/scenario.rs"]
mod scenario;

#[test]
fn without_the_removal_of_secrets_they_are_everywhere() {
    let traces = scenario::play(&[("ROOFTREE_WITHOUT", "redaction")]);
    let found = scenario::found(&traces);
    for place in [
        "rooftree.db",
        "the recording",
        "what the run prints",
        "sessions export",
    ] {
        let here = found.iter().filter(|found| found.contains(place)).count();
        assert!(here > 100, "only {here} found in {place}");
    }
}
