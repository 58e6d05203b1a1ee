//! Commands that steps are made of: cargo, and test programs whose tests are counted.

use std::{
    env,
    ffi::OsString,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use anyhow::{Context, Result};

use super::{INSIDE, counts::Counts};
use crate::repository::Repository;

/// Cargo with these arguments, at the root of the repository.
pub fn cargo(repository: &Repository, arguments: &[&str]) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.args(arguments).current_dir(repository.root()).env(INSIDE, "1");
    if arguments.first() == Some(&"doc") {
        command.env("RUSTDOCFLAGS", "-D warnings");
    }
    command
}

/// Shows what the command says as it says it, and counts tests on the way.
pub fn counted(mut command: Command, counts: &mut Counts) -> Result<bool> {
    let mut child = command.stdout(Stdio::piped()).spawn().context("start the tests")?;
    for line in child.stdout.take().map(BufReader::new).into_iter().flat_map(|reader| reader.split(b'\n')) {
        let line = line.context("read what the tests say")?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        counts.read(&line);
    }
    Ok(child.wait().context("wait for the tests")?.success())
}
