//! Matches the commands of a shell line against a deny rule.
//!
//! Looks through wrappers, absolute paths and quotes, into substitutions, and into text that shells and interpreters
//! are given or read from the line itself. If a line cannot be parsed, it is enough that the words of the rule occur
//! in it.

use std::collections::BTreeSet;

use super::inline_scripts::{self, TextInterpreter};
use rooftree_shell::{
    CommandClass, ShellCall, ShellEffects, ShellParseError, ShellWord, classify, unwrapped,
};

/// Text that is given to text that is given to text …: further down the words are looked for as they stand.
const LAYERS: usize = 4;

/// In a wrapper's call with more words it is enough that the wanted ones occur.
const MANY: usize = 256;

/// The part of a line that begins with the wanted words.
pub(super) fn find(
    text: &str,
    deeds: &Result<ShellEffects, ShellParseError>,
    wanted: &[String],
) -> Option<String> {
    find_within(text, deeds, wanted, LAYERS)
}

fn find_within(
    text: &str,
    deeds: &Result<ShellEffects, ShellParseError>,
    wanted: &[String],
    layers: usize,
) -> Option<String> {
    let occurs = || occur(text, wanted).then(|| text.trim().to_owned());
    match deeds {
        Err(_) => occurs(),
        Ok(deeds) => {
            let found = deeds
                .calls
                .iter()
                .find_map(|call| find_in_call(call, wanted, layers));
            let is_told = !deeds.doubts.is_empty() || deeds.calls.iter().any(reads_commands);
            found
                .or_else(|| if is_told { occurs() } else { None })
                .or_else(|| find_in_sight(deeds, wanted, layers))
        }
    }
}

/// The text in a line that one of its commands may run, if the wanted words are in it.
fn find_in_sight(deeds: &ShellEffects, wanted: &[String], layers: usize) -> Option<String> {
    let reader = inline_scripts::interpreter(deeds)?;
    let layers = layers
        .checked_sub(1)
        .filter(|_| reader == TextInterpreter::Shell);
    inline_scripts::inline_texts(deeds)
        .into_iter()
        .find_map(|text| match layers {
            Some(layers) => find_within(&text, &ShellEffects::of(&text), wanted, layers),
            None => occur(&text, wanted).then_some(text),
        })
}

fn find_in_call(call: &ShellCall, wanted: &[String], layers: usize) -> Option<String> {
    if is_begun_by(&call.words, wanted) {
        return Some(call.shown());
    }
    let passes_on = matches!(classify(call), CommandClass::Runs(_)) || unwrapped(call).is_some();
    if !passes_on {
        return None;
    }
    if call.words.len() > MANY {
        return occur(&call.shown(), wanted).then(|| call.shown());
    }
    // Which of its words begins another command is the wrapper's business: any may.
    let begun = (1..call.words.len()).filter_map(|at| call.words.get(at..));
    let mut inner = begun.filter(|words| is_begun_by(words, wanted));
    inner
        .next()
        .map(shown)
        .or_else(|| find_in_text(call, wanted, layers))
}

/// What a shell is given is read as a shell reads it; in what others are given it is enough to occur.
fn find_in_text(call: &ShellCall, wanted: &[String], layers: usize) -> Option<String> {
    let mut texts = call
        .arguments()
        .iter()
        .map(ShellWord::shape)
        .filter(|text| text.contains(|c: char| !is_name(c)));
    let layers = layers.checked_sub(1).filter(|_| is_shell(call));
    texts.find_map(|text| match layers {
        Some(layers) => find_within(&text, &ShellEffects::of(&text), wanted, layers),
        None => occur(&text, wanted).then_some(text),
    })
}

/// Whether a call's arguments are lines for a shell.
fn is_shell(call: &ShellCall) -> bool {
    const SHELLS: [&str; 12] = [
        "sh", "bash", "dash", "zsh", "ksh", "ash", "eval", "trap", "ssh", "su", "watch", "runuser",
    ];
    call.name()
        .is_some_and(|name| SHELLS.contains(&name.as_str()))
}

/// Whether a call takes its commands from its input: text that is anywhere in the line.
fn reads_commands(call: &ShellCall) -> bool {
    is_shell(call) && call.arguments().iter().all(ShellWord::may_be_option)
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/')
}

