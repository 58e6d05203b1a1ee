//! Files that are made from code and checked in, so that people can read them without building.

use std::{
    fs,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail};
use rooftree_protocol::Event;

use crate::{finding::Finding, page_types, repository::Repository};

/// A file and what it has to say.
pub struct Generated {
    pub path: &'static str,
    pub text: String,
}

/// Everything that is generated.
pub fn all() -> Result<Vec<Generated>> {
    Ok(vec![
        Generated {
            path: "docs/events.schema.json",
            text: events_schema()?,
        },
        Generated {
            path: "docs/actions.md",
            text: rooftree_protocol::actions::as_markdown(),
        },
        Generated {
            path: "crates/server/ui/js/actions.js",
            text: rooftree_protocol::actions::as_javascript(),
        },
    ])
}

/// The JSON Schema of what clients read.
fn events_schema() -> Result<String> {
    let schema = serde_json::to_string_pretty(&schemars::schema_for!(Event))?;
    Ok(schema + "\n")
}

/// The OpenAPI document. The program prints it, so that this one need not be built with the server. A test of the server
/// compares the file with the code.
fn openapi(repository: &Repository) -> Result<Option<Generated>> {
    // What tests plant has no program.
    if !repository.root().join("crates/cli/Cargo.toml").exists() {
        return Ok(None);
    }
    let printed = Command::new("cargo")
        .args([
            "run",
            "--quiet",
            "-p",
            "rooftree-cli",
            "--",
            "serve",
            "--print-openapi",
        ])
        .current_dir(repository.root())
        .output()
        .context("print the OpenAPI document")?;
    if !printed.status.success() {
        bail!(
            "rooftree serve --print-openapi ended with {}",
            printed.status
        );
    }
    Ok(Some(Generated {
        path: OPENAPI,
        text: String::from_utf8(printed.stdout)?,
    }))
}

const OPENAPI: &str = "docs/openapi.json";

/// The types of the page's scripts, made from the OpenAPI document that is checked in; none where there is none.
fn page_types(repository: &Repository) -> Result<Option<Generated>> {
    if !repository.has(OPENAPI) {
        return Ok(None);
    }
    Ok(Some(Generated {
        path: "crates/server/ui/js/types.d.ts",
        text: page_types::declarations(&repository.text(OPENAPI)?)?,
    }))
}

/// Writes what is out of date.
pub fn run(repository: &Repository) -> Result<ExitCode> {
    for file in all()?.into_iter().chain(openapi(repository)?) {
        update(repository, file)?;
    }
    // After the document that they are made from.
    if let Some(types) = page_types(repository)? {
        update(repository, types)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn update(repository: &Repository, file: Generated) -> Result<()> {
    let path = repository.root().join(file.path);
    if fs::read_to_string(&path).is_ok_and(|text| text == file.text) {
        println!("{} is up to date", file.path);
        return Ok(());
    }
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(&path, file.text).with_context(|| format!("write {}", file.path))?;
    println!("{} written", file.path);
    Ok(())
}

/// Objects to a generated file that does not say what the code says.
pub fn check(repository: &Repository) -> Result<Vec<Finding>> {
    let stale = all()?
        .into_iter()
        .chain(page_types(repository)?)
        .filter(|file| repository.text(file.path).ok().as_ref() != Some(&file.text));
    Ok(stale
        .map(|file| {
            Finding::new(
                file.path,
                "is not what the code generates",
                "run cargo xtask generate and commit it",
            )
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{Planted, told};

    #[test]
    fn a_generated_file_that_drifted_or_is_missing_is_found_and_generate_mends_it() {
        for planted in [
            Planted::new(),
            Planted::new().with("docs/events.schema.json", "{}\n"),
            Planted::new().with("docs/actions.md", "old\n"),
            Planted::new().with("crates/server/ui/js/actions.js", "old\n"),
            Planted::new().with(OPENAPI, "{}"),
        ] {
            assert!(
                told(&check(&planted.repository()).unwrap()).contains("run cargo xtask generate")
            );
            run(&planted.repository()).unwrap();
            assert_eq!(check(&planted.repository()).unwrap(), []);
        }
    }
}
