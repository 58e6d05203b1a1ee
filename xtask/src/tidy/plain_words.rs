//! Refuses words in comments that say less than a plain technical term, and headers that begin with a riddle.

use anyhow::Result;

use crate::{finding::Finding, repository::Repository};

/// Words that hide the actor: say caller, client, process, agent, user.
pub const REFUSED: &[&str] = &[
    "whoever",
    "whomever",
    "somebody",
    "nobody",
    "everybody",
    "anybody",
];

/// A header that begins like this tells what the file is about without the term for it.
const RELATIVE: &[&str] = &[
    "What", "Who", "Where", "How", "Which", "Whether", "Whatever", "Whoever", "That", "When",
    "Whose",
];

/// Objects to refused words in comments, and to headers that begin with a relative word.
pub fn check(repository: &Repository) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for path in repository
        .files_ending("rs")
        .filter(|path| is_checked(path))
    {
        let text = repository.text(path)?;
        let first = text
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("//! "))
            .unwrap_or_default();
        let begins = first.split([' ', ',', '\'']).next().unwrap_or_default();
        if RELATIVE.contains(&begins) {
            let fix = "begin with what the file does and the term a newcomer searches for: `Parses …`, `Rate limiter …`";
            findings.push(Finding::new(
                format!("{path}:1"),
                format!("its header begins with `{begins}`"),
                fix,
            ));
        }
        // Comments of the protocol's types are descriptions in a published schema, which stays as it is.
        let is_published = path.starts_with("crates/protocol/");
        for (at, comment) in comments(&text).filter(|_| !is_published) {
            let refused =
                words(comment).find(|word| REFUSED.contains(&word.to_lowercase().as_str()));
            if let Some(word) = refused {
                let fix = "name the actor: the caller, the client, another process, the user";
                findings.push(Finding::new(
                    format!("{path}:{at}"),
                    format!("`{word}` in a comment"),
                    fix,
                ));
            }
        }
    }
    Ok(findings)
}

fn is_checked(path: &str) -> bool {
    path.starts_with("crates/") && path.contains("/src/") || path.starts_with("xtask/src/")
}

/// The comments of a text with their line numbers.
pub fn comments(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter_map(|(at, line)| {
        let line = line.trim_start();
        let comment = match line.strip_prefix("//") {
            Some(comment) => comment,
            None => line.split_once(" // ")?.1,
        };
        Some((at + 1, comment))
    })
}

/// The words of a comment.
pub fn words(comment: &str) -> impl Iterator<Item = &str> {
    comment
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{Planted, told};

    #[test]
    fn refused_words_and_headers_are_found_and_strings_are_left_alone() {
        let planted = Planted::new()
            .with(
                "crates/a/src/lib.rs",
                concat!(
                    "//! What holds.\n//",
                    "/ Whoever asks.\nfn f() {} /",
                    "/ nobody knows\n"
                ),
            )
            .with(
                "crates/a/src/b.rs",
                "//! Parses rules.\nconst A: &str = \"nobody\";\n",
            );
        let told = told(&check(&planted.repository()).unwrap());
        for wanted in [
            "lib.rs:1: its header",
            "lib.rs:2: `Whoever`",
            "lib.rs:3: `nobody`",
        ] {
            assert!(told.contains(wanted), "{wanted}: {told}");
        }
        assert!(!told.contains("src/b.rs"), "{told}");
    }
}
