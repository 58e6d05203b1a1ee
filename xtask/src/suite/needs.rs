//! Programs the tests need besides the toolchain: installed where that is possible, named where not.

use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

/// A program and the Debian package that brings it.
struct Need {
    program: &'static str,
    package: &'static str,
}

/// Grows with the tests that need more, and only with them.
const NEEDS: &[Need] = &[Need { program: "bash", package: "bash" }];

/// Parts of the toolchain that some installations leave out.
const COMPONENTS: &[&str] = &["rustfmt", "clippy"];

/// Makes sure that everything is there, or says what to install.
pub fn provide() -> Result<()> {
    let missing: Vec<&Need> = NEEDS.iter().filter(|need| !is_on_path(need.program)).collect();
    let packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    if !packages.is_empty() {
        if !is_root() || !is_on_path("apt-get") {
            bail!("the tests need {}; install: {}", names(&missing), packages.join(" "));
        }
        install(&packages)?;
    }
    COMPONENTS.iter().try_for_each(|component| provide_component(component))
}

/// Installs a program that something is better with, where that is possible.
pub fn offer(program: &str, package: &str) {
    if !is_on_path(program) && is_root() && is_on_path("apt-get") && install(&[package]).is_err() {
        println!("going on without {program}");
    }
}

fn install(packages: &[&str]) -> Result<()> {
    println!("━━ installing {} ━━", packages.join(" "));
    apt_get(&["update"])?;
    apt_get(&[&["install", "--yes", "--no-install-recommends"], packages].concat())
}

fn names(needs: &[&Need]) -> String {
    needs.iter().map(|need| need.program).collect::<Vec<_>>().join(", ")
}

fn is_on_path(program: &str) -> bool {
    env::var_os("PATH")
        .is_some_and(|path| env::split_paths(&path).any(|folder| is_file(&folder.join(program))))
}

fn is_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file())
}

/// Whether this process may install packages: its own entry in the process table is owned by user 0.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

fn apt_get(arguments: &[&str]) -> Result<()> {
    let mut command = Command::new("apt-get");
    let status =
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").status().context("start apt-get")?;
    if !status.success() {
        bail!("apt-get {} failed; run it by hand to see why", arguments.join(" "));
    }
    Ok(())
}

fn provide_component(component: &str) -> Result<()> {
    let subcommand = if component == "rustfmt" { "fmt" } else { component };
    let mut asked = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let asked = asked.args([subcommand, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if asked.is_ok_and(|status| status.success()) {
        return Ok(());
    }
    let added = Command::new("rustup").args(["component", "add", component]).status();
    if added.is_ok_and(|status| status.success()) {
        return Ok(());
    }
    bail!("the toolchain lacks {component}; install it: rustup component add {component}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_looked_for_on_the_path() {
        assert!(is_on_path("cargo"));
        assert!(!is_on_path("no-such-program-anywhere"));
    }
}
