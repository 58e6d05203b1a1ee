//! Detects lines that define something, in any language that marks definitions at the start of a line.
//!
//! No grammar: a keyword after modifiers, or the shape `type name(…) {` of the C family. A missed definition is still
//! found as text; a false one only moves a boundary between two chunks.

/// Kind of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkKind {
    /// A function or method.
    Function,
    /// A class, struct, trait, module and the like.
    Type,
    /// A part of a document below a heading.
    Heading,
    /// Anything else.
    Text,
}

impl ChunkKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Function, Self::Type, Self::Heading, Self::Text];

    /// Its word in arguments and results.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Type => "type",
            Self::Heading => "heading",
            Self::Text => "text",
        }
    }
}

/// A definition that begins on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CodeDefinition<'a> {
    /// `Text` for constants: they have a name, but are no piece of their own.
    pub kind: ChunkKind,
    pub name: &'a str,
}

const MODIFIERS: [&str; 32] = [
    "pub",
    "export",
    "default",
    "async",
    "unsafe",
    "extern",
    "static",
    "public",
    "private",
    "protected",
    "internal",
    "abstract",
    "final",
    "override",
    "virtual",
    "inline",
    "sealed",
    "partial",
    "open",
    "data",
    "suspend",
    "declare",
    "readonly",
    "local",
    "synchronized",
    "native",
    "constexpr",
    "friend",
    "explicit",
    "template",
    "crate",
    "case",
];

const FUNCTIONS: [&str; 12] = [
    "fn",
    "def",
    "func",
    "function",
    "fun",
    "sub",
    "proc",
    "defn",
    "defp",
    "defmacro",
    "macro",
    "macro_rules",
];

const TYPES: [&str; 16] = [
    "class",
    "struct",
    "enum",
    "trait",
    "interface",
    "type",
    "record",
    "protocol",
    "extension",
    "union",
    "module",
    "mod",
    "namespace",
    "object",
    "defmodule",
    "typedef",
];

const CONSTANTS: [&str; 5] = ["const", "static", "let", "var", "val"];

/// `synchronized`.
const LONGEST_KEYWORD: usize = 12;

/// Words before a parenthesis that call or branch, and define nothing.
const STATEMENTS: [&str; 29] = [
    "if", "for", "while", "switch", "match", "return", "else", "catch", "with", "unless", "until",
    "elif", "loop", "do", "try", "await", "new", "throw", "yield", "assert", "go", "defer", "when",
    "foreach", "using", "sizeof", "not", "in", "lock",
];

/// What a line defines, if anything. `line` is without the blanks around it.
pub(super) fn definition(line: &str) -> Option<CodeDefinition<'_>> {
    if is_comment(line) {
        return None;
    }
    let mut rest = line;
    loop {
        let (word, after) = leading_word(rest)?;
        if word.len() > LONGEST_KEYWORD {
            return plain_function(line);
        }
        if word == "impl" {
            return implementation(after);
        }
        if FUNCTIONS.contains(&word) {
            return named(ChunkKind::Function, after.trim_start_matches('!'));
        }
        if CONSTANTS.contains(&word) && !begins_with_keyword(after) {
            // In C these two say something about a function too.
            match constant(after) {
                None if word == "const" || word == "static" => {}
                found => return found,
            }
        }
        if TYPES.contains(&word) {
            return named(ChunkKind::Type, after);
        }
        if word.eq_ignore_ascii_case("create") {
            return table(after);
        }
        if !MODIFIERS.contains(&word) && word != "const" && word != "static" {
            return plain_function(line);
        }
        rest = past_bracket(after).trim_start();
    }
}

/// Whether a line comments, or decorates, what follows it.
pub(super) fn is_comment(line: &str) -> bool {
    let bytes = line.as_bytes();
    matches!(
        bytes,
        [b'#' | b'*' | b';' | b'@' | b'%', ..]
            | [b'/', b'/' | b'*', ..]
            | [b'-', b'-', ..]
            | [b'[', b'<', ..]
    ) || matches!(
        bytes,
        [b'"', b'"', b'"', ..] | [b'\'', b'\'', b'\'', ..] | [b'<', b'!', b'-', ..]
    )
}

fn leading_word(text: &str) -> Option<(&str, &str)> {
    let is_inside = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    let end = text.find(|letter| !is_inside(letter)).unwrap_or(text.len());
    text.split_at_checked(end)
        .filter(|(word, _)| !word.is_empty())
}

/// Steps over what a modifier may have behind it: `pub(crate)`, `extern "C"`, `template <T>`.
fn past_bracket(text: &str) -> &str {
    let text = text.trim_start();
    let close = match text.chars().next() {
        Some('(') => ')',
        Some('<') => '>',
        Some('"') => {
            return text
                .get(1..)
                .and_then(|rest| rest.split_once('"'))
                .map_or(text, |(_, rest)| rest);
        }
        _ => return text,
    };
    text.split_once(close).map_or(text, |(_, rest)| rest)
}

