//! `cargo xtask find [WORDS]`: checks that a plain text search with a newcomer's words finds the right file.
//!
//! The questions are data in `xtask/findability.toml`. Files are ranked by how many of the words their path and text
//! contain, then by how many lines contain one. With words on the command line it prints the ranking for those.

use std::process::ExitCode;

use anyhow::{Context, Result};
use toml::Table;

use crate::repository::Repository;

const DATA: &str = "xtask/findability.toml";
/// Hits that a newcomer looks at.
const LOOKED_AT: usize = 10;
/// Questions that must be answered by those hits.
const WANTED: usize = 34;

/// A source file as a text search sees it.
struct Source {
    path: String,
    /// Path and text in lower case, without unit tests.
    text: String,
}

/// One question and the files that answer it.
struct Question {
    ask: String,
    words: Vec<String>,
    files: Vec<String>,
}

/// Prints the rank of the right file for every question, or the ranking for the words given.
pub fn run(repository: &Repository, words: &[&str]) -> Result<ExitCode> {
    let sources = sources(repository)?;
    if !words.is_empty() {
        let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
        ranked(&sources, &words)
            .iter()
            .take(LOOKED_AT)
            .for_each(|path| println!("{path}"));
        return Ok(ExitCode::SUCCESS);
    }
    let questions = questions(repository)?;
    let mut found = 0;
    for question in &questions {
        let hits = ranked(&sources, &question.words);
        let rank = hits.iter().position(|path| question.is_answered_by(path));
        let is_found = rank.is_some_and(|rank| rank < LOOKED_AT);
        found += usize::from(is_found);
        let rank = rank.map_or("none".to_owned(), |rank| (rank + 1).to_string());
        let mark = if is_found { "found " } else { "MISSED" };
        println!(
            "{mark} {rank:>4}  {} [{}]",
            question.ask,
            question.words.join(" ")
        );
    }
    println!(
        "{found} of {} questions are answered by the first {LOOKED_AT} hits",
        questions.len()
    );
    Ok(if found >= WANTED {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

impl Question {
    fn is_answered_by(&self, path: &str) -> bool {
        let is_meant = |file: &String| {
            if file.ends_with('/') {
                path.starts_with(file.as_str())
            } else {
                path == file
            }
        };
        self.files.iter().any(is_meant)
    }
}

/// Paths of the files that contain at least one of the words, best first.
fn ranked<'a>(sources: &'a [Source], words: &[String]) -> Vec<&'a str> {
    let count = |text: &str| {
        words
            .iter()
            .filter(|word| text.contains(word.as_str()))
            .count()
    };
    let mut hits: Vec<(usize, usize, &str)> = Vec::new();
    for source in sources {
        let present = count(&source.text);
        if present > 0 {
            let lines = source.text.lines().filter(|line| count(line) > 0).count();
            hits.push((present, lines, &source.path));
        }
    }
    hits.sort_by(|a, b| (b.0, b.1, a.2).cmp(&(a.0, a.1, b.2)));
    hits.into_iter().map(|hit| hit.2).collect()
}

fn sources(repository: &Repository) -> Result<Vec<Source>> {
    let is_source = |path: &&str| {
        path.starts_with("crates/") && path.contains("/src/") && path.ends_with(".rs")
    };
    let mut sources = Vec::new();
    for path in repository.files().filter(is_source) {
        let text = repository.text(path)?;
        let text = text
            .split("#[cfg(test)]\nmod tests")
            .next()
            .unwrap_or_default()
            .to_lowercase();
        let text = format!("{}\n{text}", path.to_lowercase());
        sources.push(Source {
            path: path.to_owned(),
            text,
        });
    }
    Ok(sources)
}

fn questions(repository: &Repository) -> Result<Vec<Question>> {
    let table: Table = repository
        .text(DATA)?
        .parse()
        .with_context(|| format!("parse {DATA}"))?;
    let listed = table
        .get("question")
        .and_then(|list| list.as_array())
        .map(Vec::as_slice)
        .unwrap_or_default();
    let texts = |entry: &toml::Value, key: &str| -> Vec<String> {
        let list = entry
            .get(key)
            .and_then(|list| list.as_array())
            .map(Vec::as_slice)
            .unwrap_or_default();
        list.iter()
            .filter_map(|text| text.as_str())
            .map(str::to_owned)
            .collect()
    };
    let read = |entry: &toml::Value| {
        let ask = entry
            .get("ask")
            .and_then(|ask| ask.as_str())
            .context("a question has no `ask`")?
            .to_owned();
        let question = Question {
            ask,
            words: texts(entry, "words"),
            files: texts(entry, "files"),
        };
        for file in &question.files {
            let is_there = repository
                .files()
                .any(|path| path == file || file.ends_with('/') && path.starts_with(file));
            anyhow::ensure!(is_there, "{DATA}: {file} does not exist");
        }
        Ok(question)
    };
    listed.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Planted;

    #[test]
    fn a_file_with_all_words_comes_first_then_one_with_more_lines() {
        let planted = Planted::new()
            .with(
                "crates/a/src/one.rs",
                "//! Retries requests.\nfn f() {} // backoff\n",
            )
            .with(
                "crates/a/src/two.rs",
                "//! Other.\n// retries retries\n// retries\n",
            )
            .with("crates/a/src/three.rs", "//! Retries.\n");
        let sources = sources(&planted.repository()).unwrap();
        let words = ["retries".to_owned(), "backoff".to_owned()];
        let expected = [
            "crates/a/src/one.rs",
            "crates/a/src/two.rs",
            "crates/a/src/three.rs",
        ];
        assert_eq!(ranked(&sources, &words), expected);
    }
}
