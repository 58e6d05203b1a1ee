//! `cargo xtask screenshots --binary PATH --packages FOLDER`: makes a picture of every screen of the page.
//!
//! Not part of the suite: pictures are made when the page has changed, and looked at by people.

use std::{
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail};

use crate::repository::Repository;

/// The folder that the pictures are written to.
const PICTURES: &str = "docs/pictures/page";
const SCRIPT: &str = "crates/server/tests/browser/screenshots.mjs";
const PAGE: &str = "crates/server/ui";

/// Makes the pictures with a built program and a folder in which playwright-core and axe-core are installed.
pub fn run(repository: &Repository, words: &[&str]) -> Result<ExitCode> {
    let ["--binary", binary, "--packages", packages] = words else {
        bail!("say which program and where playwright-core is: --binary PATH --packages FOLDER");
    };
    let absolute = |path: &str| {
        Path::new(path)
            .canonicalize()
            .with_context(|| format!("find {path}"))
    };
    let root = repository.root();
    let status = Command::new("node")
        .arg(root.join(SCRIPT))
        .arg(root.join(PICTURES))
        .env("ROOFTREE_BIN", absolute(binary)?)
        .env("ROOFTREE_NPM", absolute(packages)?)
        .env("ROOFTREE_UI", root.join(PAGE))
        .status()
        .context("start node")?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
