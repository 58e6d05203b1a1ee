//! First run over the API of the real server: no model, a key that is stored and never told, a demo without a key.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    os::unix::{fs::PermissionsExt, net::UnixStream},
    path::PathBuf,
    process::{Child, Stdio},
};

use serde_json::{Value, json};

use super::{terminate, until};
use crate::run::fixture::{Desk, finished};

const KEY: &str = concat!("sk-", "ant-api03-first-run-of-a-test");

/// A server without any configuration: no key, no model.
struct Server {
    desk: Desk,
    child: Child,
    socket: PathBuf,
}

impl Server {
    fn start(desk: Desk) -> Self {
        let runtime = desk.path().join("rt");
        fs::create_dir_all(&runtime).unwrap();
        let mut command = desk.house.command(&["serve", "--port", "0"]);
        command.env("XDG_RUNTIME_DIR", &runtime);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.as_mut().unwrap());
        out.read_line(&mut line).unwrap();
        assert!(line.starts_with("listening on"), "{line}");
        let mut found = fs::read_dir(runtime.join("rooftree")).unwrap();
        let socket = found.next().unwrap().unwrap().path();
        Self {
            desk,
            child,
            socket,
        }
    }

    /// The status and the body of an answer over the local socket, whose user is the owner.
    fn ask(&self, line: &str, body: Option<Value>) -> (u16, String) {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let (method, path) = line.split_once(' ').unwrap();
        let request = format!(
            "{method} /api/v1{path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             connection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = UnixStream::connect(&self.socket).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1.to_owned();
        (status, body)
    }

    fn told(&self, status: u16, line: &str, body: Option<Value>) -> Value {
        let (found, body) = self.ask(line, body);
        assert_eq!(found, status, "{line}: {body}");
        // Long answers come in chunks.
        let json = body.find('{').map_or("null", |at| &body[at..]);
        let json = json.rfind('}').map_or(json, |end| &json[..=end]);
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {body}"))
    }

    fn stop(self) -> Desk {
        terminate(&self.child);
        assert_eq!(finished(self.child).code, 0);
        self.desk
    }
}

fn anthropic(list: &Value) -> Value {
    let providers = list["providers"].as_array().unwrap();
    let found = providers.iter().find(|one| one["name"] == "anthropic");
    found.unwrap().clone()
}

#[test]
fn a_key_is_stored_as_auth_set_does_never_told_and_its_usual_model_counts_at_once() {
    let server = Server::start(Desk::with_echo());
    let before = server.told(200, "GET /providers", None);
    assert_eq!(before.get("default_model"), None, "{before}");
    assert_eq!(anthropic(&before).get("key"), None, "{before}");
    let line = "PUT /providers/anthropic/key";
    for bad in ["", "two words"] {
        let problem = server.told(422, line, Some(json!({"key": bad})));
        assert!(
            problem["title"]
                .as_str()
                .unwrap()
                .contains("nothing was stored")
        );
    }
    let after = server.told(200, line, Some(json!({"key": KEY})));
    assert_eq!(anthropic(&after)["key"], json!({"from": "file"}));
    let model = after["default_model"].as_str().unwrap().to_owned();
    assert!(model.starts_with("anthropic/"), "{model}");
    assert!(!after.to_string().contains(KEY));
    let models = server.told(200, "GET /models", None);
    let models = models["models"].as_array().unwrap();
    assert!(
        models
            .iter()
            .any(|one| one["name"] == json!(model) && one["is_default"] == json!(true))
    );
    let again = server.told(
        422,
        "PUT /models/default",
        Some(json!({"model": "openai/gpt-5.2"})),
    );
    assert!(again["title"].as_str().unwrap().contains(&model), "{again}");
    let stored = server.desk.house.path().join("credentials.toml");
    assert!(fs::read_to_string(&stored).unwrap().contains(KEY));
    assert_eq!(
        fs::metadata(&stored).unwrap().permissions().mode() & 0o077,
        0
    );
    let audit = server.told(200, "GET /audit", None).to_string();
    assert!(
        audit.contains("key.store") && !audit.contains(KEY),
        "{audit}"
    );
    let removed = server.told(200, "DELETE /providers/anthropic/key", None);
    assert_eq!(anthropic(&removed).get("key"), None);
    let desk = server.stop();
    let settings = fs::read_to_string(desk.house.path().join("config.toml")).unwrap();
    assert!(
        settings.contains(&format!("model = \"{model}\"")),
        "{settings}"
    );
}

#[test]
fn the_demo_runs_over_the_api_without_a_key_and_only_looks() {
    let server = Server::start(Desk::with_echo());
    server.told(201, "POST /demo", None);
    let session = server.told(201, "POST /demo", None);
    let id = session["id"].as_str().unwrap();
    assert_eq!(session["model"], "demo/tour", "also a second time");
    let line = format!("GET /sessions/{id}/events?limit=200");
    let has_ended = || server.ask(&line, None).1.contains("\"run.completed\"");
    until("the end of the demo", has_ended);
    let events = server.ask(&line, None).1;
    assert!(events.contains("\"status\":\"completed\""), "{events}");
    assert!(events.contains("\"mode\":\"plan\""), "{events}");
    server.stop();
}
