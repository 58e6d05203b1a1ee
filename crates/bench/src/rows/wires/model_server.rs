//! The mock model server as a child process, and the request times it recorded.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

use super::BenchWire;
use crate::program_dir::ProgramDir;

/// The vendor's side: a separate process, as it is a separate machine in reality.
pub(in crate::rows) struct ModelServerProcess {
    program: Child,
    said: BufReader<ChildStdout>,
    pub(in crate::rows) url: String,
}

impl ModelServerProcess {
    /// Starts one that gives these answers. Its script is written into the directory.
    pub(super) fn start(
        place: &ProgramDir,
        wire: &BenchWire,
        work: &Path,
        answers: &[Value],
    ) -> Result<Self> {
        Self::start_in(place, wire, work, answers, &[])
    }

    pub(in crate::rows) fn start_in(
        place: &ProgramDir,
        wire: &BenchWire,
        work: &Path,
        answers: &[Value],
        order: &[&str],
    ) -> Result<Self> {
        let script = work.join("answers.json");
        fs::write(&script, serde_json::to_vec(answers)?)?;
        let mut command = Command::new(place.program("model-server"));
        command
            .arg(wire.server)
            .arg(script)
            .args(order)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut program = command.spawn().context("start model-server")?;
        let mut url = String::new();
        let mut said = BufReader::new(program.stdout.take().context("hear model-server")?);
        said.read_line(&mut url)?;
        anyhow::ensure!(!url.is_empty(), "model-server does not say where it is");
        Ok(Self {
            program,
            said,
            url: url.trim().to_owned(),
        })
    }

    /// Stops it; returns when each request arrived and when it was answered.
    pub(super) fn stop(mut self) -> Result<Vec<RequestTimes>> {
        drop(self.program.stdin.take());
        let lines = self.said.by_ref().lines();
        lines
            .map(|line| Ok(serde_json::from_str(&line?)?))
            .collect()
    }
}

impl Drop for ModelServerProcess {
    fn drop(&mut self) {
        // An error means that the process has already exited.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// Times in seconds since the first request.
#[derive(Deserialize)]
pub(super) struct RequestTimes {
    pub(super) at: f64,
    pub(super) answered: Option<f64>,
}
