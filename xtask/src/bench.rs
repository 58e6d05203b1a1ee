//! `cargo xtask bench`: builds what is measured, in profile `dist`, and lets `crates/bench` measure it.

use std::{
    env,
    ffi::OsString,
    path::PathBuf,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail};

use crate::{
    repository::Repository,
    suite::{browser, needs},
};

/// Measures; the arguments are those of the benchmark itself.
pub fn run(repository: &Repository, arguments: &[&str]) -> Result<ExitCode> {
    // Without it one row is left out, which that row says.
    needs::offer("rg", "ripgrep");
    build(repository)?;
    let program = target(repository).join("dist/rooftree-bench");
    let mut bench = Command::new(&program);
    // Without it the rows of the page are left out, which they say.
    if let Ok(packages) = browser::packages(repository) {
        bench.env("ROOFTREE_NPM", packages);
    }
    let status = bench
        .args(arguments)
        .current_dir(repository.root())
        .status();
    let status = status.with_context(|| format!("start {}", program.display()))?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn build(repository: &Repository) -> Result<()> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.args([
        "build",
        "--profile",
        "dist",
        "--package",
        "rooftree-bench",
        "--package",
        "rooftree-cli",
    ]);
    // Brings the model server, which rows about wires start.
    command.args(["--package", "rooftree-testkit"]);
    let built = command
        .current_dir(repository.root())
        .status()
        .context("start cargo")?;
    if !built.success() {
        bail!("what is to be measured does not build");
    }
    Ok(())
}

fn target(repository: &Repository) -> PathBuf {
    let elsewhere = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    repository
        .root()
        .join(elsewhere.unwrap_or_else(|| PathBuf::from("target")))
}
