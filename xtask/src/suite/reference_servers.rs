//! Tries our MCP client against the reference servers of the package registry, as other people wrote them.
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

const TESTS: [&str; 4] = ["test", "--workspace", "--test", "reference_servers"];

/// What a person would type, once the servers are there.
pub const SPELLED: &str = "ROOFTREE_MCP_SERVERS=$PWD/target/mcp-servers \
     cargo test -p rooftree-tools --features reference-servers --test reference_servers";

const PACKAGES: &str = "crates/testkit/mcp/package.json";

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
    let place = npm_packages::provide(repository, PACKAGES, "mcp-servers")?;
    let mut tests = linted(repository, &TESTS);
    tests.env("ROOFTREE_MCP_SERVERS", place);
    Ok(tests)
}