fn shown(words: &[ShellWord]) -> String {
    ShellCall {
        words: words.to_vec(),
        ..ShellCall::default()
    }
    .shown()
}

/// Whether words begin with the wanted ones. Options may stand anywhere and be clustered.
fn is_begun_by(words: &[ShellWord], wanted: &[String]) -> bool {
    let (Some((program, rest)), Some((name, others))) = (words.split_first(), wanted.split_first())
    else {
        return false;
    };
    let (options, operands): (Vec<&String>, Vec<&String>) = others
        .iter()
        .partition(|wanted| wanted.len() > 1 && wanted.starts_with('-'));
    is_program(&program.shape(), name)
        && operands_fit(rest, &operands)
        && options.iter().all(|option| has_option(rest, option))
}

/// What stands before a word: after an option it may be that option's value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PrecedingWord {
    Option,
    Word,
}

/// Whether words begin with the wanted ones if options, and perhaps their values, are passed over.
///
/// All ways to read the words are followed at the same time, so it takes time linear in their number.
fn operands_fit(words: &[ShellWord], wanted: &[&String]) -> bool {
    let mut ways = BTreeSet::from([(0, PrecedingWord::Word)]);
    for word in words {
        if ways.is_empty() {
            return false;
        }
        let mut next = BTreeSet::new();
        for (found, before) in ways {
            let Some(first) = wanted.get(found) else {
                return true;
            };
            if may_be(&word.shape(), first) {
                next.insert((found + 1, PrecedingWord::Word));
            }
            if word.may_be_option() {
                next.insert((found, PrecedingWord::Option));
            }
            if before == PrecedingWord::Option {
                next.insert((found, PrecedingWord::Word));
            }
        }
        ways = next;
    }
    ways.iter().any(|(found, _)| *found == wanted.len())
}

/// Whether an option is there: as it is written, or its letters in any clusters.
fn has_option(words: &[ShellWord], wanted: &str) -> bool {
    let is_short = |text: &str| text.starts_with('-') && !text.starts_with("--");
    let shapes = || words.iter().map(ShellWord::shape);
    let has_letter =
        |letter: char| shapes().any(|shape| is_short(&shape) && shape.contains([letter, '*']));
    shapes().any(|shape| may_be(&shape, wanted))
        || (is_short(wanted) && wanted.chars().skip(1).all(has_letter))
}

/// `/bin/rm` is `rm`, in whatever case a file system may not tell apart.
fn is_program(shape: &str, name: &str) -> bool {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_lowercase();
    may_be(&shape.to_lowercase(), &name.to_lowercase()) || may_be(&last(shape), &last(name))
}

/// Whether a word, with `*` for what is unknown, may be the wanted one, with `*` for anything.
fn may_be(shape: &str, wanted: &str) -> bool {
    shape == wanted
        || (shape.contains('*') && is_glob(shape, wanted))
        || (wanted.contains('*') && is_glob(wanted, shape))
}

/// Whether a text is made of these parts in this order, with anything for each `*`.
fn is_glob(stars: &str, text: &str) -> bool {
    let Some((first, others)) = stars.split_once('*') else {
        return stars == text;
    };
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let (middle, last) = others.rsplit_once('*').unwrap_or(("", others));
    for part in middle.split('*') {
        match rest.find(part).and_then(|at| rest.get(at + part.len()..)) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Whether all wanted words stand somewhere in a text, quotes and escapes taken away.
fn occur(text: &str, wanted: &[String]) -> bool {
    let bare: String = text
        .replace("\\\n", "")
        .chars()
        .filter(|c| !"'\"\\$".contains(*c))
        .collect();
    let words: Vec<&str> = bare
        .split(|c: char| c.is_whitespace() || c.is_control() || ";&|<>(){}`,=[]!".contains(c))
        .filter(|word| !word.is_empty())
        .collect();
    // Before a command `make` takes signs that say how: `@rm`, `-rm`.
    let bare = |word: &str| word.strip_prefix(['@', '-', '+']).map(str::to_owned);
    let stands = |wanted: &String| {
        words.iter().any(|word| {
            is_program(word, wanted) || bare(word).is_some_and(|word| is_program(&word, wanted))
        })
    };
    !wanted.is_empty() && wanted.iter().all(stands)
}
