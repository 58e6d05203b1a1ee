//! `rooftree config`: what is set, and where.

use std::fs;

use crate::run::desk::{Desk, finished};

fn config(desk: &Desk, arguments: &[&str]) -> crate::sessions::house::Done {
    let mut command = desk.house.command(&["config"]);
    command.args(arguments).current_dir(desk.path());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    finished(command.spawn().unwrap())
}

#[test]
fn every_value_is_shown_with_its_origin_and_what_it_goes_before() {
    let desk = Desk::with_echo();
    fs::write(desk.house.path().join("config.toml"), "model = 'a/b'\n\n[limits]\nmax_turns = 10\n").unwrap();
    desk.write(".rooftree/config.toml", "[limits]\nmax_turns = 3\n[permission]\nallow = ['Bash']\n");
    let shown = config(&desk, &["show", "-c", "model=c/d"]).well();
    assert!(shown.contains("\"c/d\"") && !shown.contains("a/b") && !shown.contains("Bash"), "{shown}");
    let done = config(&desk, &["show", "--origin", "-c", "model=c/d"]);
    assert!(done.err.contains("permission.allow in ") && done.err.contains("is ignored"), "{}", done.err);
    let shown = done.well();
    let line = |words: &[&str]| shown.lines().any(|line| words.iter().all(|word| line.contains(word)));
    assert!(line(&["model", "\"a/b\"", "config.toml:1", "overridden by -c"]), "{shown}");
    assert!(line(&["limits.max_turns", "10", "config.toml:4", "overridden by "]), "{shown}");
    assert!(line(&["limits.max_turns", "3", ".rooftree/config.toml:2"]), "{shown}");
    assert!(line(&["permission.allow", "no effect: a project can only narrow"]), "{shown}");
    assert_eq!(config(&desk, &["get", "limits.max_turns"]).well(), "3\n");
    assert_eq!(config(&desk, &["get", "model"]).well(), "a/b\n");
    let missing = config(&desk, &["get", "limits.timeout"]);
    assert!(missing.code == 2 && missing.err.contains("`limits.timeout` is not set"), "{missing:?}");
    let unknown = config(&desk, &["get", "limits.max_turn"]);
    assert!(unknown.code == 2 && unknown.err.contains("did you mean `limits.max_turns`?"), "{unknown:?}");
    let json = config(&desk, &["show", "--origin", "-o", "json"]).well();
    let rows: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(rows.as_array().unwrap().iter().any(|row| row["effect"] == "overridden"), "{json}");
    assert!(config(&desk, &["path"]).well().contains("/etc/rooftree/managed.toml"));
}
