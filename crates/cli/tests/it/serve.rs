//! `rooftree serve`, and external agents asked by `run` and by it.

mod agent;
mod asked;
mod first_run;
mod library;
mod proxied;
pub(crate) mod remote;
mod resuming;
mod socket;

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use self::agent::{Agent, call_back};
use crate::{
    run::fixture::{Desk, finished},
    sessions::fixture::Done,
};

/// How long other processes may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A desk whose settings know this agent.
fn desk(agent: &Agent, mode: &str) -> Desk {
    let desk = Desk::with_echo();
    let url = agent.url();
    let settings = format!(
        "[external.reviewer]\ninput_url = '{url}'\nsecret_env = 'REVIEWER_SECRET'\nmode = '{mode}'"
    );
    std::fs::write(desk.house.path().join("config.toml"), settings).unwrap();
    desk
}

fn run(desk: &Desk, words: &str) -> Done {
    let mut command = desk.command(&["-q", "-m", "external/reviewer", words]);
    finished(command.env("REVIEWER_SECRET", "s").spawn().unwrap())
}

/// `rooftree serve`, and where it listens.
fn serve(desk: &Desk, port: &str) -> (Child, String) {
    let mut command = desk.house.command(&["serve", "--port", port]);
    listening(command.env("REVIEWER_SECRET", "s"))
}

/// A server that was started, and what it says once it listens.
fn listening(command: &mut Command) -> (Child, String) {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    (child, line)
}

pub(crate) fn terminate(child: &Child) {
    let kill = format!("kill -TERM {}", child.id());
    assert!(
        std::process::Command::new("sh")
            .args(["-c", &kill])
            .status()
            .unwrap()
            .success()
    );
}

pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_agent_elsewhere_answers_at_once() {
    let agent = Agent::start(|asked| {
        (
            200,
            serde_json::json!({"text": asked.body["message"]["text"]}).to_string(),
        )
    });
    assert_eq!(run(&desk(&agent, "sync"), "hello").well(), "hello\n");
}

#[test]
fn an_agent_elsewhere_answers_later_to_a_door_of_our_own() {
    let agent = Agent::start(|asked| {
        let url = asked.body["callback_url"].as_str().unwrap();
        assert_eq!(call_back(url, "Looks fine."), 200);
        assert_eq!(call_back(&url[..url.len() - 1], "Forged."), 404);
        (202, String::new())
    });
    assert_eq!(run(&desk(&agent, "async"), "hello").well(), "Looks fine.\n");
    let asked = agent.asked();
    assert_eq!(asked[0].body["message"]["text"], "hello");
    assert!(
        asked[0]
            .header("x-rooftree-signature")
            .starts_with("sha256=")
    );
}

#[test]
fn a_server_asks_again_what_another_process_left_and_ends_in_order() {
    let agent = Agent::start(|_| (202, String::new()));
    let desk = desk(&agent, "async");
    let mut command = desk.command(&["-m", "external/reviewer", "hello"]);
    let left = command.env("REVIEWER_SECRET", "s").spawn().unwrap();
    until("the question", || agent.asked().len() == 1);
    terminate(&left);
    assert_eq!(finished(left).code, 143);
    let (server, line) = serve(&desk, "0");
    assert!(line.ends_with("; 1 session goes on\n"), "{line}");
    until("the question again", || agent.asked().len() == 2);
    let asked = agent.asked();
    assert_eq!(
        asked[0].header("idempotency-key"),
        asked[1].header("idempotency-key")
    );
    let token = |number: usize| {
        let url = asked[number].body["callback_url"].as_str().unwrap();
        url.rsplit_once('/').unwrap().1.to_owned()
    };
    assert_eq!(token(0), token(1), "the same question has the same token");
    assert_eq!(
        call_back(asked[1].body["callback_url"].as_str().unwrap(), "Found it."),
        200
    );
    let session = asked[1].body["session"].as_str().unwrap();
    until("the answer", || {
        desk.house
            .rooftree(&["sessions", "show", session])
            .out
            .contains("Found it.")
    });
    terminate(&server);
    assert_eq!(finished(server).code, 0);
}

