//! A `rooftree serve` of the measured program, with an agent that answers from a script.

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::machine;

/// The token of clients of the OpenAI-compatible API.
pub(super) const CHAT_TOKEN: &str = "a-token-for-the-benchmark-of-the-server";

/// A program that serves on loopback, until it is dropped.
pub(super) struct RunningServer {
    program: Child,
    pub(super) url: String,
}

/// The measured program and a home for it.
pub(super) struct ServerHome {
    rooftree: PathBuf,
    work: PathBuf,
}

impl ServerHome {
    /// A home with the agent `guide`, whose model reads from this script.
    pub(super) fn new(rooftree: &Path, work: &Path, script: &str) -> Result<Self> {
        std::fs::create_dir_all(work.join("home/agents"))?;
        let file = work.join("script.toml");
        std::fs::write(&file, script)?;
        let agent = format!(
            "---\ndescription: Answers\napi_exposed: true\ntools: [Read, Grep, Glob]\nmodel: scripted/{}\n---\nAnswer.\n",
            file.display()
        );
        std::fs::write(work.join("home/agents/guide.md"), agent)?;
        Ok(Self {
            rooftree: rooftree.to_owned(),
            work: work.to_owned(),
        })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.rooftree);
        command
            .args(arguments)
            .current_dir(&self.work)
            .env("ROOFTREE_HOME", self.work.join("home"))
            .env("XDG_RUNTIME_DIR", &self.work)
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// A new access token.
    pub(super) fn token(&self, name: &str) -> Result<String> {
        let mut command = self.command(&["token", "create", name, "--scope", "chat"]);
        let made = command.output().context("make a token")?;
        ensure!(made.status.success(), "no token was made");
        Ok(String::from_utf8(made.stdout)?.trim().to_owned())
    }

    /// The database.
    pub(super) fn database(&self) -> PathBuf {
        self.work.join("home/rooftree.db")
    }

    /// Adds a webhook with this secret and these settings.
    pub(super) fn add_webhook(&self, name: &str, secret: &str, settings: &[&str]) -> Result<()> {
        let add = [
            "connectors",
            "add",
            "webhook",
            "--name",
            name,
            "--agent",
            "guide",
        ];
        let mut command = self.command(&[&add[..], settings].concat());
        let command = command.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut adding = command.spawn().context("add a webhook")?;
        let mut input = adding.stdin.take().context("give it its secret")?;
        input.write_all(secret.as_bytes())?;
        drop(input);
        ensure!(adding.wait()?.success(), "the webhook {name} was not added");
        Ok(())
    }

    /// Starts the server.
    pub(super) fn serve(&self) -> Result<RunningServer> {
        let mut command = self.command(&["serve", "--port", "0"]);
        command.env("ROOFTREE_SERVER_TOKEN", CHAT_TOKEN);
        RunningServer::start(&mut command)
    }
}

impl RunningServer {
    /// Starts a program that says where it serves.
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut program = command.spawn().context("start the server")?;
        let said = BufReader::new(program.stdout.take().context("hear the server")?);
        let mut lines = said.lines();
        let url = lines.by_ref().find_map(|line| {
            let line = line.ok()?;
            let at = line.find("http://")?;
            Some(line.get(at..)?.split_whitespace().next()?.to_owned())
        });
        // What it says later must not block it.
        std::thread::spawn(move || lines.for_each(drop));
        let url = url.context("the server does not say where it is")?;
        let url = url.trim_end_matches(['/', ';']).to_owned();
        Ok(Self { program, url })
    }

    /// Bytes it holds now.
    pub(super) fn memory(&self) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.program.id()))?;
        machine::kilobytes(&status, "VmRSS:").context("no VmRSS")
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}
