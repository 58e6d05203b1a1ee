//! Checks the types of the page's scripts with the TypeScript compiler. Nothing of it gets into the program.

use std::process::Command;

use anyhow::{Context, Result};

use super::npm_packages;
use crate::repository::Repository;

/// What a person would type, once the compiler is there.
pub const SPELLED: &str =
    "node target/page-types/node_modules/typescript/bin/tsc --project crates/server/tests/node";

pub const PACKAGES: &str = "crates/server/tests/node/package.json";

/// Does it and says whether it went well. What is missing is told, and is a failure of this step alone.
pub fn perform(repository: &Repository) -> Result<bool> {
    match npm_packages::provide(repository, PACKAGES, "page-types") {
        Ok(place) => Ok(Command::new("node")
            .arg(place.join("node_modules/typescript/bin/tsc"))
            .args(["--project", "crates/server/tests/node"])
            .current_dir(repository.root())
            .status()
            .context("start node")?
            .success()),
        Err(error) => {
            println!("error: {error:#}");
            Ok(false)
        }
    }
}
