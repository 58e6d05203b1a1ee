//! Folds text for matching, one character at a time: case, width, look-alikes, character references.

/// What a unit can be in a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CharClass {
    Bracket,
    Slash,
    /// A letter or a digit.
    Letter,
    Space,
    /// Not seen by a reader, so it separates nothing.
    Invisible,
    Other,
}

/// One character, or a reference to one.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoldedChar {
    pub(super) class: CharClass,
    pub(super) letter: char,
    /// Where the next one begins.
    pub(super) end: usize,
}

/// The unit that begins at this byte; none at the end.
pub(super) fn unit_at(text: &str, at: usize) -> Option<FoldedChar> {
    let rest = text.get(at..)?;
    let first = rest.chars().next()?;
    let (letter, length) = match first {
        '&' | '\\' => parse_char_reference(rest).unwrap_or((first, first.len_utf8())),
        other => (other, other.len_utf8()),
    };
    let (class, letter) = classify_char(letter);
    Some(FoldedChar {
        class,
        letter,
        end: at + length,
    })
}

/// `&#60;`, `&#x3c;`, `\u003c`, `\x3c`: the character, and how many bytes it is written with.
fn parse_char_reference(text: &str) -> Option<(char, usize)> {
    let digits = |from: usize, radix: u32, most: usize| {
        let tail = text.get(from..)?;
        let length = tail
            .bytes()
            .take(most)
            .take_while(|byte| char::from(*byte).is_digit(radix))
            .count();
        let letter = char::from_u32(u32::from_str_radix(tail.get(..length)?, radix).ok()?)?;
        Some((letter, from + length))
    };
    let ended = |(letter, end): (char, usize)| {
        (
            letter,
            end + usize::from(text.get(end..).is_some_and(|rest| rest.starts_with(';'))),
        )
    };
    match text.get(..3)? {
        "&#x" | "&#X" => digits(3, 16, 8).map(ended),
        "\\u{" => digits(3, 16, 6)
            .map(|(letter, end)| (letter, end + 1))
            .filter(|(_, end)| *end <= text.len()),
        start if start.starts_with("&#") => digits(2, 10, 8).map(ended),
        start if start.starts_with("\\u") => digits(2, 16, 4),
        start if start.starts_with("\\x") => digits(2, 16, 2),
        _ => None,
    }
}

fn classify_char(letter: char) -> (CharClass, char) {
    match letter {
        '<' | '\u{ff1c}' | '\u{fe64}' | '\u{2039}' | '\u{2329}' | '\u{27e8}' | '\u{3008}'
        | '\u{2c2}' | '\u{1438}' | '\u{276e}' | '\u{276c}' | '\u{227a}' => {
            (CharClass::Bracket, '<')
        }
        '/' | '\u{ff0f}' | '\u{2044}' | '\u{2215}' | '\u{29f8}' => (CharClass::Slash, '/'),
        '_' | '\u{ff3f}' | '\u{203f}' | '\u{2017}' | '\u{fe4d}'..='\u{fe4f}' => {
            (CharClass::Other, '_')
        }
        '\\' => (CharClass::Invisible, '\\'),
        _ if is_invisible(letter) => (CharClass::Invisible, letter),
        _ if letter.is_whitespace() => (CharClass::Space, ' '),
        _ => {
            let folded = fold_char(letter);
            (
                if folded.is_alphanumeric() {
                    CharClass::Letter
                } else {
                    CharClass::Other
                },
                folded,
            )
        }
    }
}

/// Whether a reader does not see a character, or sees it only as part of the one before.
fn is_invisible(letter: char) -> bool {
    (letter.is_control() && !letter.is_whitespace())
        || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
            | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// The plain letter that this one looks like, in lower case.
fn fold_char(letter: char) -> char {
    let code = u32::from(letter);
    let ascii = |first: u32, base: u8| char::from_u32(u32::from(base) + code - first);
    let plain = match code {
        0xff21..=0xff3a => ascii(0xff21, b'a'),
        0xff41..=0xff5a => ascii(0xff41, b'a'),
        0x24b6..=0x24cf => ascii(0x24b6, b'a'),
        0x24d0..=0x24e9 => ascii(0x24d0, b'a'),
        // Mathematical alphabets: upper and lower case in turn.
        0x1d400..=0x1d6a3 => char::from_u32(u32::from(b'a') + (code - 0x1d400) % 26),
        _ => letter.to_lowercase().next(),
    };
    look_alike(plain.unwrap_or(letter))
}

fn look_alike(letter: char) -> char {
    match letter {
        'а' | 'α' | 'ᴀ' => 'a',
        'с' | 'ϲ' | 'ᴄ' => 'c',
        'ԁ' | 'ᴅ' => 'd',
        'е' | 'ε' | 'ᴇ' | 'є' | 'é' | 'è' | 'ë' => 'e',
        'ꜰ' | 'ƒ' | 'ſ' => 'f',
        'ɡ' | 'ɢ' | 'ց' => 'g',
        'һ' | 'ʜ' => 'h',
        'і' | 'ι' | 'ɪ' | 'ı' => 'i',
        'ӏ' | 'ʟ' | 'ⅼ' => 'l',
        'м' | 'μ' | 'ᴍ' | 'ⅿ' => 'm',
        'п' | 'ո' | 'ɴ' => 'n',
        'о' | 'ο' | 'ᴏ' => 'o',
        'р' | 'ρ' | 'ᴘ' => 'p',
        'г' | 'ʀ' => 'r',
        'ѕ' | 'ꜱ' | 'ś' | 'š' => 's',
        'т' | 'τ' | 'ᴛ' => 't',
        'υ' | 'ս' | 'ᴜ' => 'u',
        'ѡ' | 'ᴡ' => 'w',
        'у' | 'ʏ' | 'ү' => 'y',
        other => other,
    }
}
