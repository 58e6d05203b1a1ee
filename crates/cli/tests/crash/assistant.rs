//! The whole assistant, killed in the middle: a schedule wakes an agent, its agent in background needs a yes, the person
//! gives it in Telegram after the server was killed, and the result arrives there once.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};

use crate::{
    bot_api::BotApi,
    fixture::{PATIENCE, QUICK, Scene, until, wait},
    permission::store,
    worker::{Worker, program},
};

use rooftree_store::prelude::*;

/// The person's number at Telegram.
const ANN: i64 = 77;
const ANN_TEXT: &str = "77";

/// The lead starts a background agent, which needs permission for its shell command.
const SCRIPT: &str = r#"
[[reply]]
on = "child_result"
text = "The hole is there."

[[reply]]
on = "have a hole dug"
[[reply.call]]
tool = "Task"
input = { subagent_type = "task", isolation = "none", run_in_background = true, prompt = "dig" }
[[reply]]
on = "have a hole dug"
text = "Somebody digs."

[[reply]]
on = "dig"
[[reply.call]]
tool = "Bash"
input = { command = 'echo dug >> effects' }
[[reply]]
on = "dig"
text = 'It is {{ results[0].outcome }}.'
"#;

struct Home {
    scene: Scene,
    api: BotApi,
}

impl Home {
    fn new() -> Self {
        let scene = Scene::new(&QUICK);
        scene.write_script(SCRIPT);
        let settings = scene.home().join("config.toml");
        fs::write(settings, "[permission]\nmode = 'ask'\n").unwrap();
        Self {
            scene,
            api: BotApi::start(),
        }
    }

    fn program(&self, arguments: &[&str]) -> Command {
        let mut command = program(&self.scene, arguments);
        let model = format!("scripted/{}", self.scene.script().display());
        command.env("ROOFTREE_MODEL", model);
        // The server's socket is below the home then.
        command.env_remove("XDG_RUNTIME_DIR");
        command
    }

