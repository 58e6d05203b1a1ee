//! Compares shell commands with rules: narrowly to allow, generously to deny.
//!
//! A rule whose last word is `*` stands for the words before it. It allows a command only if
//! the shell would do nothing but start that one program: no character that a shell could
//! read as more than a letter. `\*` at the end of a rule is a star that was meant literally.

/// Characters that can make a shell do more than start one program.
const SPECIAL: &str = ";&|<>$`()#~*?[]{}!'\"\\^";

/// Programs whose arguments are another command.
const WRAPPERS: [&str; 17] = [
    "sudo", "doas", "env", "command", "builtin", "exec", "nohup", "time", "nice", "setsid", "timeout",
    "xargs", "eval", "sh", "bash", "zsh", "dash",
];

/// Words that may stand before a command of a compound one.
const KEYWORDS: [&str; 8] = ["if", "then", "else", "elif", "while", "until", "do", "!"];

/// Whether a rule surely means this command.
pub(super) fn is_allowed_by(command: &str, rule: &str) -> bool {
    let command = command.trim();
    match prefix(rule) {
        Some(prefix) if prefix.is_empty() => true,
        Some(prefix) => is_plain(command) && begins_with(&words(command), &prefix),
        None => command == unescaped(rule),
    }
}

/// Whether any part of this command may be what a rule means.
pub(super) fn is_denied_by(command: &str, rule: &str) -> bool {
    let unescaped = unescaped(rule);
    let wanted = prefix(rule).unwrap_or_else(|| words(&unescaped));
    command.trim() == unescaped || simple_commands(command).any(|simple| is_meant(&simple, &wanted))
}

/// The rule's subject that means exactly this command.
pub(super) fn literal(command: &str) -> String {
    let command = command.trim();
    command.strip_suffix('*').map_or_else(|| command.to_owned(), |start| format!(r"{start}\*"))
}

fn unescaped(rule: &str) -> String {
    rule.strip_suffix(r"\*").map_or_else(|| rule.to_owned(), |start| format!("{start}*"))
}

/// The words of a rule that ends in ` *` or `:*`; none if the rule is one whole command.
fn prefix(rule: &str) -> Option<Vec<&str>> {
    let start = rule.strip_suffix('*')?;
    match start.strip_suffix(':') {
        Some(start) if !start.is_empty() => Some(words(start)),
        _ if start.is_empty() || start.ends_with([' ', '\t']) => Some(words(start)),
        _ => None,
    }
}

fn is_plain(command: &str) -> bool {
    !command.chars().any(|c| SPECIAL.contains(c) || (c.is_control() && c != '\t'))
}

fn words(text: &str) -> Vec<&str> {
    text.split([' ', '\t']).filter(|word| !word.is_empty()).collect()
}

fn begins_with(words: &[&str], prefix: &[&str]) -> bool {
    words.len() >= prefix.len() && words.iter().zip(prefix).all(|(word, wanted)| word == wanted)
}

/// The words of each program a command may start, quotes and escapes taken away.
fn simple_commands(command: &str) -> impl Iterator<Item = Vec<String>> {
    let parts = command.split([';', '&', '|', '\n', '(', ')', '{', '}', '`']);
    parts.map(|part| {
        let bare = part.replace(['\'', '"', '\\', '$'], "");
        bare.split_whitespace().map(str::to_owned).collect()
    })
}

/// Whether a simple command, or one it wraps, begins with the wanted words.
fn is_meant(simple: &[String], wanted: &[&str]) -> bool {
    let mut rest = simple;
    loop {
        if is_begun_by(rest, wanted) {
            return true;
        }
        match rest.split_first() {
            Some((first, others)) if is_passed_over(first) => rest = after_options(others),
            _ => return false,
        }
    }
}

/// A wrapper's own options and their values are passed over one by one: `timeout -k 5 10 rm`.
fn after_options(words: &[String]) -> &[String] {
    let is_option = |word: &String| word.starts_with('-') || word.starts_with(|c: char| c.is_ascii_digit());
    let first = words.iter().position(|word| !is_option(word)).unwrap_or(words.len());
    words.get(first..).unwrap_or_default()
}

fn is_passed_over(word: &str) -> bool {
    let is_assignment =
        word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && !name.starts_with('-'));
    is_assignment || WRAPPERS.contains(&program_name(word)) || KEYWORDS.contains(&word)
}

fn is_begun_by(words: &[String], wanted: &[&str]) -> bool {
    words.len() >= wanted.len()
        && words
            .iter()
            .zip(wanted)
            .enumerate()
            .all(|(at, (word, wanted))| word == wanted || (at == 0 && program_name(word) == *wanted))
}

/// `/bin/rm` is `rm`.
fn program_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}
