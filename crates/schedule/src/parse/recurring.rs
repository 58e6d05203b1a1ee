//! Parses the day part of a repeated schedule: `every day`, `weekdays`, `mondays and thursdays`, `every month on the 1st`.

use jiff::civil::Weekday;

use super::{
    date,
    tokens::{Tokens, month, weekday},
};
use crate::error::ScheduleError;

/// The day fields of a cron expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepeatedDays {
    pub of_month: String,
    pub month: String,
    pub of_week: String,
}

impl RepeatedDays {
    fn every_day() -> Self {
        Self {
            of_month: "*".to_owned(),
            month: "*".to_owned(),
            of_week: "*".to_owned(),
        }
    }

    fn of_week(days: &str) -> Self {
        Self {
            of_week: days.to_owned(),
            ..Self::every_day()
        }
    }
}

/// The repeated days, if the next words name some; otherwise nothing is taken.
pub fn repeated_days(tokens: &mut Tokens) -> Result<Option<RepeatedDays>, ScheduleError> {
    let is_every = tokens.take(&["every", "each"]);
    let period = |tokens: &mut Tokens, single: &str, adverb: &str| {
        tokens.take(&[adverb]) || (is_every && tokens.take(&[single]))
    };
    if period(tokens, "day", "daily") {
        return Ok(Some(RepeatedDays::every_day()));
    }
    if period(tokens, "month", "monthly") {
        return days_of_month(tokens).map(Some);
    }
    if period(tokens, "year", "yearly") {
        return day_of_year(tokens).map(Some);
    }
    let is_weekly = period(tokens, "week", "weekly");
    if is_weekly {
        begin_day(tokens, "the day of the week", "`weekly on monday at 9`")?;
    }
    if tokens.take(&["weekdays"]) || (is_every && tokens.take(&["weekday"])) {
        return Ok(Some(RepeatedDays::of_week("1-5")));
    }
    if tokens.take(&["weekends"]) || (is_every && tokens.take(&["weekend"])) {
        return Ok(Some(RepeatedDays::of_week("0,6")));
    }
    if let Some(days) = days_of_week(tokens, is_every || is_weekly)? {
        return Ok(Some(RepeatedDays::of_week(&days)));
    }
    if is_weekly {
        return Err(tokens.unexpected("the day of the week", "`weekly on monday at 9`"));
    }
    if is_every {
        return Err(tokens.unexpected("what repeats", "`every 2h` or `every day at 8`"));
    }
    Ok(None)
}

/// Days of the week. Without `every`, only the plural means each of them.
fn days_of_week(tokens: &mut Tokens, is_every: bool) -> Result<Option<String>, ScheduleError> {
    let mut days: Vec<Weekday> = Vec::new();
    loop {
        let before = tokens.position();
        if !days.is_empty() {
            tokens.take(&["and"]);
            tokens.take(&["on"]);
        }
        let word = tokens.peek().unwrap_or_default().to_owned();
        match weekday(&word) {
            Some((day, is_plural)) if is_every || is_plural => {
                tokens.advance();
                days.push(day);
            }
            Some(_) if !days.is_empty() => {
                let fix = format!("`{word}s`, or `every` before the days");
                return Err(ScheduleError::Ambiguous { text: word, fix });
            }
            _ => {
                tokens.go_back_to(before);
                break;
            }
        }
    }
    days.sort_by_key(|day| day.to_monday_zero_offset());
    days.dedup();
    let numbers = days
        .iter()
        .map(|day| day.to_sunday_zero_offset().to_string());
    let numbers: Vec<String> = numbers.collect();
    Ok((!numbers.is_empty()).then(|| numbers.join(",")))
}

/// `on the 1st and 15th`, `on the last day`, `on the first monday`.
fn days_of_month(tokens: &mut Tokens) -> Result<RepeatedDays, ScheduleError> {
    let fix = "`every month on the 1st at 9`";
    begin_day(tokens, "the day of the month", fix)?;
    if let Some(ordinal) = tokens.take_as(ordinal) {
        return ordinal_day(tokens, ordinal);
    }
    let mut days: Vec<String> = Vec::new();
    loop {
        let before = tokens.position();
        if !days.is_empty() {
            tokens.take(&["and"]);
            tokens.take(&["the"]);
        }
        match tokens.take_as(date::day) {
            Some(day) => days.push(day.to_string()),
            None => {
                tokens.go_back_to(before);
                break;
            }
        }
    }
    if days.is_empty() {
        return Err(tokens.unexpected("the day of the month", fix));
    }
    Ok(RepeatedDays {
        of_month: days.join(","),
        ..RepeatedDays::every_day()
    })
}

fn ordinal_day(tokens: &mut Tokens, ordinal: &str) -> Result<RepeatedDays, ScheduleError> {
    if tokens.take(&["day"]) {
        let of_month = if ordinal == "L" { "L" } else { ordinal };
        return Ok(RepeatedDays {
            of_month: of_month.to_owned(),
            ..RepeatedDays::every_day()
        });
    }
    match tokens.take_as(weekday) {
        Some((day, _)) => {
            let number = day.to_sunday_zero_offset();
            Ok(RepeatedDays::of_week(&format!("{number}#{ordinal}")))
        }
        None => Err(tokens.unexpected("the day", "`every month on the last friday at 9`")),
    }
}

fn ordinal(word: &str) -> Option<&'static str> {
    Some(match word {
        "first" => "1",
        "second" => "2",
        "third" => "3",
        "fourth" => "4",
        "last" => "L",
        _ => return None,
    })
}

fn day_of_year(tokens: &mut Tokens) -> Result<RepeatedDays, ScheduleError> {
    let (missing, fix) = ("the day and month", "`every year on 24 dec at 18:00`");
    begin_day(tokens, missing, fix)?;
    match date::date(tokens)? {
        Some(date) if date.year.is_none() => Ok(RepeatedDays {
            of_month: date.day.to_string(),
            month: date.month.to_string(),
            ..RepeatedDays::every_day()
        }),
        _ => Err(tokens.unexpected(missing, fix)),
    }
}

/// Goes to the day that must follow, and refuses a time of day in its place.
fn begin_day(tokens: &mut Tokens, missing: &str, fix: &str) -> Result<(), ScheduleError> {
    if tokens.peek() == Some("at") {
        return Err(ScheduleError::Incomplete {
            missing: missing.to_owned(),
            fix: fix.to_owned(),
        });
    }
    tokens.skip_filler();
    Ok(())
}

/// Whether a word is a month, so that a day before it is a date and not an hour.
pub fn is_month(word: Option<&str>) -> bool {
    word.is_some_and(|word| month(word).is_some())
}
