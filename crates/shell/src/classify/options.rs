//! Finds the options of a call, defensively: the text may be written to deceive.
//!
//! Long options may be shortened, short ones clustered, and both may stand after operands. A word that
//! is known only when it runs may turn out to be any option.

use crate::ShellWord;

/// The words after a program.
pub(super) struct CallOptions<'w> {
    words: &'w [ShellWord],
}

impl<'w> CallOptions<'w> {
    pub fn of(words: &'w [ShellWord]) -> Self {
        Self { words }
    }

    /// Whether one of these options may be among them: `o` is `-o`, `output` is `--output`.
    pub fn may_have(&self, options: &[&str]) -> bool {
        self.words.iter().any(|word| may_be(word, options))
    }

    /// All of them as text, if that is known.
    pub fn texts(&self) -> Option<Vec<String>> {
        self.words.iter().map(ShellWord::literal).collect()
    }

    /// The first of them as text.
    pub fn first(&self) -> Option<String> {
        self.words.first().and_then(ShellWord::literal)
    }
}

fn may_be(word: &ShellWord, options: &[&str]) -> bool {
    let shape = word.shape();
    if word.literal().is_none() && word.may_be_option() && !is_settled(word, &shape) {
        return true;
    }
    match shape.strip_prefix("--") {
        Some("") => false,
        Some(long) => {
            let name = long.split('=').next().unwrap_or_default();
            options
                .iter()
                .any(|option| option.len() > 1 && option.starts_with(name))
        }
        None => shape.strip_prefix('-').is_some_and(|short| {
            options
                .iter()
                .any(|option| option.len() == 1 && short.contains(option))
        }),
    }
}

/// Whether only an option's value is unknown, and stays within its word: `--format="$x"`.
fn is_settled(word: &ShellWord, shape: &str) -> bool {
    let has_name = shape.starts_with("--")
        && shape
            .split_once('=')
            .is_some_and(|(name, _)| !name.contains('*'));
    has_name && !word.may_split()
}
