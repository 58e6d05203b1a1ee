//! The project's own chores, as `cargo xtask NAME`: keep it tidy, test all of it, measure it, generate files.
//!
//! Everything here runs on a fresh clone with nothing but a Rust toolchain, and
//! is plain Rust so that it behaves alike on every machine.

mod audit;
mod bench;
mod figures;
mod findability;
mod finding;
mod generate;
mod kills;
mod mutants;
mod page_types;
mod repository;
mod screenshots;
mod suite;
mod tidy;

#[cfg(test)]
mod planted;

use std::{env, process::ExitCode};

use anyhow::{Result, bail};
use repository::Repository;
use suite::Extent;

const HELP: &str = "\
cargo xtask test [--quick | --full]
                             check and test everything; --quick leaves out the slow steps, --full adds what takes hours
cargo xtask bench [--quick] [--json FILE] [--only WORDS]
                             measure a `dist` build; WORDS choose a group of rows
cargo xtask tidy             check the walls: crate edges, module order, names, headers, paths
cargo xtask generate         write the files that are made from code
cargo xtask audit-list       list the audit's findings that no test is named after
cargo xtask mutants [WORDS]  remove one guarantee at a time; each must make a test fail (long, not part of CI)
cargo xtask kills [COUNT] [--binary PATH]
                             kill the release binary at random and check what is left (minutes, not part of CI)
cargo xtask screenshots --binary PATH --packages FOLDER
                             make a picture of every screen of the page (not part of CI)
cargo xtask figures          count type names, tokens per line, refused words, fields of structs
cargo xtask find [WORDS]     check that a newcomer's words find the right file, or rank files for WORDS
cargo xtask left-out         say what plain `cargo test` does not do";

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<ExitCode> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let repository = || Repository::around(&env::current_dir()?);
    match words.as_slice() {
        ["test"] => suite::run(&repository()?, Extent::Everything),
        ["test", "--quick"] => suite::run(&repository()?, Extent::Quick),
        ["test", "--full"] => suite::run(&repository()?, Extent::Full),
        ["bench", rest @ ..] => bench::run(&repository()?, rest),
        ["tidy"] => tidy::run(&repository()?),
        ["audit-list"] => audit::run(&repository()?),
        ["mutants", words @ ..] => mutants::run(&repository()?, words),
        ["kills", rest @ ..] => kills::run(&repository()?, rest),
        ["screenshots", rest @ ..] => screenshots::run(&repository()?, rest),
        ["figures"] => figures::run(&repository()?).map(|()| ExitCode::SUCCESS),
        ["find", words @ ..] => findability::run(&repository()?, words),
        ["generate"] => generate::run(&repository()?),
        ["left-out"] => {
            println!("{}", suite::left_out_by_cargo_test(&repository()?));
            Ok(ExitCode::SUCCESS)
        }
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
        other => bail!(
            "there is no `cargo xtask {}`; there is:\n{HELP}",
            other.join(" ")
        ),
    }
}
