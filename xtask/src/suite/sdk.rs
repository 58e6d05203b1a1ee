//! Lets the vendors' own SDKs talk to our model servers and to our agents, so that one hand does not write
//! both sides.
//!
//! Their packages are pinned and live in a virtual environment below `target/`, made when the list of
//! packages changes. Without the registry that cannot be made, and the step fails: it proves nothing then.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use super::{
    command::{counted, linted},
    counts::Counts,
    needs::{self, Need},
};
use crate::repository::Repository;

/// What a person would type, once the environment is there.
pub const SPELLED: &str = "target/sdk/bin/python crates/testkit/sdk/run.py";

const PACKAGES: &str = "crates/testkit/sdk/requirements.txt";

/// The package brings Python itself too.
pub const NEEDS: &[Need] = &[Need {
    program: "python3",
    proof: &["-c", "import ensurepip, venv"],
    package: "python3-venv",
}];

/// Does it and says whether it went well. What is missing is told, and is a failure of this step alone.
pub fn perform(repository: &Repository, counts: &mut Counts) -> Result<bool> {
    match prepared(repository) {
        Ok(tests) => counted(tests, counts),
        Err(error) => {
            println!("error: {error:#}");
            Ok(false)
        }
    }
}

/// The tests, ready to be started.
fn prepared(repository: &Repository) -> Result<Command> {
    needs::provide_these(NEEDS)?;
    let target = target(repository);
    let environment = target.join("sdk");
    provide(repository, PACKAGES, &environment)
        .context("install the vendors' SDKs; this step needs the Python package registry")?;
    // As the step before built it: fewer targets would mean other features, and another build.
    let build = ["build", "--workspace", "--all-targets"];
    succeed(&mut linted(repository, &build)).context("build the programs they talk to")?;
    let mut tests = Command::new(environment.join("bin/python"));
    tests
        .arg("crates/testkit/sdk/run.py")
        .current_dir(repository.root())
        .env("ROOFTREE_MODEL_SERVER", target.join("debug/model-server"))
        .env("ROOFTREE_PROGRAM", target.join("debug/rooftree"))
        // No compiled files among the sources.
        .env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(tests)
}

/// Where cargo builds.
pub fn target(repository: &Repository) -> PathBuf {
    let chosen = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    repository.root().join(chosen)
}

/// Makes the environment, unless there is one with exactly these packages.
pub fn provide(repository: &Repository, list: &str, environment: &Path) -> Result<()> {
    let packages = repository.text(list)?;
    let installed = environment.join("installed.txt");
    if fs::read_to_string(&installed).is_ok_and(|text| text == packages) {
        return Ok(());
    }
    let mut create = Command::new("python3");
    create.args(["-m", "venv", "--clear"]).arg(environment);
    succeed(&mut create).context("make a virtual environment")?;
    let mut install = Command::new(environment.join("bin/python"));
    install
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--requirement",
            list,
        ])
        .current_dir(repository.root());
    succeed(&mut install)?;
    fs::write(&installed, packages).with_context(|| format!("write {}", installed.display()))
}

pub fn succeed(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("start {}", command.get_program().display()))?;
    if !status.success() {
        bail!("{} ended with {status}", command.get_program().display());
    }
    Ok(())
}
