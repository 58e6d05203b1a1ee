//! Compares the due times of cron schedules with croniter and cronsim, over ten years in twelve time zones.
//!
//! Their packages are pinned and live in a virtual environment below `target/`, like those of the step `sdk`.

use std::process::Command;

use anyhow::{Context, Result};

use super::{
    command::{counted, linted},
    counts::Counts,
    needs, sdk,
};
use crate::repository::Repository;

/// What a person would type, once the environment is there.
pub const SPELLED: &str =
    "target/cron/bin/python crates/schedule/oracle/compare.py target/debug/examples/due_times";

/// The packages.
pub const PACKAGES: &str = "crates/schedule/oracle/requirements.txt";

/// Does it and says whether it went well. What is missing is told, and is a failure of this step alone.
pub fn perform(repository: &Repository, counts: &mut Counts) -> Result<bool> {
    match prepared(repository) {
        Ok(comparison) => counted(comparison, counts),
        Err(error) => {
            println!("error: {error:#}");
            Ok(false)
        }
    }
}

fn prepared(repository: &Repository) -> Result<Command> {
    needs::provide_these(sdk::NEEDS)?;
    let target = sdk::target(repository);
    let environment = target.join("cron");
    sdk::provide(repository, PACKAGES, &environment)
        .context("install croniter and cronsim; this step needs the Python package registry")?;
    // As the step `clippy` built it: fewer targets would mean other features, and another build.
    let build = ["build", "--workspace", "--all-targets"];
    sdk::succeed(&mut linted(repository, &build)).context("build the program that is compared")?;
    let mut comparison = Command::new(environment.join("bin/python"));
    comparison
        .arg("crates/schedule/oracle/compare.py")
        .arg(target.join("debug/examples/due_times"))
        .current_dir(repository.root())
        // No compiled files among the sources.
        .env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(comparison)
}
