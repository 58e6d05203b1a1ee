//! Patterns of private keys in PEM armour, and of tokens with several parts.

use std::ops::Range;

use super::token::{TokenAlphabet, begins_here};

/// A block may be so long; one that never ends is cut off by what it can be written in.
const LONGEST_BLOCK: usize = 16 * 1024;

/// How long the words between dashes may be: `RSA PRIVATE KEY`, `PGP PRIVATE KEY BLOCK`.
const LONGEST_TITLE: usize = 40;

/// A private key from its first line to its last, however its lines are numbered or quoted.
pub(super) fn armoured(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let body_at = literal.end + title(text, literal.end)?.len() + 5;
    let body = beginning(text.get(body_at..)?, LONGEST_BLOCK);
    let Some(at) = body.find("-----END ") else {
        return Some(literal.start..body_at + KeyBody::of(body).end?);
    };
    KeyBody::of(body.get(..at)?).end?;
    let tail = body.get(at + 9..)?;
    let close = beginning(tail, LONGEST_TITLE)
        .find("-----")
        .map_or(0, |close| close + 5);
    Some(literal.start..body_at + at + 9 + close)
}

/// Whether more text could still belong to the key.
pub(super) fn is_open(text: &str, literal: Range<usize>) -> bool {
    let Some(title) = title(text, literal.end) else {
        return !text
            .get(literal.end..)
            .is_some_and(|rest| rest.contains('\n'));
    };
    let body = text
        .get(literal.end + title.len() + 5..)
        .unwrap_or_default();
    match body.find("-----END ").and_then(|at| body.get(at + 9..)) {
        Some(tail) => !tail.contains("-----") && tail.len() < LONGEST_TITLE,
        None => !KeyBody::of(body).is_over,
    }
}

/// The lines of a key, as far as they go.
struct KeyBody {
    /// Where the last one ends; none if there is none.
    end: Option<usize>,
    /// Whether something else has followed.
    is_over: bool,
}

impl KeyBody {
    /// A line of a key is a long run of base64; the last one may be short. Numbers of lines and
    /// quotation marks may stand between.
    fn of(text: &str) -> Self {
        let (mut end, mut others, mut at) = (None, 0, 0);
        for run in text
            .split(|letter: char| !letter.is_ascii() || !TokenAlphabet::Base64.has(letter as u8))
        {
            let is_line =
                run.len() >= 24 || (run.len() >= 2 && run.ends_with('=') && end.is_some());
            if is_line {
                (end, others) = (Some(at + run.len()), 0);
            } else if !run.is_empty() {
                others += 1;
            }
            if others > 3 {
                return Self { end, is_over: true };
            }
            at += run.len()
                + text
                    .get(at + run.len()..)
                    .and_then(|rest| rest.chars().next())
                    .map_or(0, char::len_utf8);
        }
        Self {
            end,
            is_over: false,
        }
    }
}

/// What stands between the dashes, if it says that a private key follows.
fn title(text: &str, from: usize) -> Option<&str> {
    let rest = beginning(text.get(from..)?, LONGEST_TITLE);
    let title = rest.get(..rest.find("-----")?)?;
    title.contains("PRIVATE KEY").then_some(title)
}

/// No more of a text than so many bytes.
fn beginning(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most))
        .unwrap_or_default()
}

/// The last lines of a private key whose first ones are not there.
pub(super) fn armour_end(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let title = title(text, literal.end)?;
    let end = literal.end + title.len() + 5;
    let mut start = literal.start;
    // Each line before it is one of the key if it holds a long run and nothing after that.
    while let Some(line_end) = text
        .get(..start)
        .map(|before| before.trim_end_matches(['\n', '\r', ' ']).len())
    {
        let line_start = text.get(..line_end)?.rfind('\n').map_or(0, |at| at + 1);
        let run = TokenAlphabet::Base64.run_back(text, line_end, 256);
        let is_body = line_end - run.max(line_start) >= 24
            || (start == literal.start && line_end - run.max(line_start) >= 2);
        if !is_body || line_start >= start {
            break;
        }
        start = run.max(line_start);
        if line_start == 0 {
            break;
        }
    }
    (start < literal.start).then_some(start..end)
}

