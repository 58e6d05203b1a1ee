//! Schedules through the public functions: due times, written forms and words.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod brute_force;
mod clock_changes;
mod due_times;
mod words;
mod written_forms;

use jiff::Timestamp;
use rooftree_schedule::ScheduleSpec;

fn ms(text: &str) -> i64 {
    text.parse::<Timestamp>().unwrap().as_millisecond()
}

fn told(at_ms: i64) -> String {
    Timestamp::from_millisecond(at_ms).unwrap().to_string()
}

fn cron(expression: &str, zone: &str) -> ScheduleSpec {
    ScheduleSpec::Cron {
        expression: expression.to_owned(),
        zone: zone.to_owned(),
    }
}
