//! Parses lengths of time: `20m`, `1h30m`, `1 hour and 30 minutes`, `an hour`.

use super::tokens::Tokens;
use crate::error::ScheduleError;

/// Seconds, if the next words are a length of time; otherwise nothing is taken.
pub fn duration(tokens: &mut Tokens) -> Result<Option<u64>, ScheduleError> {
    let start = tokens.position();
    let mut total: Option<u64> = None;
    loop {
        let before = tokens.position();
        if total.is_some() {
            tokens.take(&["and"]);
        }
        let Some(part) = part(tokens) else {
            tokens.go_back_to(if total.is_some() { before } else { start });
            return Ok(total);
        };
        let sum = total.unwrap_or(0).checked_add(part);
        total = Some(sum.ok_or_else(|| ScheduleError::Range {
            what: "the length of time".to_owned(),
        })?);
    }
}

/// One word such as `1h30m`, or a number and a unit.
fn part(tokens: &mut Tokens) -> Option<u64> {
    let first = tokens.peek()?.to_owned();
    if let Some(seconds) = joined(&first) {
        tokens.advance();
        return Some(seconds);
    }
    let count = match first.as_str() {
        "a" | "an" => 1,
        digits => whole(digits)?,
    };
    let seconds = unit(tokens.peek_second()?)?.checked_mul(count)?;
    tokens.advance();
    tokens.advance();
    Some(seconds)
}

/// `1h30m` in one word.
fn joined(word: &str) -> Option<u64> {
    let mut rest = word;
    let mut total = 0_u64;
    while !rest.is_empty() {
        let (digits, after) = split_at_first(rest, |letter| !letter.is_ascii_digit());
        let (name, after) = split_at_first(after, |letter| letter.is_ascii_digit());
        let seconds = unit(name)?.checked_mul(whole(digits)?)?;
        total = total.checked_add(seconds)?;
        rest = after;
    }
    Some(total)
}

fn split_at_first(text: &str, is_end: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(is_end).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

fn whole(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

/// Seconds of a unit.
pub fn unit(name: &str) -> Option<u64> {
    Some(match name {
        "s" | "sec" | "secs" | "second" | "seconds" => 1,
        "m" | "min" | "mins" | "minute" | "minutes" => 60,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600,
        "d" | "day" | "days" => 86_400,
        "w" | "week" | "weeks" => 7 * 86_400,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_in_one_word_or_several() {
        let table = [
            ("20m", Some(1200), None),
            ("1h30m", Some(5400), None),
            ("1 hour and 30 minutes", Some(5400), None),
            ("1 h 30 min", Some(5400), None),
            ("an hour", Some(3600), None),
            ("2 weeks at", Some(14 * 86_400), Some("at")),
            ("1h and then", Some(3600), Some("and")),
            ("20", None, Some("20")),
            ("9:00", None, Some("9:00")),
            ("h", None, Some("h")),
        ];
        for (text, expected, rest) in table {
            let mut tokens = Tokens::new(text);
            assert_eq!(duration(&mut tokens).unwrap(), expected, "{text}");
            assert_eq!(tokens.peek(), rest, "{text}");
        }
        let endless = "18446744073709551615s 1s";
        assert!(duration(&mut Tokens::new(endless)).is_err());
        assert_eq!(
            duration(&mut Tokens::new("18446744073709551615h")),
            Ok(None)
        );
    }
}
