//! Parses times of day: `8`, `8:30`, `7:30pm`, `7 pm`, `noon`.

use jiff::civil::Time;

use super::tokens::Tokens;
use crate::error::ScheduleError;

/// A time of day, if the next words are one.
pub fn time(tokens: &mut Tokens) -> Result<Option<Time>, ScheduleError> {
    let Some(word) = tokens.peek().map(str::to_owned) else {
        return Ok(None);
    };
    let starts_with_digit = word.starts_with(|first: char| first.is_ascii_digit());
    if !starts_with_digit && !matches!(word.as_str(), "noon" | "midnight") {
        return Ok(None);
    }
    let mut written = word.clone();
    if starts_with_digit && let Some(half @ ("am" | "pm" | "a.m." | "p.m.")) = tokens.peek_second()
    {
        written.push_str(half);
        tokens.advance();
    }
    let Some(time) = clock_time(&written) else {
        return Err(ScheduleError::Word { word: written });
    };
    tokens.advance();
    Ok(Some(time))
}

/// A time of day in one word.
pub fn clock_time(word: &str) -> Option<Time> {
    match word {
        "noon" => return Time::new(12, 0, 0, 0).ok(),
        "midnight" => return Some(Time::midnight()),
        _ => {}
    }
    let plain = word.replace("a.m.", "am").replace("p.m.", "pm");
    let (digits, half) = match (plain.strip_suffix("am"), plain.strip_suffix("pm")) {
        (Some(digits), _) => (digits, Some(0)),
        (_, Some(digits)) => (digits, Some(12)),
        _ => (plain.as_str(), None),
    };
    let (hour, minute) = digits.split_once(':').unwrap_or((digits, "00"));
    if !(1..=2).contains(&hour.len()) || minute.len() != 2 {
        return None;
    }
    let (hour, minute) = (number(hour)?, number(minute)?);
    let hour = match half {
        Some(half) if (1..=12).contains(&hour) => hour % 12 + half,
        Some(_) => return None,
        None => hour,
    };
    Time::new(hour, minute, 0, 0).ok()
}

fn number(digits: &str) -> Option<i8> {
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day_in_both_counts() {
        let table = [
            ("8", Some((8, 0))),
            ("08:05", Some((8, 5))),
            ("7:30pm", Some((19, 30))),
            ("12am", Some((0, 0))),
            ("12pm", Some((12, 0))),
            ("7p.m.", Some((19, 0))),
            ("noon", Some((12, 0))),
            ("midnight", Some((0, 0))),
            ("23:59", Some((23, 59))),
            ("24:00", None),
            ("8:5", None),
            ("8:60", None),
            ("13pm", None),
            ("0am", None),
            ("8h", None),
            ("+8", None),
            ("", None),
        ];
        for (word, expected) in table {
            let found = clock_time(word).map(|time| (time.hour(), time.minute()));
            assert_eq!(found, expected, "{word}");
        }
    }
}
