//! `rooftree auth`: keys go in, and never come out whole.

use std::{fs, io::Write, os::unix::fs::PermissionsExt, process::Stdio};

use crate::sessions::fixture::{Done, House};

const KEY: &str = "sk-ant-0123456789-wxyz";

/// `rooftree …` with this on standard input.
fn with_input(house: &House, arguments: &[&str], input: &str) -> Done {
    let mut command = house.command(arguments);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    crate::run::fixture::finished(child)
}

#[test]
fn a_key_is_stored_privately_listed_by_its_end_and_removed() {
    let house = House::new();
    let done = with_input(
        &house,
        &["auth", "set", "anthropic", "-"],
        &format!("{KEY}\n"),
    );
    assert!(done.code == 0 && done.err.contains("(…wxyz)"), "{done:?}");
    let file = house.path().join("credentials.toml");
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert!(fs::read_to_string(&file).unwrap().contains(KEY));
    let rows = house.rooftree(&["auth", "list", "-o", "json"]).json();
    assert_eq!(
        (&rows[0]["provider"], &rows[0]["source"]),
        (&"anthropic".into(), &"credentials.toml".into())
    );
    assert_eq!(
        (&rows[0]["key"], rows.as_array().unwrap().len()),
        (&"…wxyz".into(), 1)
    );
    house.rooftree(&["auth", "logout", "anthropic"]).well();
    assert_eq!(house.rooftree(&["auth", "list"]).well(), "");
}

#[test]
fn a_variable_goes_before_a_stored_key_and_that_is_said() {
    let house = House::new();
    let mut command = house.command(&["auth", "login", "openai"]);
    command
        .env("OPENAI_API_KEY", "sk-variable-0000-aaaa")
        .stdin(Stdio::piped());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"sk-stored-1111-bbbb")
        .unwrap();
    let done = crate::run::fixture::finished(child);
    assert!(
        done.err.contains("platform.openai.com") && done.err.contains("OPENAI_API_KEY is set"),
        "{done:?}"
    );
    let list = house
        .command(&["auth", "list"])
        .env("OPENAI_API_KEY", "sk-variable-0000-aaaa")
        .output()
        .unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(list.contains("OPENAI_API_KEY  …aaaa"), "{list}");
    assert!(
        house
            .rooftree(&["auth", "list"])
            .well()
            .contains("credentials.toml  …bbbb")
    );
}

#[test]
fn a_key_as_an_argument_is_refused_and_not_repeated() {
    let house = House::new();
    let said = house.rooftree(&["auth", "set", "anthropic", KEY]).ended(2);
    assert!(
        said.contains("cannot be given as an argument") && !said.contains(KEY),
        "{said}"
    );
    assert!(!house.path().join("credentials.toml").exists());
    assert!(
        with_input(&house, &["auth", "set", "anthropic"], " \n")
            .ended(2)
            .contains("empty")
    );
    assert!(
        house
            .rooftree(&["auth", "set", "nobody", "-"])
            .ended(2)
            .contains("providers there are: anthropic")
    );
}

#[test]
fn a_file_others_can_read_is_not_used() {
    let house = House::new();
    with_input(&house, &["auth", "set", "anthropic", "-"], KEY).well();
    let file = house.path().join("credentials.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let said = house.rooftree(&["run", "-m", "anthropic/x", "hi"]).ended(3);
    assert!(
        said.contains("is not private") && said.contains("chmod 600 "),
        "{said}"
    );
    let done = house.rooftree(&["doctor"]);
    assert!(
        done.code == 1 && done.out.contains("✗ keys") && done.out.contains("chmod 600"),
        "{done:?}"
    );
    for text in [said, done.out, done.err] {
        assert!(!text.contains("wxyz"), "{text}");
    }
}
