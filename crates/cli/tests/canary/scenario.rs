//! A session that meets made-up secrets wherever a real one would, and a search for them in all it leaves behind.
//!
//! Half of them nobody knows: they are found by their shape. The other half are in variables of the
//! program, and are met in every encoding.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use base64::Engine;
use rooftree_testkit::secret_canaries::{SecretCanary, generate_canaries};
use tempfile::TempDir;

/// What was left behind: where it is, and what is in it.
pub type Traces = Vec<(String, String)>;

/// The session, run by the real program with these variables on top.
pub fn play(orders: &[(&str, &str)]) -> Traces {
    let stage = Stage::new();
    let mut traces = Vec::new();
    let run = [
        "run",
        "-",
        "-o",
        "stream-json",
        "--include-deltas",
        "--permission-mode",
        "bypass",
        "--record",
        "tape.jsonl",
    ];
    let (out, err) = stage.program(&run, orders, &stage.everything);
    assert!(out.contains("run.completed"), "{out}\n{err}");
    let (listed, _) = stage.program(&["sessions", "list", "-o", "ids"], orders, "");
    let id = listed
        .lines()
        .next()
        .unwrap_or_else(|| panic!("no session: {err}"))
        .to_owned();
    traces.push(("what the run prints".into(), out));
    traces.push(("what the run says beside it".into(), err));
    let commands: [&[&str]; 8] = [
        &["sessions", "list"],
        &["sessions", "show", &id],
        &["sessions", "events", &id],
        &["sessions", "export", &id],
        &["sessions", "export", &id, "--format", "md"],
        &["sessions", "search", "redacted"],
        &["runs", "list"],
        &["tasks", "list"],
    ];
    for command in commands {
        let (out, err) = stage.program(command, orders, "");
        traces.push((command.join(" "), out + &err));
    }
    traces.push((
        "the recording".into(),
        fs::read_to_string(stage.work.path().join("tape.jsonl")).unwrap(),
    ));
    read_all(stage.home.path(), &mut traces);
    traces
}

/// Every secret that can be read in a trace: which one, in which form, where.
pub fn found(traces: &Traces) -> Vec<String> {
    let (unknown, known) = (unknown(), known());
    let plain = unknown
        .iter()
        .map(|canary| (canary, "as it is".to_owned(), canary.secret.clone()));
    let encoded = known.iter().flat_map(|canary| {
        encodings(&canary.value())
            .into_iter()
            .map(move |(how, text)| (canary, how.to_owned(), vec![middle(&text)]))
    });
    let mut found = Vec::new();
    for (canary, how, pieces) in plain.chain(encoded) {
        for (place, text) in traces {
            if pieces
                .iter()
                .any(|piece| piece.len() >= 10 && text.contains(piece.as_str()))
            {
                found.push(format!("{} ({how}) in {place}", canary.name));
            }
        }
    }
    found
}

/// Canaries nobody knows.
fn unknown() -> Vec<SecretCanary> {
    generate_canaries(
        include_str!("../../../secrets/tests/corpora/secret_shapes.txt"),
        101,
    )
}

/// Canaries the program has in its variables.
fn known() -> Vec<SecretCanary> {
    generate_canaries(
        include_str!("../../../secrets/tests/corpora/secret_shapes.txt"),
        202,
    )
}

fn encodings(value: &str) -> [(&'static str, String); 6] {
    let percent = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(*byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    let json = serde_json::Value::from(value).to_string();
    [
        ("as it is", value.to_owned()),
        ("in JSON", json.trim_matches('"').to_owned()),
        (
            "in base64",
            base64::engine::general_purpose::STANDARD.encode(format!("user:{value}")),
        ),
        (
            "in base64 for URLs",
            base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(value),
        ),
        (
            "in hexadecimal digits",
            value.bytes().map(|byte| format!("{byte:02x}")).collect(),
        ),
        (
            "in percent signs",
            value.as_bytes().iter().map(percent).collect(),
        ),
    ]
}

/// Enough of a text to know it by; its ends may stay where base64 shares them with what is around.
fn middle(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let from = letters.len().saturating_sub(12) / 2;
    letters.iter().skip(from).take(12).collect()
}

/// A home, a directory to work in with a file full of secrets, and a script full of them.
struct Stage {
    home: TempDir,
    work: TempDir,
    script: TempDir,
    everything: String,
}

impl Stage {
    fn new() -> Self {
        let plain = unknown()
            .into_iter()
            .map(|canary| format!("{}\n", canary.text));
        let encoded = known().into_iter().flat_map(|canary| {
            encodings(&canary.value())
                .map(|(_, text)| format!("found: {text}\n"))
                .into_iter()
        });
        let everything: String = plain.chain(encoded).collect();
        let [home, work, script] = [(); 3].map(|()| tempfile::tempdir().unwrap());
        fs::write(work.path().join("secrets.env"), &everything).unwrap();
        let key = unknown()
            .into_iter()
            .find(|canary| canary.name == "github token")
            .unwrap()
            .text;
        let text = toml::Value::from(everything.as_str()).to_string();
        let replies = format!(
            r#"
[[reply]]
text = {text}
thinking = {text}
[[reply.call]]
tool = "Read"
input = {{ file_path = "secrets.env" }}
[[reply.call]]
tool = "Write"
input = {{ file_path = "copy.txt", content = {text} }}
[[reply.call]]
tool = "TodoWrite"
input = {{ todos = [{{ content = {text}, status = "in_progress" }}] }}

[[reply]]
[[reply.call]]
tool = "Bash"
input = {{ command = "cat secrets.env; env; echo {key}" }}
[[reply.call]]
tool = "Bash"
input = {{ command = "sleep 30 # {key}", run_in_background = true }}
[[reply.call]]
tool = "Grep"
input = {{ pattern = "a", output_mode = "content" }}

[[reply]]
text = {text}
"#
        );
        fs::write(script.path().join("script.toml"), replies).unwrap();
        Self {
            home,
            work,
            script,
            everything,
        }
    }

    /// Runs the program; gives what it wrote on both streams.
    fn program(
        &self,
        arguments: &[&str],
        orders: &[(&str, &str)],
        input: &str,
    ) -> (String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rooftree"));
        command
            .args(arguments)
            .current_dir(self.work.path())
            .env("ROOFTREE_HOME", self.home.path());
        command.env(
            "ROOFTREE_MODEL",
            format!(
                "scripted/{}",
                self.script.path().join("script.toml").display()
            ),
        );
        for (number, canary) in known().iter().enumerate() {
            command.env(format!("CANARY_{number}_TOKEN"), canary.value());
        }
        // One is in a variable whose name says nothing.
        let address = unknown()
            .into_iter()
            .find(|canary| canary.text.starts_with("postgres://"))
            .unwrap();
        command
            .env("DATABASE_URL", address.text)
            .envs(orders.iter().copied());
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let bytes = input.as_bytes().to_vec();
        let feeding = std::thread::spawn(move || drop(stdin.write_all(&bytes)));
        let output = child.wait_with_output().unwrap();
        feeding.join().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (text(output.stdout), text(output.stderr))
    }
}

fn read_all(directory: &Path, traces: &mut Traces) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            read_all(&path, traces);
        } else {
            let bytes = fs::read(&path).unwrap_or_default();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            traces.push((name, String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
}
