//! Parses a whole written schedule: a length of time, or a day part and times of day in either order.

use jiff::{
    SignedDuration, Timestamp, ToSpan,
    civil::{Date, DateTime, Time, Weekday},
    tz::{AmbiguousOffset, TimeZone},
};

use super::{
    clock, date, duration,
    recurring::{self, RepeatedDays},
    tokens::{Tokens, weekday},
};
use crate::{error::ScheduleError, spec::ScheduleSpec};

/// Where and when the text was written.
pub struct Here {
    pub now: Timestamp,
    pub zone: TimeZone,
    pub zone_name: String,
}

/// Which day is meant.
enum DayPart {
    Repeated(RepeatedDays),
    /// A date, and whether a past time on it may mean the same a year later.
    Date(Date, WhenPast),
    /// The next one with a time that is still to come.
    Weekday(Weekday),
    /// None was written.
    Next,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WhenPast {
    Refuse,
    NextYear,
}

pub fn parse(tokens: &mut Tokens, here: &Here) -> Result<ScheduleSpec, ScheduleError> {
    if let Some(spec) = length_of_time(tokens, here)? {
        return Ok(spec);
    }
    tokens.take(&["once"]);
    let early = times(tokens)?;
    let day = day_part(tokens, here)?;
    let times = if early.is_empty() {
        times(tokens)?
    } else {
        early
    };
    if times.is_empty() {
        return Err(missing_time(tokens, &day));
    }
    tokens.end()?;
    match (day, times.as_slice()) {
        (DayPart::Repeated(days), times) => repeated(&days, times, here),
        (day, [time]) => once(&day, *time, here),
        _ => Err(ScheduleError::Ambiguous {
            text: "several times".to_owned(),
            fix: "one time for what happens once, or `every day at 9 and 17`".to_owned(),
        }),
    }
}

/// `20m`, `in 20 minutes`, `every 2h`, `every hour`.
fn length_of_time(tokens: &mut Tokens, here: &Here) -> Result<Option<ScheduleSpec>, ScheduleError> {
    let start = tokens.position();
    let is_repeated = tokens.take(&["every", "each"]);
    let is_relative = !is_repeated && tokens.take(&["in"]);
    let seconds = match duration::duration(tokens)? {
        None if is_repeated => {
            let is_short = |word: &str| duration::unit(word).filter(|unit| *unit <= 3600);
            tokens.take_as(is_short)
        }
        found => found,
    };
    let Some(seconds) = seconds else {
        if is_relative {
            return Err(tokens.unexpected("the length of time", "`in 20 minutes`"));
        }
        tokens.go_back_to(start);
        return Ok(None);
    };
    if is_repeated && tokens.peek() == Some("at") {
        return Err(ScheduleError::Ambiguous {
            text: "an interval with a time of day".to_owned(),
            fix: "`every 48h`, or days with a time such as `every monday and thursday at 9`"
                .to_owned(),
        });
    }
    tokens.end()?;
    if is_repeated {
        let anchor_ms = Some(here.now.as_millisecond());
        return Ok(Some(ScheduleSpec::Every { seconds, anchor_ms }));
    }
    after(here.now, seconds).map(Some)
}

fn after(now: Timestamp, seconds: u64) -> Result<ScheduleSpec, ScheduleError> {
    let length = i64::try_from(seconds).map(SignedDuration::from_secs).ok();
    let at = length.filter(|length| length.is_positive());
    match at.and_then(|length| now.checked_add(length).ok()) {
        Some(at) => Ok(ScheduleSpec::At {
            at: at.as_millisecond(),
        }),
        None => Err(ScheduleError::Range {
            what: "the length of time".to_owned(),
        }),
    }
}

/// Times of day, joined by `and`.
fn times(tokens: &mut Tokens) -> Result<Vec<Time>, ScheduleError> {
    let start = tokens.position();
    let had_at = tokens.take(&["at"]);
    // `24 dec` is a date, and so is `2026-12-24`.
    let is_date = recurring::is_month(tokens.peek_second())
        || tokens
            .peek()
            .is_some_and(|word| word.contains(['-', '/', '.']));
    if is_date && !tokens.peek().is_some_and(|word| word.contains(".m")) {
        tokens.go_back_to(start);
        return Ok(Vec::new());
    }
    let mut times = Vec::new();
    loop {
        let before = tokens.position();
        if !times.is_empty() && !tokens.take(&["and"]) {
            return Ok(times);
        }
        tokens.take(&["at"]);
        match clock::time(tokens)? {
            Some(time) => times.push(time),
            None if times.is_empty() && had_at => {
                return Err(tokens.unexpected("the time of day", "`at 18:00`"));
            }
            None => {
                tokens.go_back_to(if times.is_empty() { start } else { before });
                return Ok(times);
            }
        }
    }
}

fn day_part(tokens: &mut Tokens, here: &Here) -> Result<DayPart, ScheduleError> {
    tokens.take(&["on"]);
    if let Some(days) = recurring::repeated_days(tokens)? {
        return Ok(DayPart::Repeated(days));
    }
    let today = here.zone.to_datetime(here.now).date();
    if tokens.take(&["today"]) {
        return Ok(DayPart::Date(today, WhenPast::Refuse));
    }
    if tokens.take(&["tomorrow"]) {
        return Ok(DayPart::Date(later(today, 1)?, WhenPast::Refuse));
    }
    tokens.take(&["next"]);
    let named = tokens.take_as(weekday);
    if let Some(written) = date::date(tokens)? {
        let year = written.year.unwrap_or(today.year());
        let past = if written.year.is_some() {
            WhenPast::Refuse
        } else {
            WhenPast::NextYear
        };
        let date = Date::new(year, written.month, written.day).map_err(|_| no_such_date(year))?;
        return match named {
            Some((day, _)) if day != date.weekday() => Err(wrong_weekday(date)),
            _ => Ok(DayPart::Date(date, past)),
        };
    }
    Ok(match named {
        Some((day, _)) => DayPart::Weekday(day),
        None => DayPart::Next,
    })
}

fn no_such_date(year: i16) -> ScheduleError {
    ScheduleError::Incomplete {
        missing: format!("29 February in {year}"),
        fix: "the year too, as in `2028-02-29 9:00`".to_owned(),
    }
}

fn wrong_weekday(date: Date) -> ScheduleError {
    ScheduleError::Ambiguous {
        text: date.to_string(),
        fix: format!("the date alone; it is a {}", date.strftime("%A")),
    }
}

fn missing_time(tokens: &Tokens, day: &DayPart) -> ScheduleError {
    let fix = match day {
        DayPart::Repeated(_) => {
            "the day with a time, as in `every day at 8`, or an interval, as in `every 24h`"
        }
        _ => "the day with a time, as in `tomorrow 8:00`",
    };
    tokens.unexpected("the time of day", fix)
}

fn repeated(
    days: &RepeatedDays,
    times: &[Time],
    here: &Here,
) -> Result<ScheduleSpec, ScheduleError> {
    let minute = times.first().map_or(0, |time| time.minute());
    if times.iter().any(|time| time.minute() != minute) {
        return Err(ScheduleError::Ambiguous {
            text: "times with different minutes".to_owned(),
            fix: "one schedule for each of them".to_owned(),
        });
    }
    let mut hours: Vec<i8> = times.iter().map(|time| time.hour()).collect();
    hours.sort_unstable();
    hours.dedup();
    let hours: Vec<String> = hours.iter().map(i8::to_string).collect();
    let (of_month, month, of_week) = (&days.of_month, &days.month, &days.of_week);
    Ok(ScheduleSpec::Cron {
        expression: format!("{minute} {} {of_month} {month} {of_week}", hours.join(",")),
        zone: here.zone_name.clone(),
    })
}

fn once(day: &DayPart, time: Time, here: &Here) -> Result<ScheduleSpec, ScheduleError> {
    let clock_now = here.zone.to_datetime(here.now);
    let today = clock_now.date();
    let is_past = time <= clock_now.time();
    let date = match day {
        DayPart::Date(date, WhenPast::NextYear) if date.to_datetime(time) <= clock_now => date
            .checked_add(1.year())
            .map_err(|_| no_such_date(date.year()))?,
        DayPart::Date(date, _) => *date,
        DayPart::Weekday(day) => {
            let days = i64::from(today.weekday().until(*day));
            later(today, if days == 0 && is_past { 7 } else { days })?
        }
        DayPart::Next | DayPart::Repeated(_) => later(today, i64::from(is_past))?,
    };
    let clock = date.to_datetime(time);
    let at = only_moment(clock, here)?;
    if at <= here.now {
        return Err(ScheduleError::Past {
            time: format!("{} {}", shown(clock), here.zone_name),
            fix: format!("`tomorrow {}` or a later date", time.strftime("%H:%M")),
        });
    }
    Ok(ScheduleSpec::At {
        at: at.as_millisecond(),
    })
}

fn later(date: Date, days: i64) -> Result<Date, ScheduleError> {
    let out_of_range = |_| ScheduleError::Range {
        what: "the date".to_owned(),
    };
    date.checked_add(days.days()).map_err(out_of_range)
}

/// The moment of a clock time that exists once. Something that happens once is not moved silently.
fn only_moment(clock: DateTime, here: &Here) -> Result<Timestamp, ScheduleError> {
    let (time, zone) = (shown(clock), here.zone_name.clone());
    let out_of_range = |_| ScheduleError::Range { what: shown(clock) };
    match here.zone.to_ambiguous_timestamp(clock).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(clock).map_err(out_of_range),
        AmbiguousOffset::Gap { before, .. } => {
            let moved = before.to_timestamp(clock).map_err(out_of_range)?;
            let fix = format!("`{}`", shown(here.zone.to_datetime(moved)));
            Err(ScheduleError::Skipped { time, zone, fix })
        }
        AmbiguousOffset::Fold { before, after } => {
            let written = clock.strftime("%Y-%m-%dT%H:%M:%S");
            let fix = format!(
                "`{written}{before}` for the first time or `{written}{after}` for the second"
            );
            Err(ScheduleError::Doubled { time, zone, fix })
        }
    }
}

/// The form in which a clock time is written for people.
fn shown(clock: DateTime) -> String {
    clock.strftime("%Y-%m-%d %H:%M").to_string()
}
