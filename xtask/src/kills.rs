//! `cargo xtask kills [COUNT] [--binary PATH]`: kills the release binary at random moments and checks what is left.
//!
//! Each round begins a run with narrow rights (plan mode, a deny rule, no network) or in `auto`, kills it, lets
//! processes with wider and narrower rights continue it and kills those too, lets the last one finish, and then
//! looks: nothing is stuck, nothing is lost or done twice, and nothing happened that the first process did not permit.
//! Not part of the suite: it takes minutes and needs the release build.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    thread,
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::repository::Repository;

/// Kills unless the command line says another number.
const KILLS: u32 = 300;
/// Processes that are killed in one round: a run that is cut off six times is given up.
const PER_ROUND: u32 = 4;
/// Milliseconds a process lives at most before it is killed.
const LIFETIME: u64 = 450;
/// How long the last process of a round may take.
const LONGEST: Duration = Duration::from_secs(90);

/// What the model does in a round: looks, changes a file and runs a command, which need rights; delegates; starts a
/// program in background; and ends.
const SCRIPT: &str = r#"
[[reply]]
agent = "lead"
delay = "90ms"
text = "looking"
[[reply.call]]
tool = "Read"
input = { file_path = "seen.txt" }
[[reply.call]]
tool = "Task"
input = { subagent_type = "task", description = "child", prompt = "write the child's file" }

[[reply]]
agent = "lead"
delay = "90ms"
text = "changing"
[[reply.call]]
tool = "Write"
input = { file_path = "by-lead.txt", content = "x" }
[[reply.call]]
tool = "Bash"
input = { command = "echo done >> by-bash.txt" }

[[reply]]
agent = "lead"
delay = "90ms"
text = "starting a program"
[[reply.call]]
tool = "Bash"
input = { command = "sleep 0.3; echo end >> background.txt", run_in_background = true }

[[reply]]
agent = "lead"
delay = "90ms"
text = "finished"

[[reply]]
agent = "task"
delay = "120ms"
text = "writing"
[[reply.call]]
tool = "Write"
input = { file_path = "by-child.txt", content = "x" }

[[reply]]
agent = "task"
text = "child finished"
"#;

/// Rights a process is started with.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Rights {
    mode: &'static str,
    more: &'static [&'static str],
}

const NARROW: Rights = Rights {
    mode: "plan",
    more: &["--deny", "Bash", "--network", "off"],
};
const WIDE: Rights = Rights {
    mode: "auto",
    more: &[],
};
const WIDEST: Rights = Rights {
    mode: "bypass",
    more: &["--allow", "Bash", "--allow", "Write"],
};

/// Runs rounds until enough processes were killed.
pub fn run(repository: &Repository, arguments: &[&str]) -> Result<ExitCode> {
    let (wanted, binary) = options(repository, arguments)?;
    let (mut killed, mut rounds) = (0, 0_u32);
    let mut random = Random::new();
    while killed < wanted {
        let began_with = if rounds.is_multiple_of(2) {
            NARROW
        } else {
            WIDE
        };
        let round = Round::new(&binary)?;
        killed += round
            .play(began_with, &mut random)
            .with_context(|| format!("round {rounds}"))?;
        rounds += 1;
        if rounds.is_multiple_of(10) {
            println!("{killed} of {wanted} kills in {rounds} rounds, nothing wrong");
        }
    }
    println!("{killed} kills in {rounds} rounds: nothing stuck, lost, doubled or widened");
    Ok(ExitCode::SUCCESS)
}

fn options(repository: &Repository, arguments: &[&str]) -> Result<(u32, PathBuf)> {
    let (mut wanted, mut binary) = (KILLS, None);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match *word {
            "--binary" => binary = words.next().map(PathBuf::from),
            count => {
                wanted = count
                    .parse()
                    .with_context(|| format!("`{count}` is not a number of kills"))?
            }
        }
    }
    if let Some(binary) = binary {
        return Ok((
            wanted,
            fs::canonicalize(&binary).with_context(|| format!("find {}", binary.display()))?,
        ));
    }
    let mut cargo = Command::new("cargo");
    let built = cargo
        .args(["build", "--release", "-p", "rooftree-cli"])
        .current_dir(repository.root())
        .status()?;
    ensure!(built.success(), "the release build failed");
    Ok((wanted, repository.root().join("target/release/rooftree")))
}

/// One home, one session, one run.
struct Round {
    directory: PathBuf,
    binary: PathBuf,
}

