//! Keeps `cargo run` meaning the program: only one package may say what runs by default.

use anyhow::Result;

use crate::{finding::Finding, repository::Repository};

const PROGRAM: &str = "crates/cli/Cargo.toml";

/// Objects to a program that is not the default, and to anything else that is.
pub fn check(repository: &Repository) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for path in repository
        .files()
        .filter(|path| path.ends_with("/Cargo.toml"))
    {
        let says = repository
            .text(path)?
            .lines()
            .any(|line| line.starts_with("default-run"));
        match (path == PROGRAM, says) {
            (true, false) => findings.push(Finding::new(
                path,
                "does not say that it runs by default",
                "put `default-run = \"rooftree\"` into [package]: the README's first command needs it",
            )),
            (false, true) => findings.push(Finding::new(
                path,
                "wants to run by default too, so `cargo run` cannot choose",
                "take `default-run` out and start it with --bin",
            )),
            _ => {}
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Planted;

    #[test]
    fn only_the_program_runs_by_default() {
        let says = "[package]\ndefault-run = \"x\"\n";
        let count = |program: &str, other: &str| {
            let planted = Planted::new()
                .with(PROGRAM, program)
                .with("crates/bench/Cargo.toml", other);
            check(&planted.repository()).unwrap().len()
        };
        assert_eq!(count(says, "[package]\n"), 0);
        assert_eq!(count(says, says), 1);
        assert_eq!(count("[package]\n", says), 2);
    }
}
