//! What a schedule is, whether it is valid, and its due times.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    cron::{CronExpression, numbers},
    due,
    error::ScheduleError,
    zone,
};

/// The least time between two occurrences.
pub const MINIMUM_SECONDS: u64 = 30;

/// The longest interval: ten years.
const MAXIMUM_SECONDS: u64 = 10 * 366 * 86_400;

/// When something is due. All times are milliseconds since 1970 in UTC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ScheduleSpec {
    /// Once.
    At { at: i64 },
    /// At equal distances, whatever the clock does: the first time one interval after `anchor_ms`, which without one
    /// is so long ago that only the distances count. A heartbeat is this too.
    Every {
        seconds: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        anchor_ms: Option<i64>,
    },
    /// At the times of a cron expression on the clocks of a time zone.
    Cron { expression: String, zone: String },
}

/// Refuses what is malformed, too frequent or never due.
pub fn validate(spec: &ScheduleSpec) -> Result<(), ScheduleError> {
    match spec {
        ScheduleSpec::At { at } => Timestamp::from_millisecond(*at)
            .map(|_| ())
            .map_err(|_| out_of_range("the time")),
        ScheduleSpec::Every { seconds, .. } if *seconds < MINIMUM_SECONDS => {
            Err(ScheduleError::TooOften {
                seconds: *seconds,
                minimum: MINIMUM_SECONDS,
            })
        }
        ScheduleSpec::Every { seconds, .. } if *seconds > MAXIMUM_SECONDS => {
            Err(out_of_range("an interval above ten years"))
        }
        ScheduleSpec::Every { .. } => Ok(()),
        ScheduleSpec::Cron { expression, zone } => validate_cron(expression, zone),
    }
}

fn out_of_range(what: &str) -> ScheduleError {
    ScheduleError::Range {
        what: what.to_owned(),
    }
}

fn validate_cron(expression: &str, zone: &str) -> Result<(), ScheduleError> {
    let cron = CronExpression::parse(expression)?;
    let zone = zone::find(zone)?;
    let seconds: Vec<u8> = numbers(cron.seconds()).collect();
    // The distance from the last second of a minute to the first of the next counts too.
    let first_again = seconds.first().map(|first| first + 60);
    let following = seconds.iter().copied().skip(1).chain(first_again);
    let distances = seconds.iter().zip(following).map(|(one, next)| next - one);
    let least = distances.min().map_or(60, u64::from);
    if least < MINIMUM_SECONDS {
        return Err(ScheduleError::TooOften {
            seconds: least,
            minimum: MINIMUM_SECONDS,
        });
    }
    match due::first_after(&cron, &zone, Timestamp::UNIX_EPOCH) {
        Some(_) => Ok(()),
        None => Err(ScheduleError::Never {
            expression: expression.to_owned(),
        }),
    }
}

/// The first due time after `after_ms`; none if there is none, or the specification is not valid.
pub fn next_after(spec: &ScheduleSpec, after_ms: i64) -> Option<i64> {
    next_times(spec, after_ms, 1).first().copied()
}

/// The first `count` due times after `after_ms`.
pub fn next_times(spec: &ScheduleSpec, after_ms: i64, count: usize) -> Vec<i64> {
    match spec {
        ScheduleSpec::At { at } => Some(*at)
            .filter(|at| *at > after_ms && count > 0)
            .into_iter()
            .collect(),
        ScheduleSpec::Every { seconds, anchor_ms } => repeated(after_ms, count, |after| {
            interval_after(*seconds, *anchor_ms, after)
        }),
        ScheduleSpec::Cron { expression, zone } => {
            let (Ok(cron), Ok(zone)) = (CronExpression::parse(expression), zone::find(zone)) else {
                return Vec::new();
            };
            repeated(after_ms, count, |after| {
                let after = Timestamp::from_millisecond(after).ok()?;
                Some(due::first_after(&cron, &zone, after)?.as_millisecond())
            })
        }
    }
}

fn repeated(after_ms: i64, count: usize, next: impl Fn(i64) -> Option<i64>) -> Vec<i64> {
    std::iter::successors(next(after_ms), |due| next(*due))
        .take(count)
        .collect()
}

/// The latest due time that is not after `at_ms`. The work is bounded however long ago it was.
pub fn previous_or_at(spec: &ScheduleSpec, at_ms: i64) -> Option<i64> {
    match spec {
        ScheduleSpec::At { at } => Some(*at).filter(|at| *at <= at_ms),
        ScheduleSpec::Every { seconds, anchor_ms } => {
            let step = milliseconds(*seconds)?;
            let anchor = anchor_ms.unwrap_or(0);
            let count = at_ms.checked_sub(anchor)?.div_euclid(step);
            let due = anchor.checked_add(count.checked_mul(step)?)?;
            (anchor_ms.is_none() || count >= 1).then_some(due)
        }
        ScheduleSpec::Cron { expression, zone } => {
            let cron = CronExpression::parse(expression).ok()?;
            let at = Timestamp::from_millisecond(at_ms).ok()?;
            let due = due::last_until(&cron, &zone::find(zone).ok()?, at)?;
            Some(due.as_millisecond())
        }
    }
}

fn interval_after(seconds: u64, anchor_ms: Option<i64>, after_ms: i64) -> Option<i64> {
    let step = milliseconds(seconds)?;
    let anchor = anchor_ms.unwrap_or(0);
    let count = after_ms
        .checked_sub(anchor)?
        .div_euclid(step)
        .checked_add(1)?;
    let count = if anchor_ms.is_some() {
        count.max(1)
    } else {
        count
    };
    anchor.checked_add(count.checked_mul(step)?)
}

fn milliseconds(seconds: u64) -> Option<i64> {
    let step = i64::try_from(seconds).ok()?.checked_mul(1000)?;
    (step > 0).then_some(step)
}
