//! Keeps the first line of every file: one sentence that says what the file is for.

use anyhow::Result;

use crate::{finding::Finding, repository::Repository};

/// Objects to Rust files that do not begin with a sentence.
pub fn check(repository: &Repository) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for path in repository.files_ending("rs") {
        if let Some(wrong) = objection(&repository.text(path)?) {
            let fix = "begin with `//! ` and one sentence, ended by a period: what the file is for, in glossary words";
            findings.push(Finding::new(format!("{path}:1"), wrong, fix));
        }
    }
    Ok(findings)
}

fn objection(text: &str) -> Option<&'static str> {
    if !text.starts_with("//!") {
        return Some("does not begin with a `//!` header");
    }
    let paragraph: Vec<&str> = text
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let paragraph = paragraph.join(" ");
    let has_sentence = paragraph.ends_with('.') || paragraph.contains(". ");
    let has_words = paragraph.split_whitespace().count() >= 3;
    (!has_sentence || !has_words).then_some("has a header whose first paragraph is no sentence")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{Planted, told};

    #[test]
    fn a_sentence_on_one_line_or_several_passes() {
        for good in [
            "//! Decides what follows a reply.\n",
            "//! Decides what follows a reply. Pure: no clock\n//!\n//! More\n",
            "//! Decides what\n//! follows a reply.\nuse std::fmt;\n",
        ] {
            assert_eq!(objection(good), None, "{good}");
        }
    }

    #[test]
    fn a_missing_or_empty_header_is_found() {
        for bad in [
            "",
            "use std::fmt;\n",
            "\n//! Too late.\n",
            "//! x\n",
            "//!\n//! Second paragraph only.\n",
            "//! No end\n",
        ] {
            let planted = Planted::new().with("crates/store/src/lib.rs", bad);
            let told = told(&check(&planted.repository()).unwrap());
            assert!(
                told.contains("crates/store/src/lib.rs:1") && told.contains("one sentence"),
                "{bad}: {told}"
            );
        }
    }
}
