//! `cargo xtask mutants [WORDS]`: removes one guarantee at a time and checks that a test fails without it.
//!
//! Mutants are data in `xtask/mutants/*.toml`: a file, a text that stands in it exactly once, the text that replaces it,
//! and the arguments of `cargo test` that must fail. Each mutant is tried in a copy of the repository, so an
//! interrupted run leaves no changed file behind. Every test is run once without any mutant first: a test that fails
//! anyway, or a filter that matches no test, shows nothing.

mod trial;

use std::{collections::BTreeMap, process::ExitCode, time::Instant};

use anyhow::{Context, Result};
use toml::Table;

use self::trial::{Tree, Verdict};
use crate::{finding::Finding, repository::Repository};

const FOLDER: &str = "xtask/mutants/";

/// One change that a test must notice.
struct Mutant {
    id: String,
    about: String,
    file: String,
    find: String,
    replace: String,
    /// Arguments of `cargo test`, for example `-p rooftree-runtime --test it recovery`.
    test: String,
}

impl Mutant {
    /// Neighbours in this order change the same crate and need the same test binary, so they share builds.
    fn build_order(&self) -> (&str, Vec<&str>, &str) {
        let krate = self.file.split("/src/").next().unwrap_or_default();
        (
            krate,
            self.test.split_whitespace().take(4).collect(),
            &self.file,
        )
    }
}

/// Tries every mutant whose id or file contains one of the words; all of them without words.
pub fn run(repository: &Repository, words: &[&str]) -> Result<ExitCode> {
    let mutants = read(repository)?;
    let is_meant = |mutant: &&Mutant| {
        words.is_empty()
            || words
                .iter()
                .any(|word| mutant.id.contains(word) || mutant.file.contains(word))
    };
    let mut chosen: Vec<&Mutant> = mutants.iter().filter(is_meant).collect();
    chosen.sort_by_key(|mutant| mutant.build_order());
    let (tree, began) = (Tree::beside(repository), Instant::now());
    let useless = useless_tests(&tree, &chosen)?;
    let mut verdicts = Vec::new();
    for (number, mutant) in chosen.iter().enumerate() {
        let started = Instant::now();
        let verdict = match useless.get(mutant.test.as_str()) {
            Some(why) => Verdict::Invalid(why.clone()),
            None => tree.attempt(mutant)?,
        };
        let (word, took) = (verdict.word(), started.elapsed().as_secs());
        println!(
            "{:>3}/{} {word:8} {} ({took} s): {}",
            number + 1,
            chosen.len(),
            mutant.id,
            mutant.about
        );
        if let Verdict::Invalid(why) = &verdict {
            println!("{why}");
        }
        verdicts.push((mutant.id.as_str(), verdict));
    }
    println!("{} in {} s", summary(&verdicts), began.elapsed().as_secs());
    let is_clean = verdicts
        .iter()
        .all(|(_, verdict)| matches!(verdict, Verdict::Caught));
    Ok(if is_clean {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Runs the tests of these mutants without any mutant, and says of each that shows nothing why.
fn useless_tests<'a>(tree: &Tree, mutants: &[&'a Mutant]) -> Result<BTreeMap<&'a str, String>> {
    let mut useless = BTreeMap::new();
    let mut tests: Vec<&str> = mutants.iter().map(|mutant| mutant.test.as_str()).collect();
    tests.sort_unstable();
    tests.dedup();
    println!("{} tests are run without any mutant first", tests.len());
    for test in tests {
        if let Some(why) = tree.fails_unchanged(test)? {
            println!("useless  cargo test {test}");
            useless.insert(test, why);
        }
    }
    Ok(useless)
}

/// How many mutants got which verdict, and the names of those that are not caught.
fn summary(verdicts: &[(&str, Verdict)]) -> String {
    let named = |word: &str| -> Vec<&str> {
        verdicts
            .iter()
            .filter(|(_, verdict)| verdict.word() == word)
            .map(|(id, _)| *id)
            .collect()
    };
    let (survived, invalid) = (named("SURVIVED"), named("INVALID"));
    let mut lines = Vec::new();
    for (word, ids) in [("SURVIVED", &survived), ("INVALID", &invalid)] {
        if !ids.is_empty() {
            lines.push(format!("{word}: {}", ids.join(", ")));
        }
    }
    let (caught, survived, invalid) = (named("caught").len(), survived.len(), invalid.len());
    lines.push(format!(
        "{} mutants: {caught} caught, {survived} survived, {invalid} invalid",
        verdicts.len()
    ));
    lines.join("\n")
}

