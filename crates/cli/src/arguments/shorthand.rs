//! Command lines without a subcommand: `rooftree` alone, `rooftree "fix the bug"`, and `rooftree -p …` for `run`.

use std::{
    ffi::{OsStr, OsString},
    process::ExitCode,
};

use clap::{
    Command, CommandFactory, FromArgMatches,
    error::{ContextKind, ContextValue, ErrorKind},
};
use rooftree_stdx::edit_distance::{edit_distance, edit_distance_with_swaps};

use super::CliInvocation;

/// Letters by which a single word may differ from a subcommand to be taken for a misspelt one.
const SLIP: usize = 2;

/// Global options that take the next word as their value.
const WITH_VALUE: [&str; 6] = ["-C", "--cwd", "--color", "-c", "--config", "--server"];
/// Global options that stand alone.
const ALONE: [&str; 8] = [
    "-q",
    "--quiet",
    "-v",
    "--verbose",
    "--trust",
    "--plain",
    "--raw",
    "--no-input",
];

/// Parses the command line. Help, versions and errors are printed here; then the exit code is returned.
pub fn parse(typed: impl Iterator<Item = OsString>) -> Result<CliInvocation, ExitCode> {
    // Made once: to make all commands with their arguments takes as long as to parse a line.
    let mut program = CliInvocation::command();
    let typed = expand(typed.collect(), &program);
    parse_with(&mut program, &typed).map_err(|mut error| {
        keep_nearest(&mut error);
        // A write fails only if the terminal is gone; then nothing can be said.
        let _ = error.print();
        if let Some(words) = unknown_words(&error, &typed) {
            eprintln!("\n  to say it to an agent: rooftree run \"{words}\"");
        }
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
    })
}

fn parse_with(program: &mut Command, typed: &[OsString]) -> Result<CliInvocation, clap::Error> {
    let mut matches = program.try_get_matches_from_mut(typed)?;
    CliInvocation::from_arg_matches_mut(&mut matches).map_err(|error| error.format(program))
}

/// Of the subcommands that resemble a misspelt one, keeps those that differ least.
fn keep_nearest(error: &mut clap::Error) {
    let typed = error.get(ContextKind::InvalidSubcommand);
    let similar = error.get(ContextKind::SuggestedSubcommand);
    let (Some(ContextValue::String(typed)), Some(ContextValue::Strings(similar))) =
        (typed, similar)
    else {
        return;
    };
    let far = |name: &String| edit_distance_with_swaps(name, typed);
    let least = similar.iter().map(far).min();
    let nearest = similar.iter().filter(|name| Some(far(name)) == least);
    let nearest = ContextValue::Strings(nearest.cloned().collect());
    error.insert(ContextKind::SuggestedSubcommand, nearest);
}

/// All words from the first on, if that one was taken for a subcommand and is none.
fn unknown_words(error: &clap::Error, typed: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let words = typed.get(first_word(typed)?..)?;
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    (error.kind() == ErrorKind::InvalidSubcommand
        && words.first().is_some_and(|word| word == unknown))
    .then(|| words.join(" "))
}

/// The same command line with a subcommand: `chat`, which is `run` where there is no terminal, unless the first word is
/// a subcommand or may be a misspelt one.
fn expand(mut typed: Vec<OsString>, program: &Command) -> Vec<OsString> {
    match typed.get_mut(1) {
        Some(first) if *first == "-p" => {
            *first = "run".into();
            return typed;
        }
        _ => {}
    }
    let is_information = |word: &OsString| {
        ["-h", "--help", "-V", "--version"]
            .iter()
            .any(|flag| word == flag)
    };
    match first_word(&typed) {
        None if typed.iter().skip(1).any(is_information) => typed,
        Some(at) if typed.get(at).is_some_and(|word| is_command(word, program)) => typed,
        None | Some(_) => {
            typed.insert(1, "chat".into());
            typed
        }
    }
}

