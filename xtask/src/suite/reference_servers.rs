//! Tries our MCP client against the reference servers of the package registry, as other people wrote them.
//!
//! The packages are pinned and live below `target/`, installed when their list changes. Without the registry
//! that cannot be done, and the step fails: it proves nothing then.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use super::{
    command::{counted, linted},
    counts::Counts,
    needs::{self, Need},
    sdk::{succeed, target},
};
use crate::repository::Repository;

const TESTS: [&str; 4] = ["test", "--workspace", "--test", "reference_servers"];

/// What a person would type, once the servers are there.
pub const SPELLED: &str = "ROOFTREE_MCP_SERVERS=$PWD/target/mcp-servers \
     cargo test -p rooftree-tools --features reference-servers --test reference_servers";

const PACKAGES: &str = "crates/testkit/mcp/package.json";

const NEEDS: &[Need] = &[
    Need {
        program: "node",
        proof: &["--version"],
        package: "nodejs",
    },
    Need {
        program: "npm",
        proof: &["--version"],
        package: "npm",
    },
];

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
    let place = provide(repository)?;
    let mut tests = linted(repository, &TESTS);
    tests.env("ROOFTREE_MCP_SERVERS", place);
    Ok(tests)
}

/// Installs the servers, unless exactly these are there.
fn provide(repository: &Repository) -> Result<PathBuf> {
    let place = target(repository).join("mcp-servers");
    let (packages, installed) = (repository.text(PACKAGES)?, place.join("installed.json"));
    if fs::read_to_string(&installed).is_ok_and(|text| text == packages) {
        return Ok(place);
    }
    fs::create_dir_all(&place).with_context(|| format!("make {}", place.display()))?;
    write(&place.join("package.json"), &packages)?;
    let mut install = Command::new("npm");
    install
        .args(["install", "--no-audit", "--no-fund", "--ignore-scripts"])
        .current_dir(&place);
    succeed(&mut install)
        .context("install the reference servers; this step needs the npm registry")?;
    write(&installed, &packages)?;
    Ok(place)
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("write {}", path.display()))
}
