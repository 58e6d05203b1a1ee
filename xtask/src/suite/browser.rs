//! Tests of the page in a real browser: the built program, a fake model, headless Chromium.
//!
//! Without the npm registry or Chromium the step fails: it proves nothing then.

use std::{path::PathBuf, process::Command};

use anyhow::Result;

use super::{
    command::linted,
    needs::{self, Need},
    npm_packages,
    sdk::{succeed, target},
    second_try::{self, Runner, TestReport, failed_in_node},
};
use crate::repository::Repository;

const NEEDS: &[Need] = &[Need {
    program: "chromium",
    proof: &["--version"],
    package: "chromium",
}];

/// What a person would type, once the packages are there.
pub const SPELLED: &str = "ROOFTREE_BIN=$PWD/target/debug/rooftree ROOFTREE_NPM=$PWD/target/page-browser \
     node --test --test-concurrency=1 crates/server/tests/browser/*.test.mjs";

pub const PACKAGES: &str = "crates/server/tests/browser/package.json";
const TESTS: &str = "crates/server/tests/browser";

/// Does it and says whether it went well. What is missing is told, and is a failure of this step alone.
pub fn perform(repository: &Repository, report: &mut TestReport) -> Result<bool> {
    let tests = match prepared(repository) {
        Ok(tests) => tests,
        Err(error) => {
            println!("error: {error:#}");
            return Ok(false);
        }
    };
    let only = |names: &[String]| {
        let mut again = prepared(repository)?;
        again.args(
            names
                .iter()
                .map(|name| format!("--test-name-pattern=/^{}$/", escaped_for_regex(name))),
        );
        Ok(again)
    };
    let runner = Runner {
        failed_test: failed_in_node,
        only: &only,
    };
    second_try::run(tests, &runner, report)
}

/// The name as a regular expression of JavaScript that matches only it.
fn escaped_for_regex(name: &str) -> String {
    let mut escaped = String::new();
    for letter in name.chars() {
        if r"\^$.|?*+()[]{}/".contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

/// Provides Chromium and the packages that drive it; the folder of the packages.
pub fn packages(repository: &Repository) -> Result<PathBuf> {
    needs::provide_these(NEEDS)?;
    npm_packages::provide(repository, PACKAGES, "page-browser")
}

/// The tests, ready to be started.
fn prepared(repository: &Repository) -> Result<Command> {
    let packages = packages(repository)?;
    // As the step before built it: fewer targets would mean other features, and another build.
    let build = ["build", "--workspace", "--all-targets"];
    succeed(&mut linted(repository, &build))?;
    let mut tests = Command::new("node");
    tests
        .args(["--test", "--test-concurrency=1", "--test-reporter=tap"])
        .current_dir(repository.root().join(TESTS))
        .env("ROOFTREE_BIN", target(repository).join("debug/rooftree"))
        .env("ROOFTREE_NPM", packages);
    Ok(tests)
}
