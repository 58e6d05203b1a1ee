//! Programs the tests need besides the toolchain: installed where that is possible, named where not.

use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

/// A program and the Debian package that brings it.
pub struct Need {
    pub program: &'static str,
    /// Arguments with which it succeeds only if the package is whole; none if being there is enough.
    pub proof: &'static [&'static str],
    pub package: &'static str,
}

impl Need {
    fn is_met(&self) -> bool {
        is_on_path(self.program) && (self.proof.is_empty() || self.is_proven())
    }

    fn is_proven(&self) -> bool {
        let mut command = Command::new(self.program);
        let tried = command
            .args(self.proof)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        tried.is_ok_and(|status| status.success())
    }
}

/// What all steps need. Grows with the tests that need more, and only with them; what one slow step
/// needs stands with that step.
const NEEDS: &[Need] = &[
    Need {
        program: "bash",
        proof: &[],
        package: "bash",
    },
    Need {
        program: "git",
        proof: &[],
        package: "git",
    },
    Need {
        program: "python3",
        proof: &[],
        package: "python3",
    },
    // Runs the scripts of the page in tests of the server.
    Need {
        program: "node",
        proof: &[],
        package: "nodejs",
    },
];

/// Parts of the toolchain that some installations leave out.
const COMPONENTS: &[&str] = &["rustfmt", "clippy"];

/// Makes sure that everything is there, or says what to install.
pub fn provide() -> Result<()> {
    provide_these(NEEDS)?;
    // Where it cannot be had, the tests of the sandbox say what they leave out.
    offer("bwrap", "bubblewrap");
    // So does the test of the event stream behind it.
    offer("nginx", "nginx-light");
    COMPONENTS
        .iter()
        .try_for_each(|component| provide_component(component))
}

/// Makes sure that these are there, or says what to install.
pub fn provide_these(needs: &[Need]) -> Result<()> {
    let missing: Vec<&Need> = needs.iter().filter(|need| !need.is_met()).collect();
    let packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    if !packages.is_empty() {
        if !is_root() || !is_on_path("apt-get") {
            bail!(
                "the tests need {}; install: {}",
                names(&missing),
                packages.join(" ")
            );
        }
        install(&packages)?;
    }
    Ok(())
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
    needs
        .iter()
        .map(|need| need.program)
        .collect::<Vec<_>>()
        .join(", ")
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
    let status = command
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .status()
        .context("start apt-get")?;
    if !status.success() {
        bail!(
            "apt-get {} failed; run it by hand to see why",
            arguments.join(" ")
        );
    }
    Ok(())
}

fn provide_component(component: &str) -> Result<()> {
    let subcommand = if component == "rustfmt" {
        "fmt"
    } else {
        component
    };
    let mut asked = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let asked = asked
        .args([subcommand, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if asked.is_ok_and(|status| status.success()) {
        return Ok(());
    }
    let added = Command::new("rustup")
        .args(["component", "add", component])
        .status();
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

    #[test]
    fn a_program_that_lacks_a_part_is_not_enough() {
        let need = |proof| Need {
            program: "cargo",
            proof,
            package: "cargo",
        };
        assert!(need(&[]).is_met() && need(&["--version"]).is_met());
        assert!(!need(&["no-such-subcommand"]).is_met());
    }
}
