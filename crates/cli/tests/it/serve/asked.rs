//! Agents asked over HTTP, with the real program on both sides of the question.

use std::{
    io::{Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use super::{terminate, until};
use crate::{
    permissions::WRITES,
    run::fixture::{Desk, finished},
};

/// A desk with an agent that can be asked.
fn desk() -> Desk {
    let desk = Desk::new(WRITES);
    let agents = desk.house.path().join("agents");
    std::fs::create_dir_all(&agents).unwrap();
    std::fs::write(
        agents.join("writer.md"),
        "---\ndescription: x\napi_exposed: true\n---\nYou write.",
    )
    .unwrap();
    desk
}

fn serving(desk: &Desk, more: &[&str]) -> Command {
    let mut command = desk.house.command(&["serve", "--port", "0"]);
    let model = format!(
        "scripted/{}",
        desk.house.path().join("script.toml").display()
    );
    command
        .args(more)
        .current_dir(desk.path())
        .env("ROOFTREE_MODEL", model);
    command
}

fn with_token(mut command: Command) -> Command {
    command.env("ROOFTREE_SERVER_TOKEN", "sesame");
    command
}

/// One question; the status and the body of the answer.
fn ask(address: &str, text: &str) -> (u16, Value) {
    let body = json!({"model": "agent:writer", "messages": [{"role": "user", "content": text}]})
        .to_string();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer sesame\r\n\
         content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    let (head, body) = said.split_once("\r\n\r\n").unwrap();
    (
        head.split(' ').nth(1).unwrap().parse().unwrap(),
        serde_json::from_str(body).unwrap(),
    )
}

fn started(mut command: Command) -> (Child, String) {
    let (child, line) = super::listening(&mut command);
    (
        child,
        line.trim_end().rsplit_once("//").unwrap().1.to_owned(),
    )
}

fn asked(desk: &Desk) -> Vec<Value> {
    desk.house
        .rooftree(&["permissions", "list", "--json"])
        .json()
        .as_array()
        .unwrap()
        .clone()
}

#[test]
fn s_b2_a_token_is_no_argument() {
    for more in [&["--token", "sesame"][..], &["--token=sesame"]] {
        let desk = desk();
        let told = finished(
            serving(&desk, more)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap(),
        );
        let told = told.ended(2);
        assert!(told.contains("ROOFTREE_SERVER_TOKEN"), "{told}");
        assert!(told.contains("rooftree token create"), "{told}");
    }
}

#[test]
fn a_permission_an_http_client_waits_for_is_given_from_another_terminal() {
    let desk = desk();
    let (server, address) = started(with_token(serving(&desk, &[])));
    let waiting = std::thread::spawn({
        let address = address.clone();
        move || ask(&address, "Write it")
    });
    until("the question", || !asked(&desk).is_empty());
    assert!(!waiting.is_finished() && !desk.path().join("new.txt").exists());
    let id = asked(&desk)[0]["id"].as_str().unwrap().to_owned();
    desk.house.rooftree(&["permissions", "allow", &id]).well();
    let (status, answer) = waiting.join().unwrap();
    assert_eq!(
        (status, &answer["choices"][0]["message"]["content"]),
        (200, &json!("I write.\n\nwritten"))
    );
    assert_eq!(
        std::fs::read_to_string(desk.path().join("new.txt")).unwrap(),
        "hello"
    );
    terminate(&server);
    assert_eq!(finished(server).code, 0);
    desk.house.is_sound();
}

#[test]
fn whoever_waits_too_long_is_told_what_for_and_it_is_done_once_it_is_allowed() {
    let desk = desk();
    let more = ["--permission-timeout", "10ms"];
    let (server, address) = started(with_token(serving(&desk, &more)));
    let (status, answer) = ask(&address, "Write it");
    assert_eq!(
        (status, &answer["rooftree"]["status"]),
        (200, &json!("needs_permission"))
    );
    let id = answer["rooftree"]["permission"].as_str().unwrap();
    assert!(
        answer["choices"][0]["message"]["content"]
            .as_str()
            .unwrap()
            .contains(id),
        "{answer}"
    );
    desk.house.rooftree(&["permissions", "allow", id]).well();
    until("the writing", || desk.path().join("new.txt").exists());
    terminate(&server);
    assert_eq!(finished(server).code, 0);
}

#[test]
fn without_a_token_nobody_is_reached_and_that_is_said() {
    let desk = desk();
    let (server, address) = started(serving(&desk, &[]));
    assert_eq!(ask(&address, "Write it").0, 401);
    terminate(&server);
    let done = finished(server);
    assert!(
        done.err
            .contains("no client can ask writer here without a token"),
        "{done:?}"
    );
}
