//! Commands that steps are made of: cargo, and test programs whose tests are counted.

use std::{
    env,
    ffi::OsString,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context, Result};

use super::{INSIDE, counts::Counts};
use crate::repository::Repository;

/// Cargo with these arguments, at the root of the repository.
pub fn cargo(repository: &Repository, arguments: &[&str]) -> Command {
    let mut command = Command::new(toolchain("cargo"));
    command
        .args(arguments)
        .current_dir(repository.root())
        .env(INSIDE, "1");
    if arguments.first() == Some(&"doc") {
        command.env("RUSTDOCFLAGS", "-D warnings");
    }
    command
}

/// Cargo with these arguments and all that tests need, where clippy compiles our own crates.
///
/// `cargo clippy` would read everything once more, dependencies included, in a build of its own. Its compiler can do
/// both: it complains and compiles. So a cold run of the suite builds once.
pub fn linted(repository: &Repository, arguments: &[&str]) -> Command {
    let mut command = cargo(repository, arguments);
    command
        .arg(FEATURES)
        .env("RUSTC_WORKSPACE_WRAPPER", toolchain("clippy-driver"))
        .env("CLIPPY_ARGS", NO_WARNINGS);
    command
}

/// What the slow steps need is compiled in from the start, so that all steps share one build.
pub const FEATURES: &str = "--features=rooftree-cli/failpoints,rooftree-tools/reference-servers,\
     rooftree-connectors/emulators";

/// `-D warnings` in the form in which `cargo clippy` hands it on.
const NO_WARNINGS: &str = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";

/// A program of the toolchain that runs us.
fn toolchain(program: &str) -> OsString {
    let cargo = env::var_os("CARGO").map(PathBuf::from);
    let beside = cargo
        .map(|cargo| cargo.with_file_name(program))
        .filter(|path| path.is_file());
    beside.map_or_else(|| program.into(), PathBuf::into_os_string)
}

/// Shows what the command says as it says it, and counts tests on the way.
pub fn counted(command: Command, counts: &mut Counts) -> Result<bool> {
    counted_by_line(command, &mut |line| counts.read(line))
}

/// The same, where `read` takes each line.
pub fn counted_by_line(mut command: Command, read: &mut dyn FnMut(&str)) -> Result<bool> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .context("start the tests")?;
    for line in child
        .stdout
        .take()
        .map(BufReader::new)
        .into_iter()
        .flat_map(|reader| reader.split(b'\n'))
    {
        let line = line.context("read what the tests say")?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        read(&line);
    }
    Ok(child.wait().context("wait for the tests")?.success())
}
