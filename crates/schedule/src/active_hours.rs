//! Active hours: the part of each day in which a heartbeat may act.

use std::{fmt, str::FromStr};

use jiff::{Timestamp, civil::Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{error::ScheduleError, parse::clock_time, zone};

/// From one time of day until before another, over midnight too if the second is the earlier one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActiveHours {
    pub from: ClockTime,
    pub to: ClockTime,
    pub zone: String,
}

/// A time of day such as `08:00`; `24:00` is the end of the day.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct ClockTime {
    minutes: u16,
}

impl ActiveHours {
    /// `08:00-22:00`, `8 to 22` or `9pm-6am`, with a zone after it if `zone` is not meant.
    pub fn parse(text: &str, zone: &str) -> Result<Self, ScheduleError> {
        let (hours, zone) = match text.trim().rsplit_once(' ') {
            Some((hours, name)) if name.contains('/') || name.eq_ignore_ascii_case("utc") => {
                (hours, name)
            }
            _ => (text, zone),
        };
        let plain = hours.to_lowercase().replace(" to ", "-").replace('–', "-");
        let Some((from, to)) = plain.split_once('-') else {
            return Err(ScheduleError::Incomplete {
                missing: "the end of the active hours".to_owned(),
                fix: "`08:00-22:00`".to_owned(),
            });
        };
        let hours = Self {
            from: from.parse()?,
            to: to.parse()?,
            zone: zone::spelled(zone)?,
        };
        hours.validate()?;
        Ok(hours)
    }

    /// Refuses an unknown zone and an empty span.
    pub fn validate(&self) -> Result<(), ScheduleError> {
        zone::find(&self.zone)?;
        if self.from == self.to {
            return Err(ScheduleError::Ambiguous {
                text: format!("{}-{}", self.from, self.to),
                fix: "`00:00-24:00` for the whole day".to_owned(),
            });
        }
        Ok(())
    }

    /// Whether a moment lies within them. An unknown zone contains none.
    pub fn contains(&self, at_ms: i64) -> bool {
        let (Ok(zone), Ok(at)) = (zone::find(&self.zone), Timestamp::from_millisecond(at_ms))
        else {
            return false;
        };
        let now = ClockTime::from(zone.to_datetime(at).time());
        if self.from <= self.to {
            self.from <= now && now < self.to
        } else {
            self.from <= now || now < self.to
        }
    }
}

impl fmt::Display for ActiveHours {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{} {}", self.from, self.to, self.zone)
    }
}

impl fmt::Display for ClockTime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{:02}:{:02}",
            self.minutes / 60,
            self.minutes % 60
        )
    }
}

impl FromStr for ClockTime {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let written = text.trim().to_lowercase().replace(' ', "");
        if matches!(written.as_str(), "24" | "24:00") {
            return Ok(Self { minutes: 24 * 60 });
        }
        clock_time(&written)
            .map(Self::from)
            .ok_or_else(|| ScheduleError::Incomplete {
                missing: format!("a time of day in place of `{}`", text.trim()),
                fix: "`08:00`".to_owned(),
            })
    }
}

impl From<Time> for ClockTime {
    fn from(time: Time) -> Self {
        let part = |number: i8| u16::try_from(number).unwrap_or(0);
        Self {
            minutes: part(time.hour()) * 60 + part(time.minute()),
        }
    }
}

impl TryFrom<String> for ClockTime {
    type Error = ScheduleError;

    fn try_from(text: String) -> Result<Self, ScheduleError> {
        text.parse()
    }
}

impl From<ClockTime> for String {
    fn from(time: ClockTime) -> Self {
        time.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    #[test]
    fn hours_contain_their_start_and_not_their_end_over_midnight_too() {
        let table = [
            ("08:00-22:00", "2026-11-18T07:00:00Z", true),
            ("08:00-22:00", "2026-11-18T06:59:59Z", false),
            ("08:00-22:00", "2026-11-18T21:00:00Z", false),
            ("8 to 22 UTC", "2026-11-18T07:00:00Z", false),
            ("10pm – 6am", "2026-11-18T22:30:00Z", true),
            ("10pm-6am", "2026-11-18T04:59:00Z", true),
            ("10pm-6am", "2026-11-18T05:00:00Z", false),
            ("00:00-24:00", "2026-11-18T22:59:59Z", true),
            // The clock is put back at 01:00 UTC.
            ("02:00-03:00", "2026-10-25T00:30:00Z", true),
            ("02:00-03:00", "2026-10-25T01:30:00Z", true),
        ];
        for (text, moment, expected) in table {
            let hours = ActiveHours::parse(text, "Europe/Berlin").unwrap();
            assert_eq!(hours.contains(at(moment)), expected, "{text} {moment}");
        }
    }

    #[test]
    fn they_are_stored_as_written_and_come_back() {
        let hours = ActiveHours::parse("8-22", "europe/berlin").unwrap();
        let stored = serde_json::to_string(&hours).unwrap();
        assert_eq!(
            stored,
            r#"{"from":"08:00","to":"22:00","zone":"Europe/Berlin"}"#
        );
        assert_eq!(serde_json::from_str::<ActiveHours>(&stored).unwrap(), hours);
        let again = ActiveHours::parse(&hours.to_string(), "UTC").unwrap();
        assert_eq!(again, hours);
    }

    #[test]
    fn wrong_hours_are_refused_with_what_to_write() {
        for (text, expected) in [
            ("8", "`08:00-22:00`"),
            ("8-8", "`00:00-24:00` for the whole day"),
            ("8-25", "in place of `25`"),
            ("8-22 Europe/Berln", "Europe/Berlin"),
        ] {
            let told = ActiveHours::parse(text, "UTC").unwrap_err().to_string();
            assert!(told.contains(expected), "{text}: {told}");
        }
    }
}
