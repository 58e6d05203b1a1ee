//! The time fields of a cron expression in words.

use crate::cron::{CronExpression, numbers};

/// How many times of day are listed before it is an interval or nothing.
const LISTED: usize = 6;

const EVERY_MINUTE: u64 = (1 << 60) - 1;
const EVERY_HOUR: u64 = (1 << 24) - 1;

pub enum Times {
    /// `09:00 and 17:00`.
    OfDay(String),
    /// `every 15 minutes`.
    Interval(String),
}

/// None if there are no words for it that are shorter than the expression.
pub fn times(cron: &CronExpression) -> Option<Times> {
    if cron.seconds() != 1 {
        return None;
    }
    let (minutes, hours) = (cron.minutes(), cron.hours());
    let list: Vec<u8> = numbers(minutes).collect();
    let hour_list: Vec<u8> = numbers(hours).collect();
    if let [minute] = *list.as_slice() {
        if hours == EVERY_HOUR {
            return Some(Times::Interval(match minute {
                0 => "every hour".to_owned(),
                _ => format!("every hour at minute {minute}"),
            }));
        }
        if cron.is_by_elapsed_time() {
            let step = step_of_whole(&hour_list, 24)?;
            let at = if minute == 0 {
                String::new()
            } else {
                format!(" at minute {minute}")
            };
            return Some(Times::Interval(format!("every {step} hours{at}")));
        }
        let of_day: Vec<String> = hour_list
            .iter()
            .map(|hour| format!("{hour:02}:{minute:02}"))
            .collect();
        return (of_day.len() <= LISTED).then(|| Times::OfDay(joined(&of_day)));
    }
    let interval = match minutes {
        EVERY_MINUTE => "every minute".to_owned(),
        _ => format!("every {} minutes", step_of_whole(&list, 60)?),
    };
    let span = match hours {
        EVERY_HOUR => String::new(),
        _ => span(&hour_list)?,
    };
    Some(Times::Interval(interval + &span))
}

/// The step of numbers that divide a whole evenly from 0.
fn step_of_whole(list: &[u8], whole: u8) -> Option<u8> {
    let step = *list.get(1)?;
    let expected = (0..whole).step_by(usize::from(step));
    (whole.checked_rem(step)? == 0 && expected.eq(list.iter().copied())).then_some(step)
}

fn span(hours: &[u8]) -> Option<String> {
    let (first, last) = (*hours.first()?, *hours.last()?);
    let is_whole = (first..=last).eq(hours.iter().copied());
    is_whole.then(|| format!(" from {first:02}:00 to {last:02}:59"))
}

/// `a`, `a and b`, `a, b and c`.
pub fn joined(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
