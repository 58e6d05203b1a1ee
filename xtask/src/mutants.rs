//! `cargo xtask mutants [WORDS]`: removes one guarantee at a time and checks that a test fails without it.
//!
//! Mutants are data in `xtask/mutants/*.toml`: a file, a text that stands in it exactly once, the text that replaces it,
//! and the arguments of `cargo test` that must fail. Each mutant is tried in a copy of the repository, so an
//! interrupted run leaves no changed file behind.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, bail};
use toml::Table;

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

/// What became of a mutant.
enum Verdict {
    Caught,
    Survived,
    /// It does not compile, so it shows nothing.
    Invalid(String),
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
    let chosen: Vec<&Mutant> = mutants.iter().filter(is_meant).collect();
    let copy = repository.root().join("target/mutants/tree");
    let (mut caught, mut bad) = (0, Vec::new());
    for (number, mutant) in chosen.iter().enumerate() {
        refresh(repository.root(), &copy)?;
        let started = Instant::now();
        let verdict = attempt(mutant, &copy)?;
        let word = match &verdict {
            Verdict::Caught => "caught",
            Verdict::Survived => "SURVIVED",
            Verdict::Invalid(_) => "INVALID",
        };
        let took = started.elapsed().as_secs();
        println!(
            "{:>3}/{} {word:8} {} ({took} s): {}",
            number + 1,
            chosen.len(),
            mutant.id,
            mutant.about
        );
        match verdict {
            Verdict::Caught => caught += 1,
            Verdict::Survived => bad.push(mutant.id.as_str()),
            Verdict::Invalid(why) => {
                println!("{why}");
                bad.push(mutant.id.as_str());
            }
        }
    }
    println!("{caught} of {} mutants caught", chosen.len());
    if bad.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("not caught: {}", bad.join(", "));
    Ok(ExitCode::FAILURE)
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

/// Brings the copy to the state of the repository. Unchanged files keep their times, so builds stay incremental.
fn refresh(root: &Path, copy: &Path) -> Result<()> {
    let repository = Repository::open(root)?;
    let hidden = [".cargo/config.toml"];
    let paths = repository
        .files()
        .chain(hidden.into_iter().filter(|path| repository.has(path)));
    for path in paths {
        let (from, to): (PathBuf, PathBuf) = (root.join(path), copy.join(path));
        let wanted = fs::read(&from).with_context(|| format!("read {path}"))?;
        if fs::read(&to).is_ok_and(|there| there == wanted) {
            continue;
        }
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&to, wanted).with_context(|| format!("write {}", to.display()))?;
        fs::set_permissions(&to, fs::metadata(&from)?.permissions())?;
    }
    Ok(())
}

fn attempt(mutant: &Mutant, copy: &Path) -> Result<Verdict> {
    let path = copy.join(&mutant.file);
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", mutant.file))?;
    if text.matches(mutant.find.as_str()).count() != 1 {
        bail!(
            "`find` of mutant {} does not stand exactly once in {}",
            mutant.id,
            mutant.file
        );
    }
    fs::write(&path, text.replacen(&mutant.find, &mutant.replace, 1))?;
    let built = test(mutant, copy, true)?;
    if !built.status.success() {
        let said = String::from_utf8_lossy(&built.stderr).into_owned();
        return Ok(Verdict::Invalid(said));
    }
    let is_green = test(mutant, copy, false)?.status.success();
    Ok(if is_green {
        Verdict::Survived
    } else {
        Verdict::Caught
    })
}

fn test(mutant: &Mutant, copy: &Path, only_build: bool) -> Result<std::process::Output> {
    let mut command = Command::new("cargo");
    command.arg("test").args(mutant.test.split_whitespace());
    if only_build {
        command.arg("--no-run");
    }
    command
        .current_dir(copy)
        .stdin(Stdio::null())
        .output()
        .context("start cargo")
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
}
