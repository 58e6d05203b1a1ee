//! Parses dates: `2026-12-24`, `24 dec`, `dec 24 2026`, and ordinals such as `1st`.

use jiff::civil::Date;

use super::tokens::{Tokens, month};
use crate::error::ScheduleError;

/// A day of a year, which may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenDate {
    pub year: Option<i16>,
    pub month: i8,
    pub day: i8,
}

/// A date, if the next words are one; otherwise nothing is taken.
pub fn date(tokens: &mut Tokens) -> Result<Option<WrittenDate>, ScheduleError> {
    let Some(word) = tokens.peek() else {
        return Ok(None);
    };
    refuse_mixed_order(word)?;
    if let Some(date) = tokens.take_as(iso) {
        return Ok(Some(date));
    }
    let start = tokens.position();
    let Some((day, month)) = day_and_month(tokens) else {
        tokens.go_back_to(start);
        return Ok(None);
    };
    let year = tokens.take_as(year);
    // A leap year stands for the one that is left out.
    if Date::new(year.unwrap_or(2000), month, day).is_err() {
        return Err(ScheduleError::Word {
            word: format!("day {day} of month {month}"),
        });
    }
    Ok(Some(WrittenDate { year, month, day }))
}

fn day_and_month(tokens: &mut Tokens) -> Option<(i8, i8)> {
    if let Some(month) = tokens.take_as(month) {
        return Some((tokens.take_as(day)?, month));
    }
    let day = tokens.take_as(day)?;
    tokens.take(&["of"]);
    Some((day, tokens.take_as(month)?))
}

/// `24` or `24th`.
pub fn day(word: &str) -> Option<i8> {
    let digits = ["st", "nd", "rd", "th"]
        .iter()
        .find_map(|ending| word.strip_suffix(ending))
        .unwrap_or(word);
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let day = is_number.then(|| digits.parse::<i8>().ok()).flatten()?;
    (1..=31).contains(&day).then_some(day)
}

fn year(word: &str) -> Option<i16> {
    let year = word.parse::<i16>().ok()?;
    (1970..=9998).contains(&year).then_some(year)
}

fn iso(word: &str) -> Option<WrittenDate> {
    let has_form = word.len() == 10 && word.bytes().filter(|byte| *byte == b'-').count() == 2;
    let date = has_form.then(|| word.parse::<Date>().ok()).flatten()?;
    Some(WrittenDate {
        year: Some(date.year()),
        month: date.month(),
        day: date.day(),
    })
}

/// `03/04/2026` and `3.4.26` are read differently in different countries.
fn refuse_mixed_order(word: &str) -> Result<(), ScheduleError> {
    let is_mixed = ['/', '.'].iter().any(|sign| {
        let parts: Vec<&str> = word.split(*sign).collect();
        let are_numbers = parts
            .iter()
            .all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
        (2..=4).contains(&parts.len()) && are_numbers
    });
    if !is_mixed {
        return Ok(());
    }
    Err(ScheduleError::Ambiguous {
        text: word.to_owned(),
        fix: "dates as `2026-12-24` and times as `18:00`".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_with_and_without_a_year() {
        let table = [
            ("2026-12-24", Some((Some(2026), 12, 24))),
            ("24 dec", Some((None, 12, 24))),
            ("24th of december 2026", Some((Some(2026), 12, 24))),
            ("feb 29", Some((None, 2, 29))),
            ("9 am", None),
            ("18:00", None),
        ];
        for (text, expected) in table {
            let found = date(&mut Tokens::new(text)).unwrap();
            let expected = expected.map(|(year, month, day)| WrittenDate { year, month, day });
            assert_eq!(found, expected, "{text}");
        }
        for text in ["24.12.2026", "3/4", "31 feb", "feb 29 2027"] {
            assert!(date(&mut Tokens::new(text)).is_err(), "{text}");
        }
    }
}