fn begins_with_keyword(after: &str) -> bool {
    leading_word(after.trim_start()).is_some_and(|(word, _)| {
        FUNCTIONS.contains(&word) || TYPES.contains(&word) || MODIFIERS.contains(&word)
    })
}

/// A keyword's name, if what follows it looks like one and not like prose.
fn named(kind: ChunkKind, after: &str) -> Option<CodeDefinition<'_>> {
    let mut after = after
        .strip_prefix([' ', '\t', '*'])?
        .trim_start_matches([' ', '\t', '*']);
    if after.starts_with('(') {
        // The receiver of a method in Go.
        after = after.split_once(')')?.1.trim_start();
    }
    let (mut name, mut rest) = leading_word(after)?;
    while let Some((word, beyond)) = rest
        .strip_prefix(['.', ':'])
        .and_then(|rest| leading_word(rest.trim_start_matches(':')))
    {
        (name, rest) = (word, beyond);
    }
    let rest = rest.trim_start();
    let follows = [
        "extends",
        "implements",
        "where",
        "is",
        "struct",
        "interface",
        "from",
        "do",
        "final",
        "for",
        "func",
    ];
    let is_code = rest.is_empty()
        || rest.starts_with(['(', '{', '<', ':', '=', ';', ',', '[', '?', '!', '/', '#'])
        || leading_word(rest).is_some_and(|(word, _)| follows.contains(&word));
    is_code.then_some(CodeDefinition { kind, name })
}

/// `impl<T> Tool for Grep {` is about both names.
fn implementation(after: &str) -> Option<CodeDefinition<'_>> {
    if !after.starts_with([' ', '<']) {
        return None;
    }
    let name = past_bracket(after).split(['{', '\n']).next()?;
    let name = name.split(" where ").next()?.trim();
    (!name.is_empty()).then_some(CodeDefinition {
        kind: ChunkKind::Type,
        name,
    })
}

/// A constant, or a function that is written as one.
fn constant(after: &str) -> Option<CodeDefinition<'_>> {
    let (name, rest) = leading_word(after.strip_prefix(' ')?.trim_start())?;
    let (name, rest) = if name == "mut" {
        leading_word(rest.trim_start())?
    } else {
        (name, rest)
    };
    if !rest.trim_start().starts_with([':', '=', ';', '[']) {
        return None;
    }
    let is_function = rest.contains("=>") && rest.contains('(') || rest.contains("= function");
    Some(CodeDefinition {
        kind: if is_function {
            ChunkKind::Function
        } else {
            ChunkKind::Text
        },
        name,
    })
}

/// `create table users (` in any case.
fn table(after: &str) -> Option<CodeDefinition<'_>> {
    let mut words = after
        .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .filter(|word| !word.is_empty());
    let kinds = ["table", "view", "function", "procedure", "trigger", "type"];
    let skipped = [
        "or",
        "replace",
        "temp",
        "temporary",
        "unique",
        "materialized",
        "if",
        "not",
        "exists",
    ];
    let is = |list: &[&str], word: &str| list.iter().any(|known| known.eq_ignore_ascii_case(word));
    words
        .find(|word| !is(&skipped, word))
        .filter(|word| is(&kinds, word))?;
    let name = words.find(|word| !is(&skipped, word))?;
    Some(CodeDefinition {
        kind: ChunkKind::Type,
        name,
    })
}

/// `int name(…) {`, `Type Class::name(…)`, `name(…) {`: functions without a keyword.
fn plain_function(line: &str) -> Option<CodeDefinition<'_>> {
    let (before, arguments) = line.split_once('(')?;
    let is_plain = |letter: char| letter.is_alphanumeric() || " _*&<>:,~[]$?".contains(letter);
    if !before.chars().all(is_plain) || arguments.contains("=>") {
        return None;
    }
    let words: Vec<&str> = before
        .split(|letter: char| !letter.is_alphanumeric() && !"_$~".contains(letter))
        .filter(|w| !w.is_empty())
        .collect();
    let (first, name) = (*words.first()?, *words.last()?);
    let has_body = line.ends_with('{');
    let has_type = words.len() > 1 && !line.ends_with([';', ',', '.']);
    let is_statement = STATEMENTS.contains(&first) || STATEMENTS.contains(&name);
    let is_name = before.ends_with(name) && !name.starts_with(|letter: char| letter.is_numeric());
    (is_name && !is_statement && (has_body || has_type)).then_some(CodeDefinition {
        kind: ChunkKind::Function,
        name,
    })
}

#[cfg(test)]
mod tests;
