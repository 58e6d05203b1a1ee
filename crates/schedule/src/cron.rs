//! A parsed cron expression, and the search for clock times that match it by jumping from field to field.
//!
//! It knows no time zone: `crates/schedule/src/due.rs` decides which moment a clock time is.

mod day;
mod field;

pub use day::{DayFields, DaysOfMonth, DaysOfWeek};
pub use field::numbers;
use field::{HOUR, MINUTE, MONTH, SECOND, bit, greatest, least};
use jiff::{
    ToSpan,
    civil::{Date, DateTime, Time},
};

use crate::error::ScheduleError;

/// A date that exists comes back within 40 years: 29 February on a given day of the week, over a century's end.
const YEARS_SEARCHED: i16 = 50;

/// Five fields, or six with seconds first, or one of `@hourly @daily @weekly @monthly @yearly`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronExpression {
    seconds: u64,
    minutes: u64,
    hours: u64,
    days: DayFields,
    months: u64,
    by_elapsed_time: bool,
}

impl CronExpression {
    pub fn parse(expression: &str) -> Result<Self, ScheduleError> {
        let written = nickname(expression.trim())?.replace('?', "*");
        let fields: Vec<&str> = written.split_whitespace().collect();
        let (second, [minute, hour, day, month, weekday]) = match *fields.as_slice() {
            [minute, hour, day, month, weekday] => ("0", [minute, hour, day, month, weekday]),
            [second, minute, hour, day, month, weekday] => {
                (second, [minute, hour, day, month, weekday])
            }
            _ => return Err(wrong_number_of_fields(fields.len())),
        };
        Ok(Self {
            seconds: set(&SECOND, second)?,
            minutes: set(&MINUTE, minute)?,
            hours: set(&HOUR, hour)?,
            days: DayFields::parse(day, weekday)?,
            months: set(&MONTH, month)?,
            by_elapsed_time: minute.starts_with('*') || hour.starts_with('*'),
        })
    }

    /// Whether it is about every so many minutes or hours, rather than about given times of day: its minute or hour
    /// begins with `*`.
    pub fn is_by_elapsed_time(&self) -> bool {
        self.by_elapsed_time
    }

    pub fn seconds(&self) -> u64 {
        self.seconds
    }

    pub fn minutes(&self) -> u64 {
        self.minutes
    }

    pub fn hours(&self) -> u64 {
        self.hours
    }

    pub fn months(&self) -> u64 {
        self.months
    }

    /// The two day fields.
    pub fn days(&self) -> &DayFields {
        &self.days
    }

    /// The first clock time that matches and is not before `from`; none if there is none for decades.
    pub fn first_from(&self, from: DateTime) -> Option<DateTime> {
        if let Some(time) = self.time_from(from.time())
            && self.matches(from.date())
        {
            return Some(from.date().to_datetime(time));
        }
        let start = from.date().tomorrow().ok()?;
        let end = start.year().saturating_add(YEARS_SEARCHED);
        let mut date = start;
        while date.year() <= end {
            if self.months & month_bit(date) == 0 {
                date = date.last_of_month().tomorrow().ok()?;
            } else if self.days.matches(date) {
                return Some(date.to_datetime(self.time_from(Time::midnight())?));
            } else {
                date = date.tomorrow().ok()?;
            }
        }
        None
    }

    /// The last clock time that matches and is not after `to`; none if there is none for decades.
    pub fn last_to(&self, to: DateTime) -> Option<DateTime> {
        if let Some(time) = self.time_to(to.time())
            && self.matches(to.date())
        {
            return Some(to.date().to_datetime(time));
        }
        let start = to.date().yesterday().ok()?;
        let end = start.year().saturating_sub(YEARS_SEARCHED);
        let mut date = start;
        while date.year() >= end {
            if self.months & month_bit(date) == 0 {
                date = date.first_of_month().checked_sub(1.day()).ok()?;
            } else if self.days.matches(date) {
                return Some(date.to_datetime(self.time_to(Time::constant(23, 59, 59, 0))?));
            } else {
                date = date.yesterday().ok()?;
            }
        }
        None
    }

    fn matches(&self, date: Date) -> bool {
        self.months & month_bit(date) != 0 && self.days.matches(date)
    }

    fn time_from(&self, from: Time) -> Option<Time> {
        let [hour, minute, second] = parts(from);
        if self.hours & bit(hour) != 0 {
            if self.minutes & bit(minute) != 0
                && let Some(second) = least(self.seconds, second)
            {
                return time(hour, minute, second);
            }
            if let Some(minute) = least(self.minutes, minute + 1) {
                return time(hour, minute, least(self.seconds, 0)?);
            }
        }
        let hour = least(self.hours, hour + 1)?;
        time(hour, least(self.minutes, 0)?, least(self.seconds, 0)?)
    }

    fn time_to(&self, to: Time) -> Option<Time> {
        let [hour, minute, second] = parts(to);
        let before = |set: u64, number: u8| greatest(set, number.checked_sub(1)?);
        if self.hours & bit(hour) != 0 {
            if self.minutes & bit(minute) != 0
                && let Some(second) = greatest(self.seconds, second)
            {
                return time(hour, minute, second);
            }
            if let Some(minute) = before(self.minutes, minute) {
                return time(hour, minute, greatest(self.seconds, 59)?);
            }
        }
        let hour = before(self.hours, hour)?;
        time(
            hour,
            greatest(self.minutes, 59)?,
            greatest(self.seconds, 59)?,
        )
    }
}

fn nickname(expression: &str) -> Result<&str, ScheduleError> {
    Ok(match expression.to_ascii_lowercase().as_str() {
        "@hourly" => "0 * * * *",
        "@daily" | "@midnight" => "0 0 * * *",
        "@weekly" => "0 0 * * 0",
        "@monthly" => "0 0 1 * *",
        "@yearly" | "@annually" => "0 0 1 1 *",
        other if other.starts_with('@') => {
            return Err(ScheduleError::Cron {
                field: "nickname",
                problem: format!(
                    "`{expression}` is not one of @hourly, @daily, @weekly, @monthly, @yearly"
                ),
            });
        }
        _ => expression,
    })
}

fn wrong_number_of_fields(found: usize) -> ScheduleError {
    ScheduleError::Cron {
        field: "fields",
        problem: format!(
            "there are {found}, not 5 (minute, hour, day of month, month, day of week) or 6 (second first)"
        ),
    }
}

fn set(kind: &field::FieldKind, text: &str) -> Result<u64, ScheduleError> {
    let mut set = 0;
    for term in text.split(',') {
        set |= if term == "*" {
            kind.all()
        } else {
            kind.term(term)?
        };
    }
    Ok(set)
}

fn month_bit(date: Date) -> u64 {
    bit(u8::try_from(date.month()).unwrap_or(0))
}

fn parts(time: Time) -> [u8; 3] {
    [time.hour(), time.minute(), time.second()].map(|part| u8::try_from(part).unwrap_or(0))
}

fn time(hour: u8, minute: u8, second: u8) -> Option<Time> {
    let part = |number: u8| i8::try_from(number).ok();
    Time::new(part(hour)?, part(minute)?, part(second)?, 0).ok()
}