#[test]
fn a_port_that_is_taken_and_an_open_house_are_refused() {
    let agent = Agent::start(|_| (202, String::new()));
    let desk = desk(&agent, "async");
    let (server, line) = serve(&desk, "0");
    let port = line.trim_end().rsplit_once(':').unwrap().1.to_owned();
    let told = desk.house.rooftree(&["serve", "--port", &port]).ended(9);
    assert!(
        told.contains("is taken") && told.contains("--port"),
        "{told}"
    );
    let told = desk
        .house
        .rooftree(&["serve", "--bind", "0.0.0.0", "--port", "0"])
        .ended(3);
    assert!(told.contains("--public-url"), "{told}");
    terminate(&server);
    assert_eq!(finished(server).code, 0);
}

/// A command at this desk, with or without the agent's secret.
fn told(desk: &Desk, arguments: &[&str], secret: Option<&str>) -> Done {
    let mut command = desk.house.command(arguments);
    if let Some(secret) = secret {
        command.env("REVIEWER_SECRET", secret);
    }
    finished(
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap(),
    )
}

#[test]
fn doctor_knows_agents_elsewhere_and_knocks_only_if_it_may() {
    let agent = Agent::start(|_| (405, String::new()));
    let there = desk(&agent, "async");
    let unsigned = told(&there, &["doctor"], None).well();
    assert!(
        unsigned.contains("⚠ external/reviewer") && unsigned.contains("export REVIEWER_SECRET"),
        "{unsigned}"
    );
    let set_up = told(&there, &["doctor"], Some("s")).well();
    assert!(
        set_up.contains("answers by callback · signed with REVIEWER_SECRET"),
        "{set_up}"
    );
    assert!(
        agent.asked().is_empty(),
        "nobody said that it may be called upon"
    );
    let online = told(&there, &["doctor", "--online"], Some("s")).well();
    assert!(
        online.contains("signed with REVIEWER_SECRET · there"),
        "{online}"
    );
    assert!(
        agent.asked().iter().all(|asked| asked.body.is_null()),
        "it was asked to do something"
    );
    let gone = Desk::with_echo();
    let settings =
        "[external.gone]\ninput_url = 'http://127.0.0.1:9/in'\nsecret_env = 'REVIEWER_SECRET'";
    std::fs::write(gone.house.path().join("config.toml"), settings).unwrap();
    let done = told(&gone, &["doctor", "--online"], Some("s"));
    assert!(
        done.code == 1 && done.out.contains("✗ external/gone"),
        "{done:?}"
    );
}

#[test]
fn models_and_usage_know_agents_elsewhere() {
    let agent = Agent::start(|_| (200, "Fine.".into()));
    let desk = desk(&agent, "sync");
    let rows = told(
        &desk,
        &["models", "list", "--provider", "external", "-o", "json"],
        Some("s"),
    )
    .json();
    assert_eq!(
        (&rows[0]["id"], &rows[0]["acts"], &rows[0]["usable"]),
        (&"external/reviewer".into(), &true.into(), &true.into())
    );
    let shown = told(&desk, &["models", "show", "external/reviewer"], Some("s")).well();
    assert!(
        shown.contains(&agent.url()) && shown.contains("answers at once; REVIEWER_SECRET is set"),
        "{shown}"
    );
    assert!(shown.contains("neither seen nor limited here"), "{shown}");
    let unsigned = told(&desk, &["models", "show", "external/reviewer"], None).well();
    assert!(
        unsigned.contains("REVIEWER_SECRET is not set"),
        "{unsigned}"
    );
    run(&desk, "hello").well();
    let usage = told(&desk, &["usage"], None).well();
    let line = usage
        .lines()
        .find(|line| line.contains("external/reviewer"))
        .unwrap();
    assert!(
        line.contains('1') && line.contains('–') && !line.contains(" 0 "),
        "{usage}"
    );
}

#[test]
fn models_know_the_programs_that_answer_as_models() {
    let agent = Agent::start(|_| (200, String::new()));
    let desk = desk(&agent, "sync");
    let ids = told(&desk, &["models", "list", "-o", "ids"], None).well();
    assert!(
        ["claude-cli/default", "codex-cli/default", "pi-cli/default"]
            .iter()
            .all(|id| ids.contains(id)),
        "{ids}"
    );
    let shown = told(&desk, &["models", "show", "pi-cli/default"], None).well();
    assert!(
        shown.contains("acts by itself") && shown.contains("beware       it has no sandbox"),
        "{shown}"
    );
}
