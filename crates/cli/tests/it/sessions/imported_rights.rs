//! What a file says about rights has no weight: the corpus of imports, every case with its control.

use std::{fs, path::Path};

use rooftree_protocol::RunStatus;
use serde::Deserialize;
use serde_json::{Value, json};

use super::fixture::{Done, House};

const SCRIPT: &str = r#"
[[reply]]
on = "^make"
text = "Making it."

[[reply.call]]
tool = "Write"
input = { file_path = "made.txt", content = "made" }

[[reply]]
times = 1000
text = "done"
"#;

#[derive(Deserialize)]
struct Corpus {
    case: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    class: String,
    #[serde(default)]
    benign: bool,
    #[serde(default)]
    fork: bool,
    layout: Option<String>,
    event: Option<String>,
    session: Option<String>,
    start: Option<String>,
    message: Option<String>,
}

fn corpus() -> Vec<Case> {
    let corpus: Corpus = toml::from_str(include_str!("../../corpora/imports.toml")).unwrap();
    corpus.case
}

fn merge(into: &mut Value, more: Option<&str>) {
    let Some(more) = more else { return };
    let more: Value = serde_json::from_str(more).unwrap();
    into.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
}

/// A program that works in a directory of its own, below the home.
struct Desk {
    house: House,
}

impl Desk {
    fn new() -> Self {
        let house = House::new();
        for directory in ["here", "elsewhere"] {
            fs::create_dir(house.path().join(directory)).unwrap();
            fs::write(house.path().join(directory).join("script.toml"), SCRIPT).unwrap();
        }
        fs::create_dir(house.path().join("home")).unwrap();
        Self { house }
    }

    fn here(&self) -> std::path::PathBuf {
        self.house.path().join("here")
    }

    fn rooftree(&self, arguments: &[&str]) -> Done {
        let mut command = self.house.command(arguments);
        command
            .current_dir(self.here())
            .env("ROOFTREE_HOME", self.house.path().join("home"));
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Done {
            code: output.status.code().unwrap(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// The file of a case, as it would be given to somebody.
    fn archive(&self, case: &Case) -> String {
        let author = House::new();
        author.session(Some("talk"), |writer| {
            writer.asked("Hello");
            writer.answered("Hello.");
            writer.ends(RunStatus::Completed);
        });
        let mut lines = author.exported("talk");
        let elsewhere = self.house.path().join("elsewhere");
        let session = case
            .session
            .as_ref()
            .map(|text| text.replace("ELSEWHERE", elsewhere.to_str().unwrap()));
        merge(&mut lines[0]["session"], session.as_deref());
        for line in &mut lines {
            match line["type"].as_str() {
                Some("run.started") => merge(&mut line["data"], case.start.as_deref()),
                Some("message.user") => {
                    merge(&mut line["data"]["message"], case.message.as_deref())
                }
                _ => {}
            }
        }
        if case.event.is_some() {
            let mut last = lines.last().unwrap().clone();
            let number = last["id"].as_u64().unwrap() + 1;
            (last["id"], last["run"]) = (json!(number), Value::Null);
            merge(&mut last, case.event.as_deref());
            lines.push(last);
            lines[0]["session"]["head"] = json!(number);
        }
        match case.layout.as_deref() {
            Some("files") => self.directory(&lines),
            _ => {
                let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
                fs::write(self.here().join("talk.jsonl"), text).unwrap();
                "talk.jsonl".into()
            }
        }
    }

    /// The same as a directory: an untouched one, with the changed lines in place of its own.
    fn directory(&self, lines: &[Value]) -> String {
        let author = House::new();
        let file = author.path().join("changed.jsonl");
        let plain: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(&file, plain).unwrap();
        let id = author
            .rooftree(&["sessions", "import", file.to_str().unwrap()])
            .well();
        let place = self.here().join("talk");
        let to = place.to_str().unwrap();
        author
            .rooftree(&[
                "sessions",
                "export",
                id.trim(),
                "--layout",
                "files",
                "--out",
                to,
            ])
            .well();
        let events = lines.iter().skip(1).filter(|line| line["type"] != "blob");
        let text: String = events.map(|line| format!("{line}\n")).collect();
        fs::write(place.join("history.jsonl"), text).unwrap();
        for file in ["descriptor.json", "state.json"] {
            patch(&place.join(file), &lines[0]["session"]);
        }
        "talk".into()
    }

    /// Whether the file is made when the session goes on, and only where the person who imported it works.
    fn makes(&self, session: &str, mode: &[&str]) -> bool {
        let arguments = [
            "run",
            "-q",
            "--no-input",
            "-m",
            "scripted/script.toml",
            "-s",
            session,
            "make it",
        ];
        let arguments: Vec<&str> = arguments.into_iter().chain(mode.iter().copied()).collect();
        let done = self.rooftree(&arguments);
        assert!(
            !self.house.path().join("elsewhere/made.txt").exists(),
            "it worked elsewhere: {done:?}"
        );
        fs::remove_file(self.here().join("made.txt")).is_ok()
    }
}

/// Takes over what the row of the changed lines says.
fn patch(file: &Path, session: &Value) {
    let mut descriptor: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let row = match descriptor.get_mut("session") {
        Some(row) if row.is_object() => row,
        _ => &mut descriptor,
    };
    for key in ["cwd", "head", "model"] {
        if row.get(key).is_some() {
            row[key] = session[key].clone();
        }
    }
    fs::write(file, descriptor.to_string()).unwrap();
}

#[test]
fn s_a1_no_imported_file_of_the_corpus_says_what_may_happen_here() {
    for (number, case) in corpus().into_iter().enumerate() {
        let desk = Desk::new();
        let file = desk.archive(&case);
        let imported = desk
            .rooftree(&["sessions", "import", &file])
            .well()
            .trim()
            .to_owned();
        let session = if case.fork {
            desk.rooftree(&["sessions", "fork", &imported])
                .well()
                .trim()
                .to_owned()
        } else {
            imported
        };
        if !case.benign {
            assert!(!desk.makes(&session, &[]), "{} {number}", case.class);
        }
        // The control, and what a benign file must not take away: here the person permits it.
        assert!(
            desk.makes(&session, &["--permission-mode", "accept-edits"]),
            "{} {number}",
            case.class
        );
    }
}

#[test]
fn s_a1_an_imported_session_has_neither_the_directory_nor_the_model_of_its_file() {
    let desk = Desk::new();
    let case = Case {
        class: String::new(),
        benign: false,
        fork: false,
        layout: None,
        event: None,
        session: Some(r#"{"cwd": "/", "model": "openai/gpt"}"#.into()),
        start: None,
        message: None,
    };
    let file = desk.archive(&case);
    let done = desk.rooftree(&["sessions", "import", &file]);
    assert!(
        done.err.contains("openai/gpt, which is not taken over"),
        "{done:?}"
    );
    let id = done.well().trim().to_owned();
    let row = &desk.rooftree(&["sessions", "export", &id]).lines()[0]["session"];
    assert_eq!(
        row["cwd"],
        desk.here().canonicalize().unwrap().to_str().unwrap()
    );
    assert!(row.get("model").is_none_or(Value::is_null), "{row}");
}

#[test]
fn the_corpus_of_imports_is_large_enough_and_a_third_of_it_is_benign() {
    let corpus = corpus();
    let benign = corpus.iter().filter(|case| case.benign).count();
    assert!(
        corpus.len() >= 18 && benign * 3 >= corpus.len(),
        "{} cases, {benign} benign",
        corpus.len()
    );
}
