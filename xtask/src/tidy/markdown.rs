//! Keeps documents true: a path of this repository that a Markdown file names exists.
//!
//! Looked at are links and code spans; fenced blocks show terminals and other
//! people's trees and are left alone. A code span counts as a path if its first
//! part is a directory at the root, so `provider/model` is no path. What git and
//! the build keep for themselves differs from machine to machine and is no path.

use anyhow::Result;

use crate::{finding::Finding, repository::Repository};

/// Tells what was, and may name what is gone.
const HISTORY: &str = "CHANGELOG.md";

/// What lies at the root without being in the repository.
const NOT_OURS: &[&str] = &["", ".", "..", ".git", "target"];

/// Objects to paths that lead nowhere.
pub fn check(repository: &Repository) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for file in repository
        .files_ending("md")
        .filter(|path| *path != HISTORY)
    {
        for (line, text) in prose(&repository.text(file)?) {
            for path in code_spans(&text).filter(|span| is_path(repository, span)) {
                let path = path.split([':', '#']).next().unwrap_or(path);
                if !repository.has(path) {
                    findings.push(missing(file, line, path));
                }
            }
            for link in links(&text) {
                if !repository.has(&beside(file, link)) {
                    findings.push(missing(file, line, link));
                }
            }
        }
    }
    Ok(findings)
}

fn missing(file: &str, line: usize, path: &str) -> Finding {
    let fix = "correct the path, or take the sentence out with the thing it was about";
    Finding::new(
        format!("{file}:{line}"),
        format!("names `{path}`, which does not exist"),
        fix,
    )
}

/// Numbered lines outside of fenced blocks.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut fence: Option<&str> = None;
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| line.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => lines.push((number + 1, line.to_owned())),
            _ => {}
        }
    }
    lines
}

/// What stands between backticks: every second piece, if it is closed.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    let pieces: Vec<&str> = line.split('`').collect();
    let closed = pieces.len().saturating_sub(1);
    pieces.into_iter().take(closed).skip(1).step_by(2)
}

fn is_path(repository: &Repository, span: &str) -> bool {
    let is_plain = span
        .chars()
        .all(|letter| letter.is_alphanumeric() || "/._-:#".contains(letter));
    let first = span.split('/').next().unwrap_or_default();
    is_plain
        && span.contains('/')
        && !NOT_OURS.contains(&first)
        && repository.root().join(first).is_dir()
}

/// Targets of links to files, without the part behind `#`.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = rest.split([')', ' ', '#']).next()?;
        (!target.is_empty() && !target.contains(':')).then_some(target)
    })
}

/// A link's target as seen from the root.
fn beside(file: &str, link: &str) -> String {
    match (link.strip_prefix('/'), file.rsplit_once('/')) {
        (Some(from_root), _) => from_root.to_owned(),
        (None, Some((directory, _))) => format!("{directory}/{link}"),
        (None, None) => link.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{Planted, told};

    fn findings(file: &str, text: &str) -> Vec<Finding> {
        let planted = Planted::new()
            .with("crates/store/src/lib.rs", "")
            .with("docs/glossary.md", "")
            .with(file, text);
        let planted = planted.with(".git/HEAD", "");
        check(&planted.repository()).unwrap()
    }

    #[test]
    fn paths_that_exist_and_things_that_are_no_paths_pass() {
        for good in [
            "see `crates/store/src/lib.rs:12` and `crates/store`, [words](docs/glossary.md#run)",
            "`scripted/FILE`, `application/json`, `crates/*/src`, `docs/<name>.md`, `a / b`, `/etc/hosts`, `.git/hooks`",
            "[site](https://example.org/crates/gone) [here](#below) an unclosed ` crates/gone",
            "```\ncrates/gone/src\n[x](gone.md)\n```\n",
        ] {
            assert_eq!(findings("README.md", good), [], "{good}");
        }
        assert_eq!(
            findings("docs/decisions/0001-x.md", "[words](../glossary.md)"),
            []
        );
        assert_eq!(findings("CHANGELOG.md", "removed `crates/gone`"), []);
    }

    #[test]
    fn a_path_or_link_that_leads_nowhere_is_found_with_its_line() {
        for bad in [
            "\nsee `crates/store/src/gone.rs`",
            "\nsee `docs/gone.md#part`",
            "\n[x](gone.md)",
            "\n[x](docs/gone.md#y)",
        ] {
            let told = told(&findings("README.md", bad));
            assert!(
                told.contains("README.md:2") && told.contains("correct the path"),
                "{bad}: {told}"
            );
        }
    }
}
