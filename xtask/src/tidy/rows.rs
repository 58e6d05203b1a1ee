//! Checks that every test which `docs/rows.md` names for a row exists in the file named before it.
//!
//! In a table, a code span with a path is followed by the names of tests in that file.

use anyhow::Result;

use crate::{finding::Finding, repository::Repository};

const ROWS: &str = "docs/rows.md";

/// Objects to tests that are not where the page says.
pub fn check(repository: &Repository) -> Result<Vec<Finding>> {
    if !repository.has(ROWS) {
        return Ok(Vec::new());
    }
    let mut findings = Vec::new();
    let page = repository.text(ROWS)?;
    let rows = (1..)
        .zip(page.lines())
        .filter(|(_, line)| line.starts_with('|'));
    for (number, line) in rows {
        let mut file = None;
        for span in line.split('`').skip(1).step_by(2) {
            if span.ends_with(".rs") {
                file = Some(span);
            } else if let (Some(path), true) = (file, is_test_name(span))
                && !has_test(repository, path, span)?
            {
                findings.push(Finding::new(
                    format!("{ROWS}:{number}"),
                    format!("names the test `{span}`, which is not in {path}"),
                    "correct the name, or say in the row what is missing",
                ));
            }
        }
    }
    Ok(findings)
}

/// Test names are words joined by underscores; other code spans of a row are shorter.
fn is_test_name(span: &str) -> bool {
    let is_letter =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    span.matches('_').count() >= 2 && span.chars().all(is_letter)
}

fn has_test(repository: &Repository, path: &str, name: &str) -> Result<bool> {
    let is_there = repository.has(path);
    Ok(is_there && repository.text(path)?.contains(&format!("fn {name}(")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{Planted, told};

    #[test]
    fn a_test_that_is_not_there_is_found() {
        let page = "| EM1 | x | works | `a/b.rs` `this_test_is_there` `this_one_is_not`, `a/c.rs` `nor_is_this_one` |\n\
                    | `run_in_background` | no file before it |\n";
        let planted = Planted::new()
            .with(ROWS, page)
            .with("a/b.rs", "fn this_test_is_there() {}\n");
        let said = told(&check(&planted.repository()).unwrap());
        assert!(said.contains("`this_one_is_not`"), "{said}");
        assert!(said.contains("`nor_is_this_one`"), "{said}");
        assert!(!said.contains("`this_test_is_there`"), "{said}");
        assert!(!said.contains("run_in_background"), "{said}");
    }
}
