//! `cargo xtask audit-list`: the findings of the audit, and which of them no test is named after.
//!
//! `xtask/audit.toml` holds every finding. A finding is covered by a test whose function name begins with its id
//! (`S A1` by `fn s_a1_…`), or carries the reason why it is not mended. `cargo xtask tidy` fails for one that has neither.

use std::{collections::BTreeSet, process::ExitCode};

use anyhow::{Context, Result};
use toml::Table;

use crate::{finding::Finding, repository::Repository};

const LIST: &str = "xtask/audit.toml";

/// One finding of the audit.
struct Item {
    id: String,
    title: String,
    /// Why it is not mended; none if it is.
    reason: Option<String>,
}

impl Item {
    /// What the names of its tests begin with.
    fn prefix(&self) -> String {
        format!("{}_", self.id.to_lowercase().replace(' ', "_"))
    }
}

/// Prints the findings without a test: first those without a reason, then those with one.
pub fn run(repository: &Repository) -> Result<ExitCode> {
    let items = read(repository)?;
    let tests = test_names(repository)?;
    let (open, covered): (Vec<_>, Vec<_>) = items.iter().partition(|item| !is_tested(item, &tests));
    let (left, missing): (Vec<_>, Vec<_>) =
        open.into_iter().partition(|item| item.reason.is_some());
    for item in &missing {
        println!("no test  {:7} {}", item.id, item.title);
    }
    for item in &left {
        println!(
            "left     {:7} {}: {}",
            item.id,
            item.title,
            item.reason.as_deref().unwrap_or_default()
        );
    }
    println!(
        "{} with a test, {} left with a reason, {} with neither",
        covered.len(),
        left.len(),
        missing.len()
    );
    Ok(if missing.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// A finding for each item that has neither a test nor a reason, or both.
pub fn check(repository: &Repository) -> Result<Vec<Finding>> {
    if !repository.has(LIST) {
        return Ok(Vec::new());
    }
    let tests = test_names(repository)?;
    let findings = read(repository)?.into_iter().filter_map(|item| {
        let place = format!("{LIST}: {}", item.id);
        match (is_tested(&item, &tests), &item.reason) {
            (false, None) => Some(Finding::new(
                place,
                "no test is named after it and no reason is given",
                format!(
                    "write a test `fn {}…`, or say in `reason` why it is not mended",
                    item.prefix()
                ),
            )),
            (true, Some(_)) => Some(Finding::new(
                place,
                "it has a test and a reason for not being mended",
                "remove `reason`; what is left of it belongs to an item of its own",
            )),
            _ => None,
        }
    });
    Ok(findings.collect())
}

fn read(repository: &Repository) -> Result<Vec<Item>> {
    let table: Table = repository
        .text(LIST)?
        .parse()
        .with_context(|| format!("parse {LIST}"))?;
    let items = table
        .get("item")
        .and_then(|items| items.as_array())
        .context("audit.toml has no [[item]]")?;
    let text = |item: &toml::Value, key: &str| {
        item.get(key)
            .and_then(|text| text.as_str())
            .map(str::to_owned)
    };
    items
        .iter()
        .map(|item| {
            let id = text(item, "id").context("an item of audit.toml has no id")?;
            let title = text(item, "title").with_context(|| format!("{id} has no title"))?;
            Ok(Item {
                id,
                title,
                reason: text(item, "reason"),
            })
        })
        .collect()
}

fn is_tested(item: &Item, tests: &BTreeSet<String>) -> bool {
    let prefix = item.prefix();
    tests
        .range(prefix.clone()..)
        .next()
        .is_some_and(|name| name.starts_with(&prefix))
}

/// The names of all test functions: those below an attribute that ends in `test`.
fn test_names(repository: &Repository) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for path in repository.files_ending("rs") {
        let text = repository.text(path)?;
        // The cases of a conformance suite are plain functions that a test runs.
        let is_case = path.contains("/conformance/");
        let mut is_test = false;
        for line in text.lines().map(str::trim) {
            if let Some(name) = function_name(line) {
                if is_test || is_case {
                    names.insert(name.to_owned());
                }
                is_test = false;
            } else if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                is_test = true;
            }
        }
    }
    Ok(names)
}

fn function_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ").unwrap_or(line);
    let rest = rest
        .strip_prefix("async ")
        .unwrap_or(rest)
        .strip_prefix("fn ")?;
    rest.split(['(', '<']).next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{Planted, told};

    const LISTED: &str =
        "[[item]]\nid = \"S A1\"\ntitle = \"one\"\n[[item]]\nid = \"N 1\"\ntitle = \"two\"\n";

    fn planted(source: &str, list: &str) -> String {
        let planted = Planted::new()
            .with("crates/a/tests/it/x.rs", source)
            .with(LIST, list);
        told(&check(&planted.repository()).unwrap())
    }

    #[test]
    fn an_item_without_a_test_or_a_reason_is_found() {
        let source = "#[test]\nfn s_a1_is_closed() {}\n#[test]\nfn n_10_is_closed() {}\nfn n_1_helper() {}\n";
        let said = planted(source, LISTED);
        assert!(said.contains("N 1") && !said.contains("S A1"), "{said}");
        let reason = format!("{LISTED}reason = \"later\"\n");
        assert_eq!(planted(source, &reason), "");
    }

    #[test]
    fn an_item_with_both_is_found() {
        let source = "#[tokio::test(start_paused = true)]\nasync fn n_1_is_closed() {}\n#[test]\nfn s_a1_x() {}\n";
        let said = planted(source, &format!("{LISTED}reason = \"later\"\n"));
        assert!(said.contains("has a test and a reason"), "{said}");
    }
}
