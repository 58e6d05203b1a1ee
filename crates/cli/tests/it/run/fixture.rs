//! A directory to work in, a home to keep things in, and a script for the model.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde_json::Value;

use crate::sessions::fixture::{Done, House};

pub struct Desk {
    pub house: House,
    work: tempfile::TempDir,
}

impl Desk {
    /// A desk whose model reads from this script.
    pub fn new(script: &str) -> Self {
        let desk = Self {
            house: House::new(),
            work: tempfile::tempdir().unwrap(),
        };
        desk.rewrite(script);
        desk
    }

    /// A model that repeats what it is told.
    pub fn with_echo() -> Self {
        Self::new("[[reply]]\ntimes = 1000\ntext = \"heard: {{ user.text }}\"")
    }

    /// Gives the model another script.
    pub fn rewrite(&self, script: &str) {
        fs::write(self.script(), script).unwrap();
    }

    fn script(&self) -> PathBuf {
        self.house.path().join("script.toml")
    }

    pub fn path(&self) -> &Path {
        self.work.path()
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Waits until the program has made this file.
    #[track_caller]
    pub fn waits_for(&self, name: &str) {
        for _ in 0..6_000 {
            if self.path().join(name).exists() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("{name} did not come");
    }

    /// `rooftree run …`, about to be started.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.house.command(&["run"]);
        command.args(arguments).current_dir(self.path());
        command.env(
            "ROOFTREE_MODEL",
            format!("scripted/{}", self.script().display()),
        );
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// `rooftree run …`
    pub fn run(&self, arguments: &[&str]) -> Done {
        finished(self.command(arguments).spawn().unwrap())
    }

    /// `rooftree run …` with this on standard input.
    pub fn run_with_input(&self, arguments: &[&str], input: &str) -> Done {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        finished(child)
    }

    /// `rooftree run … -o stream-json`, to be read line by line.
    pub fn watch(&self, arguments: &[&str]) -> Watched {
        let mut command = self.command(arguments);
        command.args(["-o", "stream-json"]);
        if arguments.contains(&"--input-format") {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Watched { child, lines }
    }
}

/// A run that is being read.
pub struct Watched {
    pub child: Child,
    pub lines: BufReader<ChildStdout>,
}

impl Watched {
    /// Reads until an event of this type comes.
    #[track_caller]
    pub fn until(&mut self, wanted: &str) -> Value {
        self.until_any(&[wanted])
    }

    /// Reads until an event of one of these types comes.
    #[track_caller]
    pub fn until_any(&mut self, wanted: &[&str]) -> Value {
        let mut line = String::new();
        while self.lines.read_line(&mut line).unwrap() > 0 {
            let event: Value = serde_json::from_str(&line).unwrap();
            if wanted.iter().any(|wanted| event["type"] == *wanted) {
                return event;
            }
            line.clear();
        }
        panic!("no {wanted:?} came");
    }

    pub fn say(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Sends a signal by its name.
    pub fn signal(&self, name: &str) {
        let id = self.child.id();
        assert!(
            Command::new("sh")
                .args(["-c", &format!("kill -{name} {id}")])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Waits for the end.
    pub fn done(mut self) -> Done {
        drop(self.child.stdin.take());
        let mut out = String::new();
        std::io::Read::read_to_string(&mut self.lines, &mut out).unwrap();
        Done {
            out,
            ..finished(self.child)
        }
    }
}

/// A program that takes longer than this waits for something that does not come.
const LIMIT: Duration = Duration::from_secs(120);

#[track_caller]
pub fn finished(child: Child) -> Done {
    let (id, (told, ended)) = (child.id(), mpsc::channel());
    thread::spawn(move || told.send(child.wait_with_output()));
    let Ok(output) = ended.recv_timeout(LIMIT) else {
        let _ = Command::new("kill")
            .args(["-KILL", &id.to_string()])
            .status();
        panic!("process {id} did not end within {LIMIT:?}");
    };
    let output = output.unwrap();
    Done {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}
