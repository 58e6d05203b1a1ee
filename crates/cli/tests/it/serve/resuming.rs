//! A server goes on with what was interrupted: it says with what, in which mode, and what it leaves.

use std::{
    fs,
    io::Read,
    process::{Child, Stdio},
};

use super::{listening, terminate, until};
use crate::{run::fixture::finished, sessions::fixture::House};

const SCRIPT: &str = r#"
[[reply]]
on = "^slow"
text = "wait"

[[reply.call]]
tool = "Bash"
input = { command = "sleep 0.01; until [ -e go ]; do sleep 0.05; done" }

[[reply]]
times = 1000
text = "done"
"#;

/// A home in which a run was killed while it worked, and the session it left.
fn interrupted(mode: &str, agents: &[&str]) -> (House, String) {
    let (house, session, mut child) = working(mode, agents);
    child.kill().unwrap();
    child.wait().unwrap();
    fs::write(house.path().join("go"), "").unwrap();
    (house, session)
}

/// A home in which a run works until it may go on, its session and its process.
fn working(mode: &str, agents: &[&str]) -> (House, String, Child) {
    let house = House::new();
    fs::write(house.path().join("slow.toml"), SCRIPT).unwrap();
    let model = "scripted/slow.toml";
    let mut arguments = vec![
        "run",
        "-q",
        "-m",
        model,
        "--permission-mode",
        mode,
        "--sandbox",
        "off",
    ];
    arguments.extend(agents);
    arguments.extend(["--", "slow work"]);
    let mut command = house.command(&arguments);
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut session = String::new();
    until("the call", || {
        session = house
            .rooftree(&["sessions", "list", "-o", "ids"])
            .out
            .trim()
            .to_owned();
        !session.is_empty()
            && house
                .rooftree(&["sessions", "events", &session])
                .out
                .contains("tool.started")
    });
    (house, session, child)
}

/// What a server says on both streams until it is told to end.
fn served(house: &House, more: &[&str], is_done: impl FnMut() -> bool) -> (String, String) {
    let arguments: Vec<&str> = ["serve", "--port", "0"]
        .into_iter()
        .chain(more.iter().copied())
        .collect();
    let mut command = house.command(&arguments);
    command.env(
        "ROOFTREE_MODEL",
        format!("scripted/{}", house.path().join("slow.toml").display()),
    );
    let (mut server, line) = listening(&mut command);
    until("the end of it", is_done);
    terminate(&server);
    let mut told = String::new();
    server
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut told)
        .unwrap();
    finished(server);
    (line, told)
}

fn state(house: &House, session: &str) -> String {
    let rows = house
        .rooftree(&["sessions", "list", "--all", "-o", "jsonl"])
        .lines();
    let row = rows.into_iter().find(|row| row["id"] == session).unwrap();
    row["state"].as_str().unwrap().to_owned()
}

#[test]
fn n_19_a_server_names_the_sessions_it_resumes_and_their_modes() {
    let (house, session) = interrupted("bypass", &[]);
    let (line, told) = served(&house, &[], || state(&house, &session) == "resting");
    assert!(line.ends_with("; 1 session goes on\n"), "{line}");
    assert!(
        told.contains(&format!("goes on: {session} (lead, mode ask): slow work")),
        "{told}"
    );
    let events = house.rooftree(&["sessions", "events", &session]).out;
    assert!(
        events.contains("began in mode `bypass` and goes on in mode `ask`"),
        "{events}"
    );
}

#[test]
fn n_19_a_server_that_is_told_not_to_resume_leaves_everything_as_it_is() {
    let (house, session) = interrupted("bypass", &[]);
    let before = house.rooftree(&["sessions", "events", &session]).out;
    let (line, told) = served(&house, &["--no-resume"], || true);
    assert!(line.contains("--no-resume"), "{line}");
    assert!(
        told.contains(&format!("stays unfinished: {session} (slow work)")),
        "{told}"
    );
    assert_eq!(
        house.rooftree(&["sessions", "events", &session]).out,
        before
    );
}

#[test]
fn r2_d27_a_server_says_why_a_session_stays_unfinished() {
    let agents = r#"{"gone": {"description": "d", "prompt": "p"}}"#;
    let (house, session) = interrupted("bypass", &["--agents", agents, "-a", "gone"]);
    let (line, told) = served(&house, &[], || true);
    assert!(!line.contains("goes on"), "{line}");
    assert!(
        told.contains(&format!(
            "stays unfinished: {session}: Unknown agent type \"gone\""
        )),
        "{told}"
    );
}

#[test]
fn a_session_that_another_process_works_on_is_left_to_it() {
    let (house, session, mut other) = working("bypass", &[]);
    let (line, told) = served(&house, &[], || true);
    assert!(!line.contains("goes on"), "{line}");
    let process = format!("process {}", other.id());
    assert!(told.contains(&process) && told.contains(&session), "{told}");
    assert!(!told.contains("goes on: "), "{told}");
    other.kill().unwrap();
    other.wait().unwrap();
}
