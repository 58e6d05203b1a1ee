//! Parses the words of a call by a table of one program's options, and finds its operands.
//!
//! An option that is not in the table makes the whole call unknown: a newer version of a program, or another
//! implementation of it, may write a file or run a program by it. Long options are compared whole, because a
//! shortened one (`--outp`) is not in the table either.

use crate::{ShellWord, WordPiece};

/// The options of one program.
#[derive(Clone, Copy)]
pub(super) struct OptionTable {
    /// Letters of options without a value; `#` stands for all digits.
    pub flags: &'static str,
    /// Letters of options with a value, which may be attached.
    pub valued: &'static str,
    /// Long options; a `=` at the end marks one that takes the next word if it has no value attached.
    pub long: &'static str,
    /// How the program reads its options.
    pub style: OptionStyle,
    /// What a word is taken for that is known only when it runs.
    pub computed: ComputedWord,
    /// Where the value of an option stands.
    pub values: OptionValuePosition,
}

/// Where the value of an option stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionValuePosition {
    /// In the next word, if none is attached.
    Next,
    /// Attached to the option. The next word is read by itself, which refuses more and never less.
    Attached,
}

/// How a program reads its options.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionStyle {
    /// Letters may be clustered, and options may follow operands.
    Clustered,
    /// Nothing after the first operand counts as an option, whatever the implementation.
    First,
    /// A letter is a whole option (`-ps`, not `-p -s`). Nothing after the first operand counts as an option.
    Whole,
    /// An option is a whole word, and may follow operands.
    Expression,
}

/// What a word that is known only when it runs is taken for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ComputedWord {
    /// An operand: no option of the program can do harm.
    Operand,
    /// An unknown option, if it may be one.
    Option,
}

/// What one word is.
enum WordRole {
    Operand,
    Option,
    /// An option whose value is the next word.
    OptionOfNext,
    /// `--`: only operands follow.
    End,
}

impl OptionTable {
    /// A program whose options are clustered letters and long names, some of them harmful.
    pub const fn careful(flags: &'static str, valued: &'static str, long: &'static str) -> Self {
        Self {
            flags,
            valued,
            long,
            style: OptionStyle::Clustered,
            computed: ComputedWord::Option,
            values: OptionValuePosition::Next,
        }
    }

    /// The same with another way to read options.
    pub const fn read_by(self, style: OptionStyle) -> Self {
        Self { style, ..self }
    }

    /// The same, with no word skipped as the value of an option.
    pub const fn with_values_attached(self) -> Self {
        Self {
            values: OptionValuePosition::Attached,
            ..self
        }
    }

    /// The operands of a call; none if one of its words is, or may be, an option that is not in the table.
    ///
    /// Invariant: words after `--` are operands, whatever they begin with.
    pub fn operands<'w>(&self, words: &'w [ShellWord]) -> Option<Vec<&'w ShellWord>> {
        let (mut operands, mut words) = (Vec::new(), words.iter());
        while let Some(word) = words.next() {
            match self.part(word)? {
                WordRole::Option => {}
                WordRole::OptionOfNext if self.values == OptionValuePosition::Attached => {}
                WordRole::OptionOfNext => {
                    let value = words.next()?;
                    if self.computed == ComputedWord::Option && !is_one_value(value) {
                        return None;
                    }
                }
                WordRole::Operand
                    if matches!(self.style, OptionStyle::First | OptionStyle::Whole) =>
                {
                    operands.push(word);
                    operands.extend(words);
                    return Some(operands);
                }
                WordRole::Operand => operands.push(word),
                WordRole::End => {
                    operands.extend(words);
                    return Some(operands);
                }
            }
        }
        Some(operands)
    }

    fn part(&self, word: &ShellWord) -> Option<WordRole> {
        match word.literal() {
            Some(text) if text == "--" => Some(WordRole::End),
            Some(text) if text == "-" || !text.starts_with('-') => Some(WordRole::Operand),
            Some(text) if matches!(self.style, OptionStyle::Whole | OptionStyle::Expression) => {
                self.whole(&text)
            }
            Some(text) => match text.strip_prefix("--") {
                Some(long) => self.long_option(long),
                None => self.cluster(text.get(1..).unwrap_or_default()),
            },
            None if self.computed == ComputedWord::Operand || !word.may_be_option() => {
                Some(WordRole::Operand)
            }
            None => self.with_computed_value(word),
        }
    }

    /// `--name=$value`, quoted: only the value is unknown.
    fn with_computed_value(&self, word: &ShellWord) -> Option<WordRole> {
        let shape = word.shape();
        let (name, _) = shape.strip_prefix("--")?.split_once('=')?;
        if name.contains('*') || word.may_split() {
            return None;
        }
        self.long_option(&format!("{name}="))
    }

    fn long_option(&self, text: &str) -> Option<WordRole> {
        let (name, has_value) = text
            .split_once('=')
            .map_or((text, false), |(name, _)| (name, true));
        let known = self
            .long
            .split_ascii_whitespace()
            .find(|known| known.trim_end_matches('=') == name)?;
        Some(if known.ends_with('=') && !has_value {
            WordRole::OptionOfNext
        } else {
            WordRole::Option
        })
    }

    fn cluster(&self, letters: &str) -> Option<WordRole> {
        for (at, letter) in letters.char_indices() {
            let is_digit = letter.is_ascii_digit() && self.flags.contains('#');
            if self.valued.contains(letter) {
                let is_last = letters.len() == at + letter.len_utf8();
                return Some(if is_last {
                    WordRole::OptionOfNext
                } else {
                    WordRole::Option
                });
            }
            if !is_digit && (letter == '#' || !self.flags.contains(letter)) {
                return None;
            }
        }
        Some(WordRole::Option)
    }

    /// An option that is one word with one or two dashes; only digits may be attached to it.
    fn whole(&self, text: &str) -> Option<WordRole> {
        let name = text.strip_prefix("--").or_else(|| text.strip_prefix('-'))?;
        if name.contains('=') {
            return None;
        }
        let known = |name: &str| self.long_option(name);
        known(name).or_else(|| {
            let bare = name.trim_end_matches(|c: char| c.is_ascii_digit());
            matches!(known(bare)?, WordRole::OptionOfNext).then_some(WordRole::Option)
        })
    }
}

/// Whether a word stays one word, or is no option if it becomes several.
fn is_one_value(word: &ShellWord) -> bool {
    let expands = |piece: &WordPiece| matches!(piece, WordPiece::Pattern(sign) if *sign != '~');
    !word.may_be_option() || (!word.may_split() && !word.pieces.iter().any(expands))
}
