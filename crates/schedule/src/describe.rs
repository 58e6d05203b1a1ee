//! Tells a schedule and its next due time in words: `weekdays at 09:00 Europe/Berlin`, `Mon 16 Nov 09:00 (in 14 h)`.

mod days;
mod times;

use jiff::{Timestamp, tz::TimeZone};

use crate::{cron::CronExpression, spec::ScheduleSpec, zone};

/// The schedule in words. What happens once is shown on the clock of `zone_shown`; a cron schedule names its own zone.
pub fn describe(spec: &ScheduleSpec, zone_shown: &str) -> String {
    match spec {
        ScheduleSpec::At { at } => match clock(*at, zone_shown, "%a %-d %b %Y %H:%M") {
            Some(shown) => format!("once on {shown}"),
            None => format!("once at {at} ms"),
        },
        ScheduleSpec::Every { seconds, .. } => format!("every {}", length(*seconds)),
        ScheduleSpec::Cron { expression, zone } => match CronExpression::parse(expression) {
            Ok(cron) => match words(&cron) {
                Some(words) => format!("{words} {zone}"),
                None => format!("cron {expression} {zone}"),
            },
            Err(_) => format!("cron {expression} {zone}"),
        },
    }
}

/// None if the expression is its own best description.
fn words(cron: &CronExpression) -> Option<String> {
    let times = times::times(cron)?;
    let days = days::days(cron.days(), cron.months())?;
    Some(match (times, days.as_str()) {
        (times::Times::OfDay(list), days) => format!("{days} at {list}"),
        (times::Times::Interval(interval), "every day") => interval,
        (times::Times::Interval(interval), days) => format!("{interval}, {days}"),
    })
}

/// A due time and how far away it is, with the year only if it is another one than now.
pub fn next_in_words(due_ms: i64, now_ms: i64, zone: &str) -> String {
    let year = |at| clock(at, zone, "%Y");
    let form = if year(due_ms) == year(now_ms) {
        "%a %-d %b %H:%M"
    } else {
        "%a %-d %b %Y %H:%M"
    };
    let shown = clock(due_ms, zone, form).unwrap_or_else(|| format!("{due_ms} ms"));
    let seconds = due_ms.saturating_sub(now_ms) / 1000;
    let away = match seconds {
        0 => "now".to_owned(),
        1.. => format!("in {}", about(seconds.unsigned_abs())),
        _ => format!("{} ago", about(seconds.unsigned_abs())),
    };
    format!("{shown} ({away})")
}

fn clock(at_ms: i64, zone: &str, form: &str) -> Option<String> {
    let at = Timestamp::from_millisecond(at_ms).ok()?;
    let zone = zone::find(zone).unwrap_or(TimeZone::UTC);
    Some(at.to_zoned(zone).strftime(form).to_string())
}

/// An exact length: `2 h`, `1 h 30 min`.
fn length(seconds: u64) -> String {
    let units = [
        (86_400, u64::MAX, "d"),
        (3600, 24, "h"),
        (60, 60, "min"),
        (1, 60, "s"),
    ];
    let parts: Vec<String> = units
        .iter()
        .map(|(unit, wrap, name)| (seconds / unit % wrap, name))
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    parts.join(" ")
}

/// A length that is read at a glance.
fn about(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        // Minutes matter only in the nearest hours.
        3600..36_000 => length(seconds / 60 * 60),
        36_000..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}
