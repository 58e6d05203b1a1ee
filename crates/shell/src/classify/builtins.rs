//! Classifies shell builtins, and `hostname`, which reads or sets the name.
//!
//! A builtin can assign variables, `PATH` among them, and can calculate, which runs `a[$(…)]`. Those that are
//! not listed, and all forms that are not, count as doing that: `let`, `mapfile`, `getopts`, `unset`, `printf -v`.

use super::{ACTS, CommandClass, options::CallOptions, printf};
use crate::{ShellCall, ShellWord, WordPiece, variables};

const RUNS: CommandClass = CommandClass::Runs("it changes how the shell goes on, or runs text");

/// Classifies a builtin.
pub(super) fn classify(call: &ShellCall, name: &str) -> CommandClass {
    let (words, options) = (call.arguments(), CallOptions::of(call.arguments()));
    let texts = options.texts();
    let looks_if =
        |is_so: bool, other: CommandClass| if is_so { CommandClass::Looks } else { other };
    match name {
        ":" | "break" | "continue" | "exit" | "return" | "shift" | "times" | "type" | "dirs" => {
            CommandClass::Looks
        }
        // A number may be a calculation, and a variable's name a place in an array: `-v 'a[$(id)]'`.
        "[" | "test" => looks_if(!may_name_variable(words), RUNS),
        "printf" => looks_if(printf::only_prints(words), RUNS),
        "cd" | "pushd" | "popd" => CommandClass::Looks,
        "read" => looks_if(texts.is_some_and(|texts| reads_plainly(&texts)), RUNS),
        "set" => looks_if(texts.is_some_and(|texts| sets_care(&texts)), RUNS),
        "export" | "readonly" | "declare" | "local" | "typeset" => {
            looks_if(words.iter().all(is_harmless_declaration), RUNS)
        }
        "command" => looks_if(
            matches!(options.first().as_deref(), Some("-v" | "-V")),
            RUNS,
        ),
        "wait" | "jobs" => looks_if(words.is_empty(), RUNS),
        "hostname" => looks_if(words.is_empty(), ACTS),
        _ => RUNS,
    }
}

/// A computed word may be an operator too, `-v` among them. It is an operand only where the form leaves
/// no choice: alone, after a written operator for one, or around a written operator for two.
fn may_name_variable(words: &[ShellWord]) -> bool {
    const TWO: [&str; 16] = [
        "=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef",
        "=~", "-",
    ];
    let texts: Vec<Option<String>> = words.iter().map(ShellWord::literal).collect();
    let operands = match texts.split_last() {
        Some((Some(last), rest)) if last == "]" => rest,
        _ => texts.as_slice(),
    };
    if operands
        .iter()
        .flatten()
        .any(|text| matches!(text.as_str(), "-v" | "-R"))
    {
        return true;
    }
    if words.iter().any(may_be_operators) {
        return true;
    }
    match operands {
        all if all.iter().all(Option::is_some) => false,
        [_] => false,
        [Some(operator), _] => !operator.starts_with(['-', '!']),
        [_, Some(operator), _] => !TWO.contains(&operator.as_str()),
        _ => true,
    }
}

/// Whether a word may become several of which one is an operator. A pattern becomes the names of files, and
/// those may be called `-v` and `a[$(id)]`, unless text in front of it says otherwise: `src/*`.
fn may_be_operators(word: &ShellWord) -> bool {
    let expands = |piece: &WordPiece| matches!(piece, WordPiece::Pattern(sign) if *sign != '~');
    word.may_split() || (word.pieces.iter().any(expands) && word.may_be_option())
}

/// `read -r line`: into variables of the script's own.
fn reads_plainly(texts: &[String]) -> bool {
    texts
        .iter()
        .all(|text| text == "-r" || variables::is_private(text))
}

fn sets_care(texts: &[String]) -> bool {
    let is_letters = |text: &str| {
        text.strip_prefix(['-', '+'])
            .is_some_and(|rest| rest.chars().all(|c| "euxo".contains(c)))
    };
    let is_known = |text: &String| {
        is_letters(text) || matches!(text.as_str(), "pipefail" | "errexit" | "nounset")
    };
    !texts.is_empty() && texts.iter().all(is_known)
}

/// `NAME` or `NAME=value` of a variable that no program heeds.
fn is_harmless_declaration(word: &ShellWord) -> bool {
    let shape = word.shape();
    let (name, value) = shape.split_once('=').unwrap_or((&shape, ""));
    let assignment = crate::ShellAssignment {
        name: name.to_owned(),
        values: vec![ShellWord::text(value)],
    };
    word.literal().is_some() && variables::is_harmless(&assignment)
}
