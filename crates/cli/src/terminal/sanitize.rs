//! Sanitizes text for the terminal: removes escape sequences, replaces control characters.
//!
//! Models, tools and files are not trusted with the terminal: escape sequences vanish, other control
//! characters become `�`, tabs become spaces (not for files), and what turns the reading direction is shown as
//! `\u{202e}`. Line ends stay. Where a person decides something, [`visible`] hides nothing at all.

#[cfg(test)]
pub(in crate::terminal) mod tests;

/// Cleans text that comes in pieces; a sequence may begin in one piece and end in the next.
#[derive(Debug, Default)]
pub struct TextSanitizer {
    inside: EscapeState,
    layout: WhitespaceMode,
}

/// What becomes of tabs and carriage returns.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum WhitespaceMode {
    /// Columns are counted: tabs become spaces.
    #[default]
    Screen,
    /// A file or a program reads it: tabs and line ends stay.
    Kept,
}

/// Which sequence the next character belongs to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum EscapeState {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC [ : ends with a letter.
    Control,
    /// After ESC ] and the like: ends with BEL or ESC \.
    Message,
}

impl TextSanitizer {
    /// The next piece, cleaned.
    pub fn push(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for letter in text.chars() {
            self.step(letter, &mut out);
        }
        out
    }

    fn step(&mut self, letter: char, out: &mut String) {
        // A line end closes whatever was open, so that nothing can swallow all that follows.
        if letter == '\n' {
            self.inside = EscapeState::Text;
            out.push(letter);
            return;
        }
        self.inside = match (self.inside, letter) {
            (_, '\u{1b}') => EscapeState::Escape,
            (EscapeState::Text, '\u{9b}') | (EscapeState::Escape, '[') => EscapeState::Control,
            (EscapeState::Text, '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}')
            | (EscapeState::Escape, ']' | 'P' | 'X' | '^' | '_') => EscapeState::Message,
            (EscapeState::Escape, ' '..='/') => EscapeState::Escape,
            (EscapeState::Control, '@'..='~') | (EscapeState::Message, '\u{7}' | '\u{9c}') => {
                EscapeState::Text
            }
            (EscapeState::Escape, letter) if letter.is_ascii() => EscapeState::Text,
            (EscapeState::Control, ' '..='?') => EscapeState::Control,
            (EscapeState::Message, _) => EscapeState::Message,
            // No sequence goes on like this: it is over, and what follows is text.
            (EscapeState::Text | EscapeState::Escape | EscapeState::Control, letter) => {
                show(letter, self.layout, out);
                EscapeState::Text
            }
        };
    }
}

fn show(letter: char, layout: WhitespaceMode, out: &mut String) {
    match letter {
        '\t' if layout == WhitespaceMode::Kept => out.push(letter),
        '\t' => out.push_str("    "),
        // Overwriting a line hides what is really there.
        '\r' => {}
        letter if turns(letter) => spell(letter, out),
        letter if letter.is_control() => out.push('\u{fffd}'),
        letter => out.push(letter),
    }
}