/// Where the first word is that is no option and no value of a global one.
fn first_word(typed: &[OsString]) -> Option<usize> {
    let mut words = typed.iter().enumerate().skip(1);
    while let Some((at, word)) = words.next() {
        let text = word.to_string_lossy();
        if WITH_VALUE.contains(&&*text) {
            words.next();
        } else if text == "--" || !text.starts_with('-') {
            return Some(at);
        } else if !is_global(&text) {
            // An option of `chat` and `run`: what follows may be its value.
            return None;
        }
    }
    None
}

fn is_global(option: &str) -> bool {
    let is_joined = |name: &&str| {
        let rest = option.strip_prefix(*name);
        rest.is_some_and(|rest| rest.starts_with('=') || !name.starts_with("--"))
    };
    let is_repeated = option.len() > 1
        && !option.starts_with("--")
        && option.chars().skip(1).all(|letter| "qv".contains(letter));
    ALONE.contains(&option) || is_repeated || WITH_VALUE.iter().any(is_joined)
}

/// Whether a word is a subcommand, an alias of one, or near enough to be a misspelt one.
fn is_command(word: &OsStr, program: &Command) -> bool {
    let Some(word) = word
        .to_str()
        .filter(|word| !word.contains(char::is_whitespace))
    else {
        return false;
    };
    let names = program
        .get_subcommands()
        .flat_map(|command| std::iter::once(command.get_name()).chain(command.get_all_aliases()));
    names
        .chain(["help"])
        .any(|name| name == word || edit_distance(name, word) <= slip(name))
}

/// Short names differ from other words by little, so that less counts as a slip.
fn slip(name: &str) -> usize {
    SLIP.min(name.len().saturating_sub(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::CliCommand;

    fn expanded(typed: &[&str]) -> Vec<String> {
        let typed = std::iter::once("rooftree").chain(typed.iter().copied());
        let typed = typed.map(OsString::from).collect();
        let expanded = expand(typed, &CliInvocation::command()).into_iter();
        expanded
            .skip(1)
            .map(|word| word.into_string().unwrap())
            .collect()
    }

    #[test]
    fn only_the_nearest_subcommands_are_proposed_for_a_misspelt_one() {
        let typed = ["rooftree", "sesions", "list"].map(OsString::from);
        let mut error = parse_with(&mut CliInvocation::command(), &typed).unwrap_err();
        keep_nearest(&mut error);
        let similar = error.get(ContextKind::SuggestedSubcommand);
        let expected = ContextValue::Strings(vec!["sessions".into()]);
        assert_eq!(similar, Some(&expected));
        assert_eq!(
            unknown_words(&error, &typed).as_deref(),
            Some("sesions list")
        );
    }

    #[test]
    fn a_leading_p_means_run() {
        let typed = ["rooftree", "-p", "hello"].into_iter().map(OsString::from);
        assert!(matches!(parse(typed).unwrap().command, CliCommand::Run(_)));
    }

    #[test]
    fn n_20_text_without_a_subcommand_is_said_to_an_agent() {
        let table: [(&[&str], &[&str]); 12] = [
            (&[], &["chat"]),
            (&["-q"], &["chat", "-q"]),
            (&["-C", "dir"], &["chat", "-C", "dir"]),
            (&["--continue"], &["chat", "--continue"]),
            (&["-m", "a/b", "go"], &["chat", "-m", "a/b", "go"]),
            (&["fix the bug"], &["chat", "fix the bug"]),
            (&["-C", "dir", "explain"], &["chat", "-C", "dir", "explain"]),
            (&["run", "x"], &["run", "x"]),
            (&["--plain", "agent", "list"], &["--plain", "agent", "list"]),
            (&["hello"], &["hello"]),
            (&["sesions", "list"], &["sesions", "list"]),
            (&["--help"], &["--help"]),
        ];
        for (typed, expected) in table {
            assert_eq!(expanded(typed), expected, "{typed:?}");
        }
    }
}
