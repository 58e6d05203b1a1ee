//! The program that answers as a vendor does, and what it saw.

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

/// The vendor's side: a program of its own, as it is a machine of its own elsewhere.
pub(super) struct ModelServerProcess {
    program: Child,
    said: BufReader<ChildStdout>,
    pub(super) url: String,
}

impl ModelServerProcess {
    /// Starts one that gives these answers. Its script lies in the directory.
    pub(super) fn start(
        place: &ProgramDir,
        wire: &BenchWire,
        work: &Path,
        answers: &[Value],
    ) -> Result<Self> {
        Self::start_in(place, wire, work, answers, &[])
    }

    pub(super) fn start_in(
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

    /// Ends it; says when each question was there and when it was answered.
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
        // There is nothing to be done about a program that is gone already.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// Seconds since the first question.
#[derive(Deserialize)]
pub(super) struct RequestTimes {
    pub(super) at: f64,
    pub(super) answered: Option<f64>,
}