/// Whether a character turns the reading direction of what follows it.
fn turns(letter: char) -> bool {
    matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A character as its escaped code point, such as `\u{202e}`.
fn spell(letter: char, out: &mut String) {
    out.extend(letter.escape_unicode());
}

/// A whole text, cleaned.
pub fn clean(text: &str) -> String {
    TextSanitizer::default().push(text)
}

/// A whole text, cleaned for a file or a program: its tabs stay.
pub fn sanitised(text: &str) -> String {
    TextSanitizer {
        layout: WhitespaceMode::Kept,
        ..TextSanitizer::default()
    }
    .push(text)
}

/// A text as one clean line.
pub fn clean_line(text: &str) -> String {
    clean(text)
        .split('\n')
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Characters of the longest colour: two of twenty-four bits and what goes with them.
const LONGEST_COLOUR: usize = 48;

/// A page of ours with nothing in it but text and colours: the last look before it is printed.
/// What came from outside was cleaned where it was put in; this is for what was forgotten there.
pub fn with_colours(page: &str) -> String {
    coloured(page, clean)
}

/// The same for a file or a program.
pub fn with_colours_kept(page: &str) -> String {
    coloured(page, sanitised)
}

/// Whether a colour shows: text that is concealed (8) is there and cannot be seen.
fn shows(colour: &str) -> bool {
    let mut codes = colour.split(';');
    while let Some(code) = codes.next() {
        match code.trim_start_matches('0') {
            "8" => return false,
            // A number of a palette, or three of a colour, and no code of its own.
            "38" | "48" | "58" => match codes.next() {
                Some("5") => drop(codes.next()),
                Some("2") => drop(codes.nth(2)),
                _ => {}
            },
            _ => {}
        }
    }
    true
}

fn coloured(page: &str, clean: fn(&str) -> String) -> String {
    let mut out = String::with_capacity(page.len());
    let mut rest = page;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        out.push_str(&clean(before));
        let length = after
            .bytes()
            .take_while(|byte| byte.is_ascii_digit() || *byte == b';')
            .count();
        // Terminals differ in what they make of a longer one.
        if length <= LONGEST_COLOUR && after.as_bytes().get(length) == Some(&b'm') {
            if shows(after.get(..length).unwrap_or_default()) {
                out.push_str("\u{1b}[");
                out.push_str(after.get(..=length).unwrap_or_default());
            }
            rest = after.get(length + 1..).unwrap_or_default();
        } else {
            // Another sequence: it is dropped as far as it goes, the text behind it stays.
            let end = after
                .bytes()
                .position(|byte| matches!(byte, b'@'..=b'~' | b'\n' | 0x1b) || !byte.is_ascii());
            let end = end.unwrap_or(after.len());
            let is_final = after
                .as_bytes()
                .get(end)
                .is_some_and(|byte| matches!(byte, b'@'..=b'~'));
            rest = after.get(end + usize::from(is_final)..).unwrap_or_default();
        }
    }
    out.push_str(&clean(rest));
    out
}

/// A text with all of it to be seen: what would be obeyed, take no room, look like a space or pass for
/// another letter is spelled `\u{…}`, and what would push the rest out of sight is counted. For
/// questions a person answers.
pub fn visible(text: &str) -> String {
    let one_by_one = spelled(text);
    let narrow = counted(&one_by_one, ' ', 24, |count| format!(" ⟨{count} spaces⟩ "));
    counted(&narrow, '\n', 4, |count| {
        format!("\n⟨{} empty lines⟩\n", count - 1)
    })
}

/// A text in which a run of so many of one character or more is told in words.
fn counted(text: &str, letter: char, least: usize, words: impl Fn(usize) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(letter) {
        out.push_str(rest.get(..at).unwrap_or_default());
        let run = rest.get(at..).unwrap_or_default();
        let count = run.len() - run.trim_start_matches(letter).len();
        if count >= least {
            out.push_str(&words(count));
        } else {
            out.push_str(run.get(..count).unwrap_or_default());
        }
        rest = run.get(count..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

fn spelled(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut word = 0..0;
    for (at, letter) in letters.iter().copied().enumerate() {
        if !word.contains(&at) {
            word = at..at
                + letters
                    .iter()
                    .skip(at)
                    .take_while(|letter| letter.is_alphanumeric())
                    .count()
                    .max(1);
        }
        let words = letters.get(word.clone()).unwrap_or_default();
        match letter {
            '\n' => out.push('\n'),
            '\t' => out.push_str("    "),
            '\u{200d}' | '\u{fe0f}' if is_in_emoji(&letters, at) => out.push(letter),
            letter if letter.is_control() || is_unseen(letter) => spell(letter, &mut out),
            letter if passes_for_latin(letter) && words.iter().any(char::is_ascii_alphabetic) => {
                spell(letter, &mut out);
            }
            letter => out.push(letter),
        }
    }
    out
}

/// Whether a joiner or a selector stands where emoji have them.
fn is_in_emoji(letters: &[char], at: usize) -> bool {
    let is_picture = |letter: &char| matches!(letter, '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' | '\u{fe0f}');
    at.checked_sub(1)
        .and_then(|before| letters.get(before))
        .is_some_and(is_picture)
}

/// Whether a character takes no room, or looks like a space and is none.
fn is_unseen(letter: char) -> bool {
    turns(letter)
        || matches!(letter,
            '\u{ad}' | '\u{a0}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{1680}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}'..='\u{206f}'
            | '\u{2800}' | '\u{3000}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Letters of other scripts that look like those a command is written in.
fn passes_for_latin(letter: char) -> bool {
    matches!(letter,
        '\u{370}'..='\u{3ff}' | '\u{400}'..='\u{52f}' | '\u{531}'..='\u{58f}' | '\u{13a0}'..='\u{13ff}'
        | '\u{2100}'..='\u{214f}' | '\u{ff10}'..='\u{ff5a}' | '\u{1d400}'..='\u{1d7ff}')
}
