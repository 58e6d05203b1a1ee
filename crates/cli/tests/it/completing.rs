//! Completions and manual pages: the scripts, and what the program answers them.

use std::{fs, process::Command};

use crate::{run::fixture::Desk, sessions::fixture::House};

/// What can stand at the end of this line.
fn completed(house: &House, words: &[&str]) -> Vec<String> {
    let all = [&["__complete", "--"], words].concat();
    let out = house.rooftree(&all).well();
    out.lines()
        .map(|line| line.split('\t').next().unwrap().to_owned())
        .collect()
}

#[test]
fn n_23_agents_sessions_models_and_modes_are_completed() {
    let house = House::new();
    let session = house.talk(Some("release"), "Hello", "Hello.");
    let ending = &session.id.as_str()[session.id.as_str().len() - 8..];
    assert_eq!(completed(&house, &["run", "-a", "exp"]), ["explore"]);
    assert!(completed(&house, &["run", "-s", ""]).contains(&ending.to_owned()));
    assert_eq!(completed(&house, &["sessions", "show", "rel"]), ["release"]);
    assert_eq!(
        completed(&house, &["run", "--permission-mode", "ac"]),
        ["accept-edits"]
    );
    assert_eq!(
        completed(&house, &["run", "--permission-mode=ac"]),
        ["--permission-mode=accept-edits"]
    );
    let models = completed(&house, &["run", "-m", "anthropic/"]);
    assert!(!models.is_empty() && models.iter().all(|name| name.starts_with("anthropic/")));
    assert_eq!(
        completed(&house, &["config", "set", "limits.max_t"]),
        ["limits.max_turns"]
    );
    assert_eq!(completed(&house, &["run", "--replay", ""]), [":files"]);
    assert_eq!(completed(&house, &["-C", ""]), [":directories"]);
    assert!(completed(&house, &["nonsense", "--nothing", ""]).is_empty());
}

#[test]
fn n_23_a_broken_setting_does_not_disturb_the_line_that_is_typed() {
    let house = House::new();
    fs::write(house.path().join("config.toml"), "model = [").unwrap();
    let done = house.rooftree(&["__complete", "--", "run", "-a", ""]);
    assert_eq!(
        (done.code, done.out.as_str(), done.err.as_str()),
        (0, "", "")
    );
}

#[test]
fn n_23_the_script_for_bash_is_small_and_asks_the_program() {
    let house = House::new();
    house.talk(Some("release"), "Hello", "Hello.");
    for shell in ["bash", "zsh", "fish"] {
        let script = house.rooftree(&["completions", shell]).well();
        assert!(
            script.len() < 4_000 && script.contains("__complete"),
            "{shell}"
        );
    }
    let script = house.rooftree(&["completions", "bash"]).well();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_rooftree"));
    let path = format!(
        "{}:{}",
        program.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let ask = |line: &str| {
        let script = format!(
            "{script}\nCOMP_LINE={line:?}; COMP_POINT=${{#COMP_LINE}}; _rooftree; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let done = Command::new("bash")
            .args(["--norc", "-c", &script])
            .env("PATH", &path)
            .env("ROOFTREE_HOME", house.path())
            .current_dir(house.path())
            .output()
            .unwrap();
        String::from_utf8(done.stdout).unwrap()
    };
    assert_eq!(ask("rooftree sessions show rel"), "release\n");
    assert_eq!(ask("rooftree run --permission-mode by"), "bypass\n");
    assert_eq!(
        ask("rooftree run --permission-mode=by"),
        "bypass\n",
        "bash replaces what is behind ="
    );
}

#[test]
fn the_manual_has_a_page_per_command_with_examples() {
    let desk = Desk::with_echo();
    let page = desk.house.rooftree(&["man"]).well();
    assert!(
        page.starts_with(".ie") || page.contains(".TH rooftree"),
        "{page}"
    );
    let mut command = desk.house.command(&["man", "--dir", "man1"]);
    command.current_dir(desk.path());
    assert!(command.status().unwrap().success());
    let run = fs::read_to_string(desk.path().join("man1/rooftree-run.1")).unwrap();
    assert!(run.contains("accept") && run.contains("Examples"), "{run}");
    assert!(
        desk.path()
            .join("man1/rooftree-permissions-rules-add.1")
            .is_file()
    );
    assert!(!desk.path().join("man1/rooftree-__complete.1").exists());
}
