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

#[test]
fn a_misspelt_name_is_answered_with_the_nearest() {
    let house = House::new();
    for (arguments, near) in [
        (&["tools", "show", "Bsh"][..], "`Bash`"),
        (&["can", "lead", "raed", "x"], "`Read`"),
        (&["permissions", "rules", "add", "Taks(explore)"], "`Task`"),
        (&["auth", "login", "anthropc"], "`anthropic`"),
    ] {
        let done = house.rooftree(arguments);
        assert!(
            done.code != 0 && done.err.contains(&format!("did you mean {near}?")),
            "{done:?}"
        );
    }
    let far = house.rooftree(&["tools", "show", "Xylophone"]);
    assert!(far.err.contains("tools are Read, Write"), "{far:?}");
}

#[test]
fn arguments_that_begin_as_json_and_are_none_are_no_path() {
    let house = House::new();
    let done = house.rooftree(&["can", "lead", "Write", r#"{"file_path":"a.txt""#]);
    assert!(
        done.code == 2 && done.err.contains("the arguments of Write are not JSON"),
        "{done:?}"
    );
    let group = house.rooftree(&["can", "lead", "Bash", "{ ls; }"]);
    assert!(!group.err.contains("JSON"), "{group:?}");
}
