//! `sed`: looking, as long as its script only prints and replaces.
//!
//! A script can run (`e`, `s///e`) and write (`w`) too, so what is not one of a few plain forms counts as that.

use super::{CommandClass, ShellCall, options::CallOptions};

const RUNS: CommandClass =
    CommandClass::Runs("its script or options may run a program or write a file");

pub(super) fn classify(call: &ShellCall) -> CommandClass {
    let Some(texts) = CallOptions::of(call.arguments()).texts() else {
        return RUNS;
    };
    let (mut scripts, mut is_given, mut texts) = (Vec::new(), false, texts.into_iter());
    let mut operands = Vec::new();
    while let Some(text) = texts.next() {
        match text.as_str() {
            "-n" | "-E" | "-r" | "-s" | "-u" | "-z" | "--quiet" | "--silent" | "--posix" => {}
            "-nE" | "-nr" | "-En" | "-rn" => {}
            "-e" | "-ne" | "-Ee" | "-re" => {
                is_given = true;
                scripts.extend(texts.next());
            }
            option if option.starts_with('-') && option != "-" => return RUNS,
            _ => operands.push(text),
        }
    }
    if !is_given {
        scripts.extend(operands.first().cloned());
    }
    let is_tame =
        !scripts.is_empty() && scripts.iter().all(|script| script.split(';').all(is_tame));
    if is_tame { CommandClass::Looks } else { RUNS }
}

/// One command of a script: `10,20p`, `$d`, `/begin/,/end/p`, `s/a/b/g`.
fn is_tame(command: &str) -> bool {
    let Some(rest) = after_address(command.trim()) else {
        return false;
    };
    let rest = match rest.strip_prefix(',') {
        Some(second) => match after_address(second) {
            Some(rest) => rest,
            None => return false,
        },
        None => rest,
    };
    let rest = rest.trim_start().trim_start_matches('!');
    matches!(rest, "p" | "d" | "q" | "=" | "") || rest.strip_prefix("s/").is_some_and(replaces)
}

fn after_address(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('/') {
        let (pattern, rest) = rest.split_once('/')?;
        return (!pattern.contains(['\\', '\n', '['])).then_some(rest);
    }
    Some(
        text.strip_prefix('$')
            .unwrap_or_else(|| text.trim_start_matches(|c: char| c.is_ascii_digit())),
    )
}

/// After `s/`: pattern, replacement and flags without a backslash or bracket that would hide a slash.
fn replaces(rest: &str) -> bool {
    let parts: Vec<&str> = rest.split('/').collect();
    match parts.as_slice() {
        [pattern, replacement, flags] => {
            !format!("{pattern}{replacement}").contains(['\\', '\n', '['])
                && flags
                    .chars()
                    .all(|c| c.is_ascii_digit() || "gpIi".contains(c))
        }
        _ => false,
    }
}