/// A finding for each mutant that no longer fits the code.
pub fn check(repository: &Repository) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for mutant in read(repository)? {
        let wrong = match repository.has(&mutant.file) {
            false => Some("its file does not exist".to_owned()),
            true => match repository
                .text(&mutant.file)?
                .matches(mutant.find.as_str())
                .count()
            {
                1 => (mutant.find == mutant.replace)
                    .then(|| "it replaces a text with itself".to_owned()),
                count => Some(format!("its text stands {count} times in {}", mutant.file)),
            },
        };
        findings.extend(wrong.map(|wrong| {
            Finding::new(
                format!("{FOLDER}: {}", mutant.id),
                wrong,
                "let `find` name code that stands there once",
            )
        }));
    }
    Ok(findings)
}

fn read(repository: &Repository) -> Result<Vec<Mutant>> {
    let mut mutants = Vec::new();
    for path in repository
        .files()
        .filter(|path| path.starts_with(FOLDER) && path.ends_with(".toml"))
    {
        let table: Table = repository
            .text(path)?
            .parse()
            .with_context(|| format!("parse {path}"))?;
        let listed = table
            .get("mutant")
            .and_then(|list| list.as_array())
            .map(Vec::as_slice)
            .unwrap_or_default();
        for entry in listed {
            mutants.push(mutant(entry).with_context(|| format!("read {path}"))?);
        }
    }
    Ok(mutants)
}

fn mutant(entry: &toml::Value) -> Result<Mutant> {
    let text = |key: &str| {
        let text = entry
            .get(key)
            .and_then(|text| text.as_str())
            .map(str::to_owned);
        text.with_context(|| format!("a mutant has no `{key}`: {entry}"))
    };
    Ok(Mutant {
        id: text("id")?,
        about: text("about")?,
        file: text("file")?,
        find: text("find")?,
        replace: text("replace")?,
        test: text("test")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{Planted, told};

    fn listed(find: &str) -> String {
        format!(
            "[[mutant]]\nid = \"m\"\nabout = \"a\"\nfile = \"crates/a/src/lib.rs\"\nfind = \"{find}\"\n\
             replace = \"false\"\ntest = \"-p a\"\n"
        )
    }

    #[test]
    fn a_mutant_whose_text_is_gone_or_stands_twice_is_found() {
        let findings = |find: &str| {
            let planted =
                Planted::new().with("crates/a/src/lib.rs", "fn f() -> bool { true }\n// true\n");
            let planted = planted.with("xtask/mutants/a.toml", &listed(find));
            told(&check(&planted.repository()).unwrap())
        };
        assert_eq!(findings("{ true }"), "");
        assert!(findings("{ gone }").contains("0 times"));
        assert!(findings("true").contains("2 times"));
    }

    #[test]
    fn mutants_of_one_crate_and_one_test_binary_are_neighbours() {
        let mutant = |id: &str, file: &str, test: &str| Mutant {
            id: id.to_owned(),
            about: String::new(),
            file: file.to_owned(),
            find: String::new(),
            replace: String::new(),
            test: test.to_owned(),
        };
        let mut mutants = [
            mutant("1", "crates/a/src/x.rs", "-p a --test it one"),
            mutant("2", "crates/b/src/x.rs", "-p b --lib"),
            mutant("3", "crates/a/src/x.rs", "-p a --lib"),
            mutant("4", "crates/a/src/y.rs", "-p a --test it two"),
            mutant("5", "crates/a/src/x.rs", "-p a --test it two"),
        ];
        mutants.sort_by(|left, right| left.build_order().cmp(&right.build_order()));
        let order: String = mutants.iter().map(|mutant| mutant.id.as_str()).collect();
        assert_eq!(order, "31542");
    }

    #[test]
    fn the_summary_names_every_mutant_that_is_not_caught() {
        let verdicts = [
            ("a", Verdict::Caught),
            ("b", Verdict::Survived),
            ("c", Verdict::Invalid("no test ran".to_owned())),
            ("d", Verdict::Survived),
        ];
        let counts = "4 mutants: 1 caught, 2 survived, 1 invalid";
        assert_eq!(
            summary(&verdicts),
            format!("SURVIVED: b, d\nINVALID: c\n{counts}")
        );
    }
}
