//! `git`: which sub-commands look, which act, and by what options either runs something else.
//!
//! Git runs what `.git/config` names (a file monitor, diff drivers, filters, signature checks) even when it
//! only looks. That file counts as the user's own: file tools ask before they write below `.git`, and the
//! sandbox keeps it read-only. Another repository, reached by `-C` or `cd`, has not earned that.

mod read_only;
mod remote;

use super::{ACTS, CommandClass, ShellCall, ShellWord, options::CallOptions};

const RUNS: CommandClass = CommandClass::Runs("git can be told to run or write anything");

const ACTING: &str = "
    add am apply branch checkout cherry-pick clean commit gc init merge mv notes rebase
    reset restore revert rm stash switch tag worktree";

/// Options by which some acting sub-command runs a program, writes a file or reads other settings.
const NOT: &[&str] = &[
    "ext-diff",
    "textconv",
    "filters",
    "output",
    "output-directory",
    "O",
    "open-files-in-pager",
    "upload-pack",
    "receive-pack",
    "exec",
    "x",
    "config",
    "template",
    "show-signature",
    "edit",
    "interactive",
    "patch-with-editor",
    "no-index",
    "paginate",
    "gpg-sign",
    "local-user",
    "sign",
    "separate-git-dir",
    "directory",
    "unsafe-paths",
    "build-fake-ancestor",
    "super-prefix",
    "contents",
];

pub(super) fn classify(call: &ShellCall) -> CommandClass {
    let words = call.arguments();
    let skipped = words.iter().take_while(|word| {
        matches!(
            word.literal().as_deref(),
            Some("--no-pager" | "-P" | "--no-optional-locks")
        )
    });
    let words = words.get(skipped.count()..).unwrap_or_default();
    let Some((command, rest)) = words.split_first() else {
        return RUNS;
    };
    let Some(command) = command.literal() else {
        return RUNS;
    };
    if rest.iter().any(|word| names_helper(&word.shape())) {
        return RUNS;
    }
    if let Some(form) = read_only::form(&command) {
        return if form.operands(rest).is_some() {
            CommandClass::Looks
        } else {
            RUNS
        };
    }
    if let Some(form) = remote::form(&command) {
        // What is on this machine brings hooks of its own along.
        let is_elsewhere = form
            .operands(rest)
            .is_some_and(|words| remote::is_elsewhere(&command, &words));
        return if is_elsewhere { ACTS } else { RUNS };
    }
    let rest: Vec<ShellWord> = without_message(&command, rest);
    let options = CallOptions::of(&rest);
    match command.as_str() {
        _ if options.may_have(NOT) => RUNS,
        command if looks_by_arguments(command, &options) => CommandClass::Looks,
        command if is_in(ACTING, command) => ACTS,
        // Also an alias of the user's, which may be a shell command.
        _ => RUNS,
    }
}

/// What a commit says is no option, whatever it begins with.
fn without_message(command: &str, words: &[ShellWord]) -> Vec<ShellWord> {
    let is_flag =
        |word: &ShellWord| matches!(word.literal().as_deref(), Some("-m" | "-am" | "--message"));
    let before = [None].into_iter().chain(words.iter().map(Some));
    let is_message = |(before, word): &(Option<&ShellWord>, &ShellWord)| {
        before.is_some_and(is_flag) && !word.may_split() && command == "commit"
    };
    before
        .zip(words)
        .filter(|pair| !is_message(pair))
        .map(|(_, word)| word.clone())
        .collect()
}

fn is_in(table: &str, command: &str) -> bool {
    table.split_ascii_whitespace().any(|one| one == command)
}

/// Whether a word is an address with a helper program (`ext::…`), or a format that checks signatures.
fn names_helper(shape: &str) -> bool {
    let has_format = shape.starts_with("--format=") || shape.starts_with("--pretty=");
    shape.contains("::")
        || shape.contains("%G")
        || shape.contains("%(signature")
        || (has_format && shape.contains('*'))
}

fn looks_by_arguments(command: &str, options: &CallOptions<'_>) -> bool {
    let Some(texts) = options.texts() else {
        return false;
    };
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let all_of = |known: &[&str]| texts.iter().all(|text| known.contains(text));
    match command {
        "branch" => all_of(&[
            "-a",
            "-r",
            "-v",
            "-vv",
            "-l",
            "--list",
            "--all",
            "--remotes",
            "--show-current",
            "--verbose",
        ]),
        "remote" => all_of(&["-v", "--verbose"]),
        "tag" => all_of(&["-l", "--list"]),
        "stash" | "worktree" => matches!(texts.as_slice(), ["list"] | ["list", "--porcelain"]),
        "reflog" => texts.is_empty() || texts == ["show"],
        "config" => matches!(
            texts.as_slice(),
            ["--list" | "-l"] | ["--get" | "--get-all", _]
        ),
        _ => false,
    }
}