    /// What the page is told of the replies in a session, from its beginning up to this event.
    fn replies_on_stream(&self, session: &str, head: u64) -> Vec<String> {
        let mut stream = UnixStream::connect(self.scene.home().join("run/server.sock")).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let body = json!({"sessions": {session: {"after": 0, "tree": true}}}).to_string();
        let request = format!(
            "POST /api/v1/stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let (mut replies, mut name) = (Vec::new(), String::new());
        let last = format!("id: {session}:{head}");
        let mut is_last = false;
        for line in BufReader::new(stream).lines() {
            let line = line.unwrap();
            is_last |= line == last;
            match line.split_once(": ") {
                Some(("event", event)) => event.clone_into(&mut name),
                Some(("data", data)) if name == "message.completed" => {
                    replies.push(data.to_owned())
                }
                // A frame ends with an empty line.
                _ if is_last && line.is_empty() => return replies,
                _ => {}
            }
        }
        panic!("the stream ended before {last}: {replies:?}");
    }

    /// Runs a command with this on standard input, and returns what it prints.
    fn told(&self, arguments: &[&str], input: &str) -> String {
        let mut command = self.program(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        let Output {
            status,
            stdout,
            stderr,
        } = child.wait_with_output().unwrap();
        let words = String::from_utf8(stderr).unwrap();
        assert!(status.success(), "{arguments:?}: {words}");
        String::from_utf8(stdout).unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let arguments = [arguments, &["-o", "json"]].concat();
        serde_json::from_str(&self.told(&arguments, "")).unwrap()
    }

    fn serve(&self) -> Worker {
        Worker::spawn(self.program(&["serve", "--port", "0"]))
    }

    /// Adds the bot and pairs the person, who sends the code.
    fn pair(&self) {
        let add = ["connectors", "add", "telegram", "--name", "home"];
        let settings = ["--agent", "lead", "--base-url", &self.api.url];
        let paces = ["--setting", "unpaced=true", "--setting", "debounce_ms=0"];
        let added = self.told(
            &[&add[..], &settings, &paces].concat(),
            "123456:token-of-the-bot",
        );
        assert_eq!(added, "added home (@home_bot)\n");
        let code = self.told(&["connectors", "pair", "home", "--approver"], "");
        self.api.write(10, ANN, code.trim());
        until("she is paired", || {
            let status = self.json(&["connectors", "status", "home"]);
            status[0]["people"][0]["sender"] == ANN_TEXT
        });
    }

    /// The message with buttons: its number, and what its first button carries.
    fn prompt(&self) -> Option<(usize, Value)> {
        let sent = self.api.sent().into_iter();
        let mut prompts = sent.filter(|(_, body)| body["reply_markup"].is_object());
        let (number, body) = prompts.next()?;
        let button = &body["reply_markup"]["inline_keyboard"][0][0];
        Some((number, button["callback_data"].clone()))
    }

    /// Waits until every message to a chat has its receipt.
    fn wait_delivered(&self) {
        until("everything is delivered", || {
            let rows = self.json(&["outbox", "list"]);
            let mut rows = rows.as_array().unwrap().iter();
            rows.all(|row| row["state"] == "sent" || row["state"] == "superseded")
        });
    }

    fn count(&self, text: &str) -> usize {
        let texts = self.api.texts();
        texts.iter().filter(|sent| sent.contains(text)).count()
    }
}

#[test]
fn a_schedule_asks_in_telegram_and_answers_there_once_though_the_server_is_killed() {
    let home = Home::new();
    let server = home.serve();
    home.pair();
    let plan = ["schedules", "add", "every 2h", "Please have a hole dug."];
    home.told(
        &[&plan[..], &["--name", "hole", "--target", "home:77"]].concat(),
        "",
    );
    home.told(&["schedules", "run", "hole"], "");
    until("the prompt is in Telegram", || home.prompt().is_some());
    // A message without its receipt would be sent again with a label, which is another test's matter.
    until("the first answer is in Telegram", || {
        home.count("Somebody digs.") > 0
    });
    home.wait_delivered();
    assert!(server.kill().was_killed());
    assert_eq!(
        home.scene.effects(),
        Vec::<String>::new(),
        "nobody said yes"
    );

    let server = home.serve();
    let (message, data) = home.prompt().unwrap();
    home.api.press(11, ANN, message, &data);
    until("the result is in Telegram", || {
        home.count("The hole is there.") > 0
    });
    until("nothing is unfinished", || {
        wait(store(&home.scene).unfinished()).unwrap().is_empty()
    });
    home.wait_delivered();
    assert_eq!(home.scene.effects(), ["dug"], "the call is made once");
    let texts = home.api.texts();
    assert_eq!(home.count("The hole is there."), 1, "{texts:?}");
    assert_eq!(home.count("Somebody digs."), 1, "{texts:?}");
    let with_buttons = home.api.sent().into_iter();
    let with_buttons = with_buttons.filter(|(_, body)| body["reply_markup"].is_object());
    assert_eq!(with_buttons.count(), 1, "it is asked once: {texts:?}");
    let edits = home.api.called("editMessageText");
    let last = edits.iter().rfind(|edit| edit["message_id"] == message);
    let outcome = last.map(|edit| edit["text"].as_str().unwrap().to_owned());
    assert!(
        outcome
            .as_deref()
            .is_some_and(|text| text.contains("Allowed by Ann")),
        "{edits:?}"
    );

    let history = home.json(&["schedules", "history", "hole"]);
    assert_eq!(history.as_array().unwrap().len(), 1, "{history}");
    assert_eq!(history[0]["execution"], "completed", "{history}");
    let board = home.json(&["board"]);
    let rows = board["rows"].as_array().unwrap();
    let session = &history[0]["session"];
    let row = rows
        .iter()
        .find(|row| &row["session"] == session || &row["id"] == session);
    let row = row.unwrap();
    assert_eq!(row["state"], "done", "{board}");
    let (session, head) = (session.as_str().unwrap(), row["head"].as_u64().unwrap());
    let replies = home.replies_on_stream(session, head);
    let told = replies
        .iter()
        .filter(|reply| reply.contains("The hole is there."));
    assert_eq!(told.count(), 1, "once on the page: {replies:?}");
    server.kill();
    assert!(home.scene.look().report.violations.is_empty());
}
