//! Lets schemathesis send requests to every route of the HTTP API, made from its OpenAPI document.
//!
//! Its packages are pinned and live in a virtual environment below `target/`, like those of the step `sdk`.

use anyhow::{Context, Result};

use super::{
    command::{counted, linted},
    counts::Counts,
    needs, sdk,
};
use crate::repository::Repository;

/// What a person would type, once the environment is there.
pub const SPELLED: &str =
    "SCHEMATHESIS=target/schemathesis/bin/schemathesis cargo test -p rooftree-server schemathesis";

/// The packages.
pub const PACKAGES: &str = "crates/testkit/schemathesis/requirements.txt";

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

fn prepared(repository: &Repository) -> Result<std::process::Command> {
    needs::provide_these(sdk::NEEDS)?;
    let environment = sdk::target(repository).join("schemathesis");
    sdk::provide(repository, PACKAGES, &environment)
        .context("install schemathesis; this step needs the Python package registry")?;
    let arguments = ["test", "--workspace", "--test", "it", "schemathesis"];
    let mut tests = linted(repository, &arguments);
    tests.env("SCHEMATHESIS", environment.join("bin/schemathesis"));
    Ok(tests)
}
