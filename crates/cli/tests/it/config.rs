//! `rooftree config`: what is set, and where.

use std::fs;

use crate::{
    run::fixture::{Desk, finished},
    sessions::fixture::House,
};

fn config(desk: &Desk, arguments: &[&str]) -> crate::sessions::fixture::Done {
    let mut command = desk.house.command(&["config"]);
    command.args(arguments).current_dir(desk.path());
    command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    finished(command.spawn().unwrap())
}

#[test]
fn every_value_is_shown_with_its_origin_and_what_it_goes_before() {
    let desk = Desk::with_echo();
    fs::write(
        desk.house.path().join("config.toml"),
        "model = 'a/b'\n\n[limits]\nmax_turns = 10\n",
    )
    .unwrap();
    desk.write(
        ".rooftree/config.toml",
        "[limits]\nmax_turns = 3\n[permission]\nallow = ['Bash']\n",
    );
    let shown = config(&desk, &["show", "-c", "model=c/d"]).well();
    assert!(
        shown.contains("\"c/d\"") && !shown.contains("a/b") && !shown.contains("Bash"),
        "{shown}"
    );
    let done = config(&desk, &["show", "--origin", "-c", "model=c/d"]);
    assert!(
        done.err.contains("permission.allow in ") && done.err.contains("is ignored"),
        "{}",
        done.err
    );
    let shown = done.well();
    let line = |words: &[&str]| {
        shown
            .lines()
            .any(|line| words.iter().all(|word| line.contains(word)))
    };
    assert!(
        line(&["model", "\"a/b\"", "config.toml:1", "overridden by -c"]),
        "{shown}"
    );
    assert!(
        line(&["limits.max_turns", "10", "config.toml:4", "overridden by "]),
        "{shown}"
    );
    assert!(
        line(&["limits.max_turns", "3", ".rooftree/config.toml:2"]),
        "{shown}"
    );
    assert!(
        line(&["permission.allow", "no effect: a project can only narrow"]),
        "{shown}"
    );
    assert_eq!(config(&desk, &["get", "limits.max_turns"]).well(), "3\n");
    assert_eq!(config(&desk, &["get", "model"]).well(), "a/b\n");
    let missing = config(&desk, &["get", "search.embeddings"]);
    assert!(
        missing.code == 2 && missing.err.contains("`search.embeddings` is not set"),
        "{missing:?}"
    );
    let unknown = config(&desk, &["get", "limits.max_turn"]);
    assert!(
        unknown.code == 2 && unknown.err.contains("did you mean `limits.max_turns`?"),
        "{unknown:?}"
    );
    let json = config(&desk, &["show", "--origin", "-o", "json"]).well();
    let rows: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(
        rows.as_array()
            .unwrap()
            .iter()
            .any(|row| row["effect"] == "overridden"),
        "{json}"
    );
    assert!(
        config(&desk, &["path"])
            .well()
            .contains("/etc/rooftree/managed.toml")
    );
}

#[test]
fn what_nobody_has_set_has_its_default_and_that_is_said() {
    let desk = Desk::with_echo();
    for (key, default, said) in [
        ("limits.max_turns", "200\n", "this is the default"),
        ("permission.mode", "ask\n", "this is the default"),
        ("permission.deny", "[]\n", "this is the default"),
        ("limits.timeout", "", "there is no limit"),
    ] {
        let done = config(&desk, &["get", key]);
        assert!(
            done.err.contains(&format!("`{key}` is not set: {said}")),
            "{done:?}"
        );
        assert_eq!(done.well(), default, "{key}");
    }
}

