//! Maps clock times of a cron expression to moments, with the rule for the days on which the clock is changed.
//!
//! Expressions with given times of day: a clock time that does not exist is due at the moment the clock is put
//! forward, and one that occurs twice is due the first time. Expressions whose minute or hour begins with `*` go by
//! elapsed time: they are due each time the clock shows a matching time.

use jiff::{
    Timestamp, ToSpan,
    civil::DateTime,
    tz::{AmbiguousOffset, TimeZone},
};

use crate::{cron::CronExpression, zone::civil};

/// The first due time after `after`.
pub fn first_after(cron: &CronExpression, zone: &TimeZone, after: Timestamp) -> Option<Timestamp> {
    if cron.is_by_elapsed_time() {
        return elapsed_after(cron, zone, after);
    }
    let mut clock = civil(zone, after);
    loop {
        clock = cron.first_from(clock.checked_add(1.second()).ok()?)?;
        let due = moment(zone, clock)?;
        // Clock times of the doubled hour were due the first time.
        if due > after {
            return Some(due);
        }
    }
}

/// The last due time that is not after `at`.
pub fn last_until(cron: &CronExpression, zone: &TimeZone, at: Timestamp) -> Option<Timestamp> {
    if cron.is_by_elapsed_time() {
        return elapsed_until(cron, zone, at);
    }
    let mut clock = civil(zone, at);
    if let Some(change) = zone.preceding(at.checked_add(1.nanosecond()).ok()?).next() {
        // In the doubled hour, all clock times of it have been there once already.
        let before = change.timestamp().checked_sub(1.second()).ok()?;
        clock = clock.max(civil(zone, before));
    }
    moment(zone, cron.last_to(clock)?)
}

/// When a clock time is due.
fn moment(zone: &TimeZone, clock: DateTime) -> Option<Timestamp> {
    match zone.to_ambiguous_timestamp(clock).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(clock).ok(),
        AmbiguousOffset::Fold { before, .. } => before.to_timestamp(clock).ok(),
        AmbiguousOffset::Gap { before, .. } => {
            let after_change = before.to_timestamp(clock).ok()?;
            let change = zone
                .preceding(after_change.checked_add(1.nanosecond()).ok()?)
                .next()?;
            Some(change.timestamp())
        }
    }
}

/// Goes through the stretches between changes of the clock; within one, clock and time advance together.
fn elapsed_after(cron: &CronExpression, zone: &TimeZone, after: Timestamp) -> Option<Timestamp> {
    let mut from = whole_seconds(after)?.checked_add(1.second()).ok()?;
    loop {
        let offset = zone.to_offset(from);
        let due = offset
            .to_timestamp(cron.first_from(civil(zone, from))?)
            .ok()?;
        let change = zone.following(from).next().map(|change| change.timestamp());
        match change {
            Some(change) if due >= change => from = change,
            _ => return Some(due),
        }
    }
}

fn elapsed_until(cron: &CronExpression, zone: &TimeZone, at: Timestamp) -> Option<Timestamp> {
    let mut to = whole_seconds(at)?;
    loop {
        let offset = zone.to_offset(to);
        let due = offset.to_timestamp(cron.last_to(civil(zone, to))?).ok()?;
        let change = zone
            .preceding(to.checked_add(1.nanosecond()).ok()?)
            .next()
            .map(|change| change.timestamp());
        match change {
            Some(change) if due < change => to = change.checked_sub(1.second()).ok()?,
            _ => return Some(due),
        }
    }
}

fn whole_seconds(at: Timestamp) -> Option<Timestamp> {
    Timestamp::from_second(at.as_millisecond().div_euclid(1000)).ok()
}
