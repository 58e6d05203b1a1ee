//! Commands that are sent to a server with `--server`: over HTTP with a token, and over the socket of this machine.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::{listening, terminate};
use crate::{
    run::fixture::{Desk, finished},
    sessions::fixture::{Done, House},
};

/// A server with the scripted model of a desk, and a home of its own for those who use it.
struct Scene {
    desk: Desk,
    client: House,
    server: Child,
    url: String,
    token: String,
}

impl Scene {
    fn start(desk: Desk) -> Self {
        let made = ["token", "create", "cli", "--scope", "chat,approve"];
        let token = desk.house.rooftree(&made).well().trim().to_owned();
        let (server, url) = start(&desk, "0");
        Self {
            desk,
            client: House::new(),
            server,
            url,
            token,
        }
    }

    /// `rooftree --server URL …`
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.client.command(&["--server", &self.url]);
        command.args(arguments).env("ROOFTREE_TOKEN", &self.token);
        command
    }

    fn rooftree(&self, arguments: &[&str]) -> Done {
        ended(&mut self.command(arguments))
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn ended(command: &mut Command) -> Done {
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    finished(piped.spawn().unwrap())
}

/// The server of a desk, and where it listens.
pub(crate) fn start(desk: &Desk, port: &str) -> (Child, String) {
    let mut command = desk.house.command(&["serve", "--port", port]);
    let script = desk.house.path().join("script.toml");
    command.env("ROOFTREE_MODEL", format!("scripted/{}", script.display()));
    command.env("XDG_RUNTIME_DIR", desk.path());
    let (child, line) = listening(command.current_dir(desk.path()));
    let url = line
        .split_whitespace()
        .find(|word| word.starts_with("http"));
    let url = url
        .unwrap_or_else(|| panic!("{line}"))
        .trim_end_matches([';', '.']);
    (child, url.to_owned())
}

#[test]
fn a_message_is_sent_to_a_server_and_followed_there() {
    let scene = Scene::start(Desk::with_echo());
    let done = scene.rooftree(&["run", "hello"]);
    let again = format!("continue with: rooftree --server {} run -s", scene.url);
    assert!(done.err.contains(&again), "{done:?}");
    assert_eq!(done.well(), "heard: hello\n");
    let json = scene.rooftree(&["run", "-o", "json", "again"]).json();
    assert_eq!(json["text"], "heard: again", "{json}");
    let session = json["session"].as_str().unwrap();
    // It goes on in the same session, named by the end of its id.
    let end = &session[session.len() - 8..];
    let more = scene
        .rooftree(&["run", "-s", end, "-o", "json", "more"])
        .json();
    assert_eq!(more["session"], session, "{more}");
    let board = scene.rooftree(&["board", "-o", "json"]).json();
    let rows = board["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{board}");
    assert!(
        rows.iter()
            .all(|row| row["state"] == "done" && row["unread"] == false)
    );
    let own = scene.desk.house.rooftree(&["board", "-o", "json"]).json();
    assert_eq!(
        own["rows"].as_array().unwrap().len(),
        2,
        "the same sessions"
    );
    assert!(
        !scene.client.path().join("rooftree.db").exists(),
        "nothing is kept here"
    );
}

#[test]
fn the_variable_names_the_server_too_and_commands_about_this_machine_stay_here() {
    let scene = Scene::start(Desk::with_echo());
    let with = |arguments: &[&str]| {
        let mut command = scene.client.command(arguments);
        command.env("ROOFTREE_SERVER", &scene.url);
        ended(command.env("ROOFTREE_TOKEN", &scene.token))
    };
    assert_eq!(with(&["run", "hello"]).well(), "heard: hello\n");
    assert_eq!(
        with(&["config", "path"]).code,
        scene.client.rooftree(&["config", "path"]).code
    );
    for refused in [
        &["sessions", "events", "abcd"][..],
        &["sessions", "import", "abcd"],
        &["permissions", "import", "abcd"],
        &["tasks", "wait", "abcd"],
        &["agents", "show", "lead", "--prompt"],
        &["agents", "new", "scout"],
        &["usage"],
    ] {
        let done = with(refused);
        assert_eq!(done.code, 2, "{done:?}");
        assert!(done.err.contains("cannot be sent to a server"), "{done:?}");
        assert!(done.err.contains("ROOFTREE_SERVER"), "{done:?}");
    }
    let limited = with(&["run", "--max-turns", "3", "hello"]);
    assert!(
        limited.code == 2 && limited.err.contains("--max-turns"),
        "{limited:?}"
    );
}

#[test]
fn a_server_that_is_down_or_refuses_is_told_with_what_to_do() {
    let mut scene = Scene::start(Desk::with_echo());
    scene.token = format!("rt_{}", "0".repeat(64));
    let wrong = scene.rooftree(&["run", "hello"]);
    assert_eq!(wrong.code, 4, "{wrong:?}");
    assert!(
        wrong.err.contains("rooftree token create")
            && wrong.err.contains("does not accept the token")
            && wrong.err.contains("was revoked, or has ended"),
        "{wrong:?}"
    );
    let socket = scene
        .client
        .rooftree(&["--server", "unix:/none.sock", "board"]);
    assert!(
        socket.code == 5
            && socket
                .err
                .contains("nothing answers at the socket /none.sock"),
        "{socket:?}"
    );
    let bare = scene
        .client
        .rooftree(&["--server", "127.0.0.1:7663", "board"]);
    assert!(
        bare.code == 2 && bare.err.contains("does not begin with http://"),
        "{bare:?}"
    );
    let mut command = scene.client.command(&["--server", &scene.url, "board"]);
    let none = ended(command.env_remove("ROOFTREE_TOKEN"));
    assert!(
        none.code == 4 && none.err.contains("ROOFTREE_TOKEN"),
        "{none:?}"
    );
    let mut command = scene.client.command(&["--server", "nonsense", "board"]);
    let nonsense = ended(command.env_remove("ROOFTREE_TOKEN"));
    assert!(
        nonsense.code == 2 && nonsense.err.contains("`nonsense` is no address"),
        "{nonsense:?}"
    );
    terminate(&scene.server);
    scene.server.wait().unwrap();
    for arguments in [&["run", "hello"][..], &["board", "--once"]] {
        let down = scene.rooftree(arguments);
        assert_eq!(down.code, 5, "{down:?}");
        assert!(
            down.err
                .contains(&format!("nothing answers at {}", scene.url)),
            "{down:?}"
        );
        assert!(
            down.err.contains("refused") && down.err.contains("rooftree serve"),
            "{down:?}"
        );
    }
}

#[test]
fn the_socket_of_this_machine_needs_no_token_and_works_in_this_directory() {
    let desk = Desk::with_echo();
    let (mut server, _) = start(&desk, "0");
    let mut command = desk
        .house
        .command(&["--server", "unix:", "run", "-o", "json", "hello"]);
    command
        .env("XDG_RUNTIME_DIR", desk.path())
        .current_dir(desk.path());
    let done = ended(&mut command);
    let json: Value = done.json();
    let session = json["session"].as_str().unwrap();
    let shown = desk
        .house
        .rooftree(&["sessions", "list", "-o", "json"])
        .json();
    assert_eq!(shown[0]["id"], session, "{shown}");
    let cwd = std::fs::canonicalize(desk.path()).unwrap();
    assert_eq!(shown[0]["cwd"], cwd.to_str().unwrap(), "{shown}");
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn sessions_of_a_server_are_listed_shown_changed_deleted_and_restored() {
    let scene = Scene::start(Desk::with_echo());
    let json = scene.rooftree(&["run", "-o", "json", "hello"]).json();
    let session = json["session"].as_str().unwrap();
    let end = &session[session.len() - 8..];
    let listed = scene.rooftree(&["sessions", "list", "-o", "json"]).json();
    assert_eq!(
        (&listed[0]["id"], &listed[0]["state"], &listed[0]["asked"]),
        (&json["session"], &"resting".into(), &"hello".into())
    );
    let own = &scene.desk.house;
    let here = own.rooftree(&["sessions", "list", "-o", "json"]).json();
    assert_eq!(listed, here, "the same here and there");
    scene
        .rooftree(&["sessions", "rename", end, "Greeting"])
        .well();
    scene.rooftree(&["sessions", "pin", "greeting"]).well();
    let shown = scene
        .rooftree(&["sessions", "show", "Greeting", "-o", "json"])
        .json();
    assert_eq!(shown["session"]["name"], "Greeting", "{shown}");
    assert!(shown["session"]["pinned_at"].is_string(), "{shown}");
    assert_eq!(
        shown,
        own.rooftree(&["sessions", "show", end, "-o", "json"])
            .json()
    );
    let forked = scene
        .rooftree(&["sessions", "fork", end])
        .well()
        .trim()
        .to_owned();
    scene
        .rooftree(&["sessions", "rm", &forked, "Greeting"])
        .well();
    let left = scene.rooftree(&["sessions", "list", "-o", "ids"]);
    assert_eq!(left.well(), "");
    let gone = scene.rooftree(&["sessions", "show", end]);
    assert!(
        gone.code != 0 && gone.err.contains("sessions restore"),
        "{gone:?}"
    );
    scene.rooftree(&["sessions", "restore", end]).well();
    let back = scene.rooftree(&["sessions", "list", "-o", "ids"]);
    assert_eq!(back.well().trim(), session);
    let missing = scene.rooftree(&["sessions", "rename", "nowhere", "X"]);
    assert!(
        missing.code != 0 && missing.err.contains("there is no session `nowhere`"),
        "{missing:?}"
    );
}

#[test]
fn runs_traces_tasks_and_agents_of_a_server_are_read_as_here() {
    let scene = Scene::start(Desk::with_echo());
    let json = scene.rooftree(&["run", "-o", "json", "hello"]).json();
    let own = &scene.desk.house;
    let runs = scene.rooftree(&["runs", "list", "-o", "json"]).json();
    assert_eq!(runs[0]["session"], json["session"], "{runs}");
    assert_eq!(runs[0]["status"], "completed", "{runs}");
    assert_eq!(runs, own.rooftree(&["runs", "list", "-o", "json"]).json());
    let run = runs[0]["run"].as_str().unwrap();
    let end = &run[run.len() - 8..];
    for arguments in [
        &["runs", "show", end, "-o", "json"][..],
        &["runs", "trace", end, "-o", "json"],
        &["tasks", "list", "-o", "json"],
    ] {
        let there = scene.rooftree(arguments).json();
        assert_eq!(there, own.rooftree(arguments).json(), "{arguments:?}");
    }
    let shown = scene.rooftree(&["runs", "show", run, "-o", "json"]).json();
    assert_eq!(shown["text"], "heard: hello", "{shown}");
    let ended = scene.rooftree(&["runs", "cancel", run]);
    assert!(ended.err.contains("has ended already"), "{ended:?}");
    let agents = scene.rooftree(&["agents", "list", "-o", "ids"]);
    assert!(
        agents.well().lines().any(|name| name == "lead"),
        "the agents of the server"
    );
    let lead = scene
        .rooftree(&["agents", "show", "lead", "-o", "json"])
        .json();
    assert_eq!(lead["name"], "lead", "{lead}");
}

#[test]
fn requests_of_a_server_are_listed_shown_and_answered_and_stay_in_the_history() {
    let script = "[[reply]]\n[[reply.call]]\ntool = \"Bash\"\ninput = { command = \"echo x > done\" }\n[[reply]]\ntext = \"Done.\"";
    let desk = Desk::new(script);
    let settings = "[permission]\nmode = 'ask'\n";
    std::fs::write(desk.house.path().join("config.toml"), settings).unwrap();
    let scene = Scene::start(desk);
    let mut command = scene.command(&["run", "do it"]);
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut run = quiet.stderr(Stdio::null()).spawn().unwrap();
    let pending = || {
        scene
            .rooftree(&["permissions", "list", "-o", "json"])
            .json()
    };
    let since = std::time::Instant::now();
    while pending().as_array().unwrap().is_empty() {
        assert!(since.elapsed().as_secs() < 60, "nothing is asked");
    }
    let asked = pending()[0].clone();
    assert_eq!(asked["tool"], "Bash", "{asked}");
    let own = &scene.desk.house;
    let here = own.rooftree(&["permissions", "list", "-o", "json"]).json();
    assert_eq!(
        here[0]["digest"], asked["digest"],
        "the same here and there"
    );
    let id = asked["id"].as_str().unwrap();
    let end = &id[id.len() - 8..];
    let shown = scene.rooftree(&["permissions", "show", end]).well();
    assert!(shown.contains("echo x > done"), "{shown}");
    let allowed = scene.rooftree(&["permissions", "allow", end]);
    assert!(
        allowed.code == 0 && allowed.err.contains("allowed once"),
        "{allowed:?}"
    );
    scene.desk.waits_for("done");
    let late = scene.rooftree(&["permissions", "deny", id]);
    assert_ne!(late.code, 0, "the first answer counts: {late:?}");
    let all = scene
        .rooftree(&["permissions", "list", "--all", "-o", "json"])
        .json();
    assert_eq!(
        (&all[0]["id"], &all[0]["state"]),
        (&asked["id"], &"answered".into()),
        "{all}"
    );
    run.wait().unwrap();
}

#[test]
fn search_queue_export_switch_and_back_are_sent_to_a_server() {
    let scene = Scene::start(Desk::with_echo());
    let json = scene
        .rooftree(&["run", "-o", "json", "about a walrus"])
        .json();
    let session = json["session"].as_str().unwrap();
    let hits = scene
        .rooftree(&["sessions", "search", "walrus", "-o", "json"])
        .json();
    assert_eq!(hits[0]["session"], session, "{hits}");
    let waiting = scene.rooftree(&["sessions", "queue", session, "-o", "json"]);
    assert_eq!(waiting.json(), serde_json::json!([]));
    let gone = ["sessions", "queue", session, "withdraw", "msg_0"];
    assert_ne!(scene.rooftree(&gone).code, 0);
    // The same lines as on the machine of the server.
    let here = scene.rooftree(&["sessions", "export", session]).well();
    let there = scene.desk.house.rooftree(&["sessions", "export", session]);
    assert_eq!(here, there.well());
    let lines = [
        "sessions", "export", session, "--layout", "files", "--out", "walrus",
    ];
    scene.rooftree(&lines).well();
    assert!(scene.client.path().join("walrus/descriptor.json").exists());
    let missing = scene.rooftree(&["sessions", "switch", session, "nobody-such"]);
    assert_ne!(missing.code, 0, "{missing:?}");
    let switched = scene
        .rooftree(&["sessions", "switch", session, "task", "go on"])
        .well();
    assert!(switched.contains("heard: go on"), "{switched}");
    let listed = scene.rooftree(&["sessions", "list", "-o", "json"]).json();
    let rows = listed.as_array().unwrap();
    let new = rows.iter().find(|row| row["agent"] == "task").unwrap();
    let back = scene
        .rooftree(&["sessions", "back", new["id"].as_str().unwrap()])
        .well();
    assert_eq!(back.trim(), session);
    let undo = scene.rooftree(&["sessions", "undo", session, "--dry-run", "-o", "json"]);
    assert_eq!(undo.json()["undo"], Value::Null);
    let unnamed = scene.rooftree(&["sessions", "undo", "--dry-run"]);
    assert!(
        unnamed.code == 2 && unnamed.err.contains("name one"),
        "{unnamed:?}"
    );
}

#[test]
fn rules_of_a_server_are_listed_added_and_removed() {
    let scene = Scene::start(Desk::with_echo());
    let add = |more: &[&str]| {
        let words = ["permissions", "rules", "add", "Bash(git log *)"];
        scene.rooftree(&[&words[..], more].concat())
    };
    // A directory of this machine is none of the server.
    let foreign = add(&[]);
    assert!(
        foreign.code == 2 && foreign.err.contains("--for always"),
        "{foreign:?}"
    );
    add(&["--for", "always"]).well();
    let rules = scene
        .rooftree(&["permissions", "rules", "-o", "json"])
        .json();
    assert_eq!(rules[0]["rule"], "Bash(git log *)", "{rules}");
    let number = rules[0]["number"].to_string();
    scene
        .rooftree(&["permissions", "rules", "rm", &number])
        .well();
    let rules = scene
        .rooftree(&["permissions", "rules", "-o", "json"])
        .json();
    assert_eq!(rules, serde_json::json!([]));
    assert!(!scene.client.path().join("rooftree.db").exists());
}

/// A lead with an agent in background that waits for a yes.
const BACKGROUND: &str = r#"
[[reply]]
on = "go"
[[reply.call]]
tool = "Task"
input = { subagent_type = "task", isolation = "none", run_in_background = true, prompt = "dig" }
[[reply]]
on = "go"
text = "It digs."
[[reply]]
on = "child_result"
text = "I have heard of it."
[[reply]]
on = "dig"
[[reply.call]]
tool = "Bash"
input = { command = "echo dug > hole" }
[[reply]]
on = "dig"
text = "A deep hole."
"#;

#[test]
fn a_background_agent_of_a_server_is_told_and_followed() {
    let desk = Desk::new(BACKGROUND);
    std::fs::write(
        desk.house.path().join("config.toml"),
        "[permission]\nmode = 'ask'\n",
    )
    .unwrap();
    let scene = Scene::start(desk);
    scene.rooftree(&["run", "go"]).well();
    let pending = || {
        let list = scene
            .rooftree(&["permissions", "list", "-o", "json"])
            .json();
        list[0]["id"].as_str().map(str::to_owned)
    };
    super::until("it asks", || pending().is_some());
    let tasks = scene.rooftree(&["tasks", "list", "-o", "json"]).json();
    let task = tasks[0]["id"].as_str().unwrap();
    scene
        .rooftree(&["tasks", "send", task, "not too deep"])
        .well();
    let follower = scene
        .command(&["tasks", "tail", task])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    scene
        .rooftree(&["permissions", "allow", &pending().unwrap()])
        .well();
    let followed = finished(follower).well();
    assert!(followed.contains("A deep hole."), "{followed}");
    let told = scene.rooftree(&["tasks", "send", task, "more"]);
    assert!(told.err.contains("has ended already"), "{told:?}");
}
