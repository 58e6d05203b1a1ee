//! `rooftree tools`, `version` and `completions`.

use crate::sessions::fixture::House;

#[test]
fn tools_are_listed_in_four_forms() {
    let house = House::new();
    let names = house.rooftree(&["tools", "list", "-o", "ids"]).well();
    assert!(
        names.lines().any(|name| name == "Read") && names.lines().any(|name| name == "Bash"),
        "{names}"
    );
    let table = house.rooftree(&["tools", "list"]).well();
    assert!(
        table.starts_with("NAME") && table.contains("read only"),
        "{table}"
    );
    let rows = house.rooftree(&["tools", "list", "-o", "jsonl"]).lines();
    assert_eq!(rows.len(), names.lines().count());
    assert!(
        rows.iter()
            .all(|row| row["input_schema"]["type"] == "object")
    );
    assert_eq!(
        house
            .rooftree(&["tools", "list", "--agent", "LEAD", "-o", "ids"])
            .well(),
        names
    );
    house
        .rooftree(&["tools", "list", "--agent", "nobody"])
        .ended(8);
}

#[test]
fn a_tool_is_shown_by_any_of_its_names() {
    let house = House::new();
    let text = house.rooftree(&["tools", "show", "bash"]).well();
    assert!(
        text.starts_with("Bash\n") && text.contains("\"command\"") && text.contains("destructive"),
        "{text}"
    );
    let row = house
        .rooftree(&["tools", "show", "run_command", "--json"])
        .json();
    assert_eq!(
        (&row["name"], &row["effect"]),
        (&"Bash".into(), &"destructive".into())
    );
    let err = house.rooftree(&["tools", "show", "Teleport"]).ended(8);
    assert!(
        err.contains("error[E0804]") && err.contains("Read"),
        "{err}"
    );
}

#[test]
fn the_version_opens_nothing() {
    let house = House::new();
    assert_eq!(
        house.rooftree(&["version"]).well(),
        format!("rooftree {}\n", env!("CARGO_PKG_VERSION"))
    );
    assert_eq!(house.rooftree(&["version", "--json"]).json()["protocol"], 1);
    assert_eq!(std::fs::read_dir(house.path()).unwrap().count(), 0);
}

#[test]
fn every_shell_gets_its_completions() {
    let house = House::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(
            house
                .rooftree(&["completions", shell])
                .well()
                .contains("rooftree"),
            "{shell}"
        );
    }
    assert_eq!(house.rooftree(&["completions", "sh"]).code, 2);
}
