//! `cargo xtask tidy`: the walls of the house, checked by a machine because only such walls stay up.
//!
//! Each check is one file and one function from the repository to findings. To
//! add a wall, write its file, plant a violation in its test, and list it here.

mod docs_index;
mod edges;
mod front_door;
mod headers;
mod markdown;
mod modules;
mod names;
mod order;
pub mod plain_words;
mod rows;
mod source;
mod the_loop;
pub mod type_names;

use std::process::ExitCode;

use anyhow::Result;

use crate::{audit, finding::Finding, generate, mutants, repository::Repository};

type Check = fn(&Repository) -> Result<Vec<Finding>>;

const CHECKS: &[(&str, Check)] = &[
    ("crate edges", edges::check),
    ("module order and cycles", order::check),
    ("file headers", headers::check),
    ("file names", names::check),
    ("type names", type_names::check),
    ("plain words", plain_words::check),
    ("paths in Markdown", markdown::check),
    ("index of docs", docs_index::check),
    ("one loop", the_loop::check),
    ("what `cargo run` runs", front_door::check),
    ("generated files", generate::check),
    ("findings of the audit", audit::check),
    ("tests of the rows", rows::check),
    ("mutants", mutants::check),
];

/// Runs every check, prints what each found, and says whether all is well.
pub fn run(repository: &Repository) -> Result<ExitCode> {
    let mut count = 0;
    for (name, check) in CHECKS {
        let findings = check(repository)?;
        println!(
            "{} {name}",
            if findings.is_empty() { "ok  " } else { "FAIL" }
        );
        for finding in &findings {
            println!("  {finding}");
        }
        count += findings.len();
    }
    if count == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "{count} {} to put right",
        if count == 1 { "thing" } else { "things" }
    );
    Ok(ExitCode::FAILURE)
}
