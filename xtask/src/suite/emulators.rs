//! Tries connectors against an emulator of chat platforms from the package registry, as other people wrote it.
//!
//! Without the registry the step fails: it proves nothing then.

use std::process::Command;

use anyhow::Result;

use super::{
    command::{counted, linted},
    counts::Counts,
    npm_packages,
};
use crate::repository::Repository;

const TESTS: [&str; 4] = ["test", "--workspace", "--test", "emulator"];

/// What a person would type, once the emulator is there.
pub const SPELLED: &str = "ROOFTREE_EMULATORS=$PWD/target/emulators \
     cargo test -p rooftree-connectors --features emulators --test emulator";

pub const PACKAGES: &str = "crates/connectors/tests/emulator/package.json";

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
    let place = npm_packages::provide(repository, PACKAGES, "emulators")?;
    let mut tests = linted(repository, &TESTS);
    tests.env("ROOFTREE_EMULATORS", place);
    Ok(tests)
}