impl Round {
    fn new(binary: &Path) -> Result<Self> {
        let nanos = SystemTime::UNIX_EPOCH.elapsed()?.as_nanos();
        let directory =
            std::env::temp_dir().join(format!("rooftree-kills-{}-{nanos}", std::process::id()));
        fs::create_dir_all(directory.join("work"))?;
        fs::write(directory.join("work/seen.txt"), "seen\n")?;
        fs::write(directory.join("script.toml"), SCRIPT)?;
        Ok(Self {
            directory,
            binary: binary.to_owned(),
        })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(arguments)
            .current_dir(self.directory.join("work"));
        command.env("ROOFTREE_HOME", self.directory.join("home"));
        command.env(
            "ROOFTREE_MODEL",
            format!("scripted/{}", self.directory.join("script.toml").display()),
        );
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    fn start(&self, arguments: &[&str], rights: Rights) -> Result<Child> {
        let mut command = self.command(arguments);
        command
            .args(["--no-input", "--permission-mode", rights.mode])
            .args(rights.more);
        command.spawn().context("start the program")
    }

    /// Says how many processes were killed while they worked.
    fn play(&self, began_with: Rights, random: &mut Random) -> Result<u32> {
        let mut killed = 0;
        // The first one has to get as far as having a session.
        let mut child = self.start(&["run", "begin"], began_with)?;
        while self.sessions().is_empty() && child.try_wait()?.is_none() {
            thread::sleep(Duration::from_millis(2));
        }
        killed += self.kill_soon(child, random)?;
        let Some(session) = self.sessions().into_iter().next() else {
            bail!("no session was begun")
        };
        for _ in 1..PER_ROUND {
            let rights = *random.pick(&[NARROW, WIDE, WIDEST]);
            let child = self.start(&["run", "-s", &session], rights)?;
            killed += self.kill_soon(child, random)?;
        }
        let last = *random.pick(&[WIDE, WIDEST]);
        self.finish(self.start(&["run", "-s", &session], last)?)?;
        self.check(&session, began_with)?;
        fs::remove_dir_all(&self.directory)?;
        Ok(killed)
    }

    fn kill_soon(&self, mut child: Child, random: &mut Random) -> Result<u32> {
        thread::sleep(Duration::from_millis(random.below(LIFETIME)));
        let was_alive = child.try_wait()?.is_none();
        // It may have ended by itself just now.
        let _ = child.kill();
        child.wait()?;
        Ok(u32::from(was_alive))
    }

    fn finish(&self, mut child: Child) -> Result<()> {
        let since = SystemTime::now();
        while child.try_wait()?.is_none() {
            if since.elapsed()? > LONGEST {
                let _ = child.kill();
                bail!("stuck; see {}", self.directory.display());
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    fn check(&self, session: &str, began_with: Rights) -> Result<()> {
        let here = self.directory.display();
        let wrote = |name: &str| {
            fs::read_to_string(self.directory.join("work").join(name)).unwrap_or_default()
        };
        if began_with == NARROW {
            for name in [
                "by-lead.txt",
                "by-bash.txt",
                "by-child.txt",
                "background.txt",
            ] {
                ensure!(
                    wrote(name).is_empty(),
                    "{name} was written in a run that began in plan mode; see {here}"
                );
            }
        }
        for name in ["by-bash.txt", "background.txt"] {
            ensure!(
                wrote(name).lines().count() <= 1,
                "{name} was written twice; see {here}"
            );
        }
        let verified = self.command(&["doctor", "verify"]).status()?;
        ensure!(verified.success(), "doctor verify failed; see {here}");
        let running = self.json(&["tasks", "list", "--running", "-o", "json"])?;
        ensure!(
            is_empty(&running),
            "tasks are still running: {running}; see {here}"
        );
        let runs = self
            .json(&["runs", "list", "--all", "-o", "json"])?
            .to_string();
        ensure!(
            !runs.contains("\"running\""),
            "a run of {session} is not settled: {runs}; see {here}"
        );
        Ok(())
    }

    fn sessions(&self) -> Vec<String> {
        let Ok(listed) = self.json(&["sessions", "list", "--all", "-o", "json"]) else {
            return Vec::new();
        };
        let text = listed.to_string();
        let ids = text
            .split('"')
            .filter(|word| word.starts_with("ses_"))
            .map(str::to_owned);
        ids.collect()
    }

    fn json(&self, arguments: &[&str]) -> Result<Value> {
        let output = self.command(arguments).stdout(Stdio::piped()).output()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        serde_json::from_str(&text)
            .with_context(|| format!("{arguments:?} printed no JSON: {text}"))
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Null => true,
        _ => true,
    }
}

/// Random numbers that need no crate: the moments of kills must differ, nothing more.
struct Random(u64);

impl Random {
    fn new() -> Self {
        let nanos = SystemTime::UNIX_EPOCH
            .elapsed()
            .map_or(1, |since| since.subsec_nanos());
        Self(u64::from(nanos) | 1)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        let at = usize::try_from(self.below(items.len() as u64)).unwrap_or_default();
        items
            .get(at)
            .or(items.first())
            .unwrap_or_else(|| unreachable!("an empty list"))
    }
}
