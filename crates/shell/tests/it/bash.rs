//! The grammar against the shell that will really read the line.
//!
//! Bash runs with no program in reach and a handler that notes every command it looks for. Whatever it
//! looked for must be among the commands the grammar found, word for word where the words are known.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use rooftree_shell::{ShellCall, ShellEffects, ShellWord};

use super::dice::{Dice, broken, script};

/// What bash did with a line.
struct Witness {
    /// The words of each command it looked for.
    commands: Vec<Vec<String>>,
    errors: String,
}

fn run(line: &str, directory: &Path, case: usize) -> Witness {
    let logs = directory.join(format!("logs-{case}"));
    fs::create_dir(&logs).unwrap();
    // Each handler is a process of its own: with a file of its own it cannot disturb another.
    let handler = format!(
        "() {{ printf '%s\\0' $# \"$@\" > '{}'/$BASHPID; return 0; }}",
        logs.display()
    );
    let work = directory.join(format!("work-{case}"));
    fs::create_dir(&work).unwrap();
    let output = Command::new("/bin/bash")
        .args(["--norc", "--noprofile", "-c", "--", line])
        .env_clear()
        .env("PATH", "/nonexistent")
        .env("LC_ALL", "C.UTF-8")
        .env("BASH_FUNC_command_not_found_handle%%", handler)
        .current_dir(&work)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let commands = fs::read_dir(&logs)
        .unwrap()
        .filter_map(|log| words_in(&fs::read(log.unwrap().path()).unwrap()));
    let commands = commands.collect();
    Witness {
        commands,
        errors: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A command is its number of words and the words; one that is still being written has fewer.
fn words_in(log: &[u8]) -> Option<Vec<String>> {
    let log = String::from_utf8_lossy(log);
    let mut parts = log.split_terminator('\0').map(str::to_owned);
    let count: usize = parts.next()?.parse().ok()?;
    let words: Vec<String> = parts.collect();
    (words.len() == count).then_some(words)
}

fn may_be(call: &ShellCall, words: &[String]) -> bool {
    let known: Option<Vec<String>> = call.words.iter().map(ShellWord::literal).collect();
    match (known, call.program()) {
        (Some(known), _) => known == words,
        (None, Some(program)) => words.first() == Some(&program),
        (None, None) => true,
    }
}

/// Says what is wrong, if something is.
fn compare(line: &str, directory: &Path, case: usize) -> Option<String> {
    let deeds = ShellEffects::of(line).ok()?;
    let witness = run(line, directory, case);
    // What begins so is about the text; a calculation that fails is told otherwise.
    if witness.errors.contains("-c: line") {
        return Some(format!(
            "{line:?}\nis understood, and bash says {}",
            witness.errors
        ));
    }
    let missed = witness
        .commands
        .iter()
        .find(|words| !deeds.calls.iter().any(|call| may_be(call, words)))?;
    let found: Vec<String> = deeds.calls.iter().map(ShellCall::shown).collect();
    Some(format!(
        "{line:?}\nruns {missed:?}, and the grammar found {found:?}"
    ))
}

#[test]
fn bash_runs_nothing_that_the_grammar_did_not_find() {
    let cases = std::env::var("ROOFTREE_SHELL_CASES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(300);
    let directory = tempfile::tempdir().unwrap();
    let (mut understood, mut wrong) = (0, Vec::new());
    for case in 0..cases {
        let mut dice = Dice::new(case as u64 + 1);
        let depth = dice.roll(3);
        let mut line = script(&mut dice, depth);
        if dice.roll(3) > 0 {
            line = broken(&mut dice, &line);
        }
        understood += usize::from(ShellEffects::of(&line).is_ok());
        wrong.extend(compare(&line, directory.path(), case));
    }
    assert!(
        wrong.is_empty(),
        "{} of {cases} are wrong:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(5)].join("\n")
    );
    assert!(
        understood * 3 > cases,
        "only {understood} of {cases} lines are understood"
    );
}

/// What is written, and the first words of all that bash looks for when it runs that.
const TABLE: [(&str, &str); 30] = [
    ("aa; bb && cc || dd", "aa bb cc"),
    ("aa | bb |& cc", "aa bb cc"),
    ("aa & bb", "aa bb"),
    ("aa\nbb # cc", "aa bb"),
    ("aa \\\n bb", "aa"),
    ("aa $(bb $(cc)) `dd`", "aa bb cc dd"),
    ("aa \"$(bb)\" '$(cc)'", "aa bb"),
    ("aa <(bb) ", "aa bb"),
    ("(aa; (bb))", "aa bb"),
    ("{ aa; bb; }", "aa bb"),
    ("if aa; then bb; else cc; fi", "aa bb"),
    ("for x in 1 2; do aa $x; done", "aa aa"),
    ("while aa; do bb; break; done", "aa bb"),
    ("until ! aa; do bb; break; done", "aa bb"),
    ("case x in y) aa ;; x|z) bb ;; esac", "bb"),
    ("f() { aa \"$@\"; }; f bb", "aa"),
    ("x=$(aa) bb", "aa bb"),
    ("x=(1 $(aa) 2); bb", "aa bb"),
    ("aa <<E\n$(bb)\nE\ncc", "aa bb cc"),
    ("aa <<'E'\n$(bb)\nE\ncc", "aa cc"),
    ("aa <<-E\n\tbb\n\tE\ncc", "aa cc"),
    ("aa <<< \"$(bb)\"", "aa bb"),
    ("aa > f 2>&1 < /dev/null", "aa"),
    ("a''a \"b\"", "aa"),
    ("$'\\x61a' b", "aa"),
    ("\\aa", "aa"),
    ("! aa", "aa"),
    ("[[ a == b || -z $(aa) ]] && bb", "aa bb"),
    ("echo ${x:-$(aa)} ${y:+$(bb)}", "aa"),
    ("time aa | bb", "aa bb"),
];

#[test]
fn every_construct_is_understood_and_means_what_it_means_to_bash() {
    let directory = tempfile::tempdir().unwrap();
    for (case, (line, expected)) in TABLE.into_iter().enumerate() {
        assert!(
            ShellEffects::of(line).is_ok(),
            "{line:?}: {:?}",
            ShellEffects::of(line)
        );
        assert_eq!(compare(line, directory.path(), case), None);
        let witness = run(line, directory.path(), TABLE.len() + case);
        let mut looked_for: Vec<&str> = witness
            .commands
            .iter()
            .map(|words| words[0].as_str())
            .collect();
        let mut expected: Vec<&str> = expected.split(' ').collect();
        // Both ends of a pipe run at the same time.
        looked_for.sort_unstable();
        expected.sort_unstable();
        assert_eq!(looked_for, expected, "{line:?}: {}", witness.errors);
    }
}