#[test]
fn one_value_is_set_and_nothing_else_that_is_written_changes() {
    let desk = Desk::with_echo();
    let file = desk.house.path().join("config.toml");
    let written =
        "# mine\nmodel = 'a/b' # good\n\n[limits]\n# enough for all\nmax_turns = 10 # turns\n";
    fs::write(&file, written).unwrap();
    config(&desk, &["set", "limits.max_turns", "20"]).well();
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        written.replace("= 10", "= 20")
    );
    config(&desk, &["set", "limits.timeout", "5m", "--user"]).well();
    let both = written.replace("= 10 # turns\n", "= 20 # turns\ntimeout = \"5m\"\n");
    assert_eq!(fs::read_to_string(&file).unwrap(), both);
    assert_eq!(config(&desk, &["get", "limits.timeout"]).well(), "5m\n");
    for (key, value, words) in [
        ("limits.max_turn", "3", "did you mean `limits.max_turns`?"),
        ("limits.max_turns", "many", "`max_turns` cannot be \"many\""),
        ("limits", "3", "must be a table"),
        ("", "3", "`` is not the name of a setting"),
        ("a b", "3", "`a b` is not the name of a setting"),
    ] {
        let refused = config(&desk, &["set", key, value]);
        assert!(
            refused.code == 2 && refused.err.contains(words),
            "{refused:?}"
        );
        assert!(
            !refused.err.contains("-c"),
            "nobody typed that: {refused:?}"
        );
    }
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        both,
        "what was refused is not written"
    );
    let widened = config(&desk, &["set", "permission.allow", "['Bash']", "--project"]);
    assert!(
        widened.err.contains("permission.allow in ") && widened.err.contains("is ignored"),
        "{widened:?}"
    );
    let project = fs::read_to_string(desk.path().join(".rooftree/config.toml")).unwrap();
    assert_eq!(project, "[permission]\nallow = [\"Bash\"]\n");
}

#[test]
fn r2_d9_the_emergency_limit_is_a_setting_under_the_name_of_the_seed_too() {
    let desk = Desk::with_echo();
    let value = |arguments: &[&str]| {
        let shown = config(&desk, &[&["show", "-o", "json"], arguments].concat());
        shown.well()
    };
    assert!(value(&["-c", "limits.emergency_context=3000"]).contains("3000"));
    for key in [
        "agents.emergency_context_limit=3000",
        "agents.emergencyContextLimit=3000",
    ] {
        let done = desk.run(&["-c", key, "hello"]);
        assert!(!done.err.contains("agent file"), "{done:?}");
        done.well();
    }
    let done = desk.run(&["-c", "agents.emergency_context_limit=many", "hello"]);
    assert!(
        done.code != 0 && done.err.contains("emergency_context_limit"),
        "{done:?}"
    );
    let done = desk.run(&["-c", "limits.emergency_context=-1", "hello"]);
    assert!(
        done.code != 0 && done.err.contains("emergency_context"),
        "{done:?}"
    );
}

#[test]
fn n_35_a_wrong_key_or_value_says_where_it_is_and_what_to_write() {
    let house = House::new();
    let done = house.rooftree(&["config", "get", "limits.max_trns"]);
    assert_eq!(done.code, 2, "{done:?}");
    assert!(!done.err.contains("-c:"), "{done:?}");
    assert!(
        done.err.contains("did you mean `limits.max_turns`?"),
        "{done:?}"
    );
    let done = house.rooftree(&["config", "set", "limits.max_turns", "abc"]);
    assert!(
        done.err.contains("write a whole number") && !done.err.contains("u32"),
        "{done:?}"
    );
    let done = house.rooftree(&["config", "set", "permission.mode", "yolo"]);
    assert!(
        done.err
            .contains("choose one of plan, ask, accept-edits, auto, bypass"),
        "{done:?}"
    );
    house
        .rooftree(&["config", "set", "limits.max_turns", "7"])
        .well();
    assert_eq!(
        house
            .rooftree(&["config", "get", "limits.max_turns", "-o", "json"])
            .json(),
        7
    );
    let path = house.path().join("config.toml");
    fs::write(&path, "# mine\n[limits]\nmax_turns = \"many\"\n").unwrap();
    let done = house.rooftree(&["config", "show"]);
    assert_eq!(done.code, 3, "{done:?}");
    assert!(
        done.err
            .contains("config.toml:3: `max_turns` cannot be \"many\""),
        "{done:?}"
    );
}
