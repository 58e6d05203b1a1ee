//! The two day fields of a cron expression: which dates they match.

use jiff::civil::{Date, Weekday};

use super::field::{DAY_OF_MONTH, DAY_OF_WEEK, bit};
use crate::error::ScheduleError;

/// Which dates an expression means within its months.
///
/// Invariant: as in Vixie cron, a date matches if either field does, unless one of them begins with `*`; then, and
/// with `+` before the day of week, both must.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayFields {
    pub of_month: DaysOfMonth,
    pub of_week: DaysOfWeek,
    pub both: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DaysOfMonth {
    pub numbers: u64,
    /// `L`: the last day.
    pub last: bool,
    /// `LW`: the last one from Monday to Friday.
    pub last_working: bool,
    /// `15W`: the one from Monday to Friday nearest to the 15th, within the month.
    pub nearest_working: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DaysOfWeek {
    /// Sunday is 0.
    pub numbers: u64,
    /// `5L` or `5#L`: the last Friday.
    pub last: u64,
    /// `5#2`: the second Friday; for each ordinal from 1 to 5 the days of the week.
    pub ordinal: [u64; 5],
}

impl DayFields {
    pub fn parse(of_month: &str, of_week: &str) -> Result<Self, ScheduleError> {
        let both_asked = of_week.starts_with('+');
        let of_week = of_week.strip_prefix('+').unwrap_or(of_week);
        Ok(Self {
            of_month: DaysOfMonth::parse(of_month)?,
            of_week: DaysOfWeek::parse(of_week)?,
            both: both_asked || of_month.starts_with('*') || of_week.starts_with('*'),
        })
    }

    pub fn matches(&self, date: Date) -> bool {
        if self.both {
            self.of_month.matches(date) && self.of_week.matches(date)
        } else {
            self.of_month.matches(date) || self.of_week.matches(date)
        }
    }
}

impl DaysOfMonth {
    fn parse(field: &str) -> Result<Self, ScheduleError> {
        let mut days = Self::default();
        for term in field.split(',') {
            let upper = term.to_ascii_uppercase();
            match upper.as_str() {
                "L" => days.last = true,
                "LW" | "WL" => days.last_working = true,
                other => match other.strip_suffix('W') {
                    Some(day) => days.nearest_working |= bit(DAY_OF_MONTH.value(day, term)?),
                    None => days.numbers |= DAY_OF_MONTH.term(term)?,
                },
            }
        }
        Ok(days)
    }

    fn matches(&self, date: Date) -> bool {
        let day = number(date.day());
        self.numbers & bit(day) != 0
            || (self.last && date.day() == date.days_in_month())
            || (self.last_working && is_last_working(date))
            || (self.nearest_working != 0 && self.is_nearest_working(date))
    }

    fn is_nearest_working(&self, date: Date) -> bool {
        let wanted = |day: i8| self.nearest_working & bit(number(day)) != 0;
        let (day, last) = (date.day(), date.days_in_month());
        match date.weekday() {
            Weekday::Saturday | Weekday::Sunday => false,
            // The Saturday after, the Sunday before, and at the month's ends the whole weekend.
            Weekday::Friday => {
                wanted(day)
                    || (day < last && wanted(day + 1))
                    || (day + 2 == last && wanted(day + 2))
            }
            Weekday::Monday => {
                wanted(day) || (day > 1 && wanted(day - 1)) || (day == 3 && wanted(1))
            }
            _ => wanted(day),
        }
    }
}

fn is_last_working(date: Date) -> bool {
    let rest = date.days_in_month() - date.day();
    match date.weekday() {
        Weekday::Saturday | Weekday::Sunday => false,
        Weekday::Friday => rest <= 2,
        _ => rest == 0,
    }
}

impl DaysOfWeek {
    fn parse(field: &str) -> Result<Self, ScheduleError> {
        let mut days = Self::default();
        for term in field.split(',') {
            days.add(term)?;
        }
        Ok(days)
    }

    fn add(&mut self, term: &str) -> Result<(), ScheduleError> {
        if let Some((day, ordinal)) = term.split_once('#') {
            let day = bit(DAY_OF_WEEK.value(day, term)? % 7);
            if ordinal.eq_ignore_ascii_case("L") {
                self.last |= day;
                return Ok(());
            }
            let index = ordinal.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
            let Some(days) = index.and_then(|index| self.ordinal.get_mut(index)) else {
                let problem = format!("in `{term}`, `#` is not followed by 1 to 5 or L");
                return Err(DAY_OF_WEEK.error(problem));
            };
            *days |= day;
            return Ok(());
        }
        if let Some(day) = term.strip_suffix(['L', 'l']) {
            self.last |= bit(DAY_OF_WEEK.value(day, term)? % 7);
            return Ok(());
        }
        let days = DAY_OF_WEEK.term(term)?;
        let sunday = u64::from(days & bit(7) != 0);
        self.numbers |= (days & !bit(7)) | sunday;
        Ok(())
    }

    fn matches(&self, date: Date) -> bool {
        let day = bit(number(date.weekday().to_sunday_zero_offset()));
        let ordinal = usize::from(number((date.day() - 1) / 7));
        self.numbers & day != 0
            || (self.last & day != 0 && date.day() + 7 > date.days_in_month())
            || self
                .ordinal
                .get(ordinal)
                .is_some_and(|days| days & day != 0)
    }
}

fn number(day: i8) -> u8 {
    u8::try_from(day).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The days of November 2026, which begins with a Sunday, or of January 2028, which begins with a Saturday.
    fn days(year: i16, month: i8, of_month: &str, of_week: &str) -> Vec<i8> {
        let fields = DayFields::parse(of_month, of_week).unwrap();
        let first = Date::new(year, month, 1).unwrap();
        let all = (1..=first.days_in_month()).map(|day| Date::new(year, month, day).unwrap());
        all.filter(|date| fields.matches(*date))
            .map(Date::day)
            .collect()
    }

    #[test]
    fn either_field_suffices_unless_one_begins_with_a_star_or_a_plus_asks_for_both() {
        assert_eq!(days(2026, 11, "13", "FRI"), [6, 13, 20, 27]);
        assert_eq!(days(2026, 11, "1,14", "FRI"), [1, 6, 13, 14, 20, 27]);
        assert_eq!(days(2026, 11, "13", "+FRI"), [13]);
        assert_eq!(days(2026, 11, "14", "+FRI"), [0_i8; 0]);
        assert_eq!(days(2026, 11, "*/2", "FRI"), [13, 27]);
        assert_eq!(days(2026, 11, "13-20", "*/5"), [13, 15, 20]);
        assert_eq!(days(2026, 11, "*", "FRI").len(), 4);
    }

    #[test]
    fn last_and_nearest_days_stay_within_the_month() {
        assert_eq!(days(2026, 11, "L", "*"), [30]);
        assert_eq!(days(2028, 2, "L", "*"), [29]);
        assert_eq!(days(2028, 1, "LW", "*"), [31]);
        assert_eq!(days(2026, 10, "LW", "*"), [30]);
        assert_eq!(days(2026, 5, "LW", "*"), [29]);
        assert_eq!(days(2026, 11, "14W", "*"), [13]);
        assert_eq!(days(2026, 11, "15W", "*"), [16]);
        assert_eq!(days(2026, 11, "1W", "*"), [2]);
        assert_eq!(days(2028, 1, "1W", "*"), [3]);
        assert_eq!(days(2026, 10, "31W", "*"), [30]);
        assert_eq!(days(2026, 5, "31W", "*"), [29]);
        assert_eq!(days(2026, 11, "31W", "*"), [0_i8; 0]);
    }

    #[test]
    fn ordinals_of_weekdays() {
        assert_eq!(days(2026, 11, "*", "MON#1"), [2]);
        assert_eq!(days(2026, 11, "*", "1#5"), [30]);
        assert_eq!(days(2026, 11, "*", "FRI#5"), [0_i8; 0]);
        assert_eq!(days(2026, 11, "*", "5L"), [27]);
        assert_eq!(days(2026, 11, "*", "FRI#L"), [27]);
        assert_eq!(days(2026, 11, "*", "7"), days(2026, 11, "*", "0"));
        assert_eq!(days(2026, 11, "*", "SAT-SUN"), days(2026, 11, "*", "0,6"));
    }

    #[test]
    fn wrong_ordinals_are_refused() {
        for field in ["MON#6", "MON#", "#2", "L", "MON#0", "8L"] {
            assert!(DayFields::parse("*", field).is_err(), "{field}");
        }
        for field in ["W", "32W", "LL", "1-5W", "0"] {
            assert!(DayFields::parse(field, "*").is_err(), "{field}");
        }
    }
}