/// A PuTTY key: the lines after `Private-Lines: n`.
pub(super) fn putty(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let body = beginning(text.get(literal.end..)?, LONGEST_BLOCK);
    Some(literal.start..literal.end + KeyBody::of(body).end?)
}

/// Whether more text could still belong to a PuTTY key.
pub(super) fn is_putty_open(text: &str, literal: Range<usize>) -> bool {
    !KeyBody::of(text.get(literal.end..).unwrap_or_default()).is_over
}

/// A JSON web token: parts between dots, the first of which is an object.
pub(super) fn web_token(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    if !begins_here(text, literal.start) {
        return None;
    }
    let mut end = TokenAlphabet::Dashed.run(text, literal.start, 512);
    let mut parts = vec![end - literal.start];
    while text.as_bytes().get(end) == Some(&b'.') && parts.len() < 5 {
        let next = TokenAlphabet::Dashed.run(text, end + 1, 8192);
        parts.push(next - end - 1);
        end = next;
    }
    let is_token = parts.len() >= 3
        && parts.iter().take(2).all(|length| *length >= 10)
        && parts.iter().sum::<usize>() >= 50;
    is_token.then_some(literal.start..end)
}

/// A token of a Telegram bot: its number, then 35 characters.
pub(super) fn telegram(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let before = text.as_bytes().get(..literal.start)?;
    let digits = before
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let end = TokenAlphabet::Dashed.run(text, literal.end, 64);
    let is_token = (8..=10).contains(&digits) && (32..=34).contains(&(end - literal.end));
    is_token.then(|| literal.start - digits..end)
}

/// A token of a Discord bot: its number in base64, six characters, a signature.
pub(super) fn discord(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    if !begins_here(text, literal.start) {
        return None;
    }
    let number = TokenAlphabet::Alnum.run(text, literal.start, 32);
    let time = TokenAlphabet::Dashed.run(text, number + 1, 8);
    let end = TokenAlphabet::Dashed.run(text, time + 1, 64);
    let dots = [number, time]
        .iter()
        .all(|at| text.as_bytes().get(*at) == Some(&b'.'));
    let is_token = dots
        && (23..=28).contains(&(number - literal.start))
        && time.checked_sub(number + 1) == Some(6)
        && end
            .checked_sub(time + 1)
            .is_some_and(|length| (27..=40).contains(&length));
    is_token.then_some(literal.start..end)
}

/// A client secret of Azure: three characters, `8Q~`, the rest.
pub(super) fn azure(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let start = literal.start.checked_sub(3)?;
    let is_of = |byte: u8| TokenAlphabet::Dotted.has(byte) || byte == b'~';
    let bytes = text.as_bytes();
    let before = bytes.get(start..literal.start)?;
    let length = bytes
        .get(literal.end..)?
        .iter()
        .take_while(|byte| is_of(**byte))
        .count();
    (before.iter().all(|byte| is_of(*byte)) && (31..=36).contains(&length))
        .then(|| start..literal.end + length)
}

/// A key of Mailchimp: 32 hexadecimal digits before its data centre.
pub(super) fn mailchimp(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let start = TokenAlphabet::Hex.run_back(text, literal.start, 32);
    let centre = text
        .as_bytes()
        .get(literal.end..)?
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    (literal.start - start == 32 && (1..=2).contains(&centre)).then(|| start..literal.end + centre)
}

/// A token of HCP Terraform: 14 characters, `.atlasv1.`, the rest.
pub(super) fn terraform(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let start = TokenAlphabet::Alnum.run_back(text, literal.start, 14);
    let end = TokenAlphabet::Dashed.run(text, literal.end, 256);
    (literal.start - start == 14 && end - literal.end >= 50).then_some(start..end)
}
