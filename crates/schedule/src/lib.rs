//! Computes when a schedule is due: written forms, cron expressions with a time zone, the next times, and both in words.
//!
//! It is pure: nothing here reads a clock or waits. The only thing read from outside is the system's time zone
//! database. The cron search is our own, because what happens on the day of a clock change is a promise to users
//! (`crates/schedule/src/due.rs`); the step `cron` of the suite compares it with two other implementations.

mod active_hours;
mod cron;
mod describe;
mod due;
mod error;
mod parse;
mod spec;
mod stagger;
mod zone;

pub use active_hours::{ActiveHours, ClockTime};
pub use describe::{describe, next_in_words};
pub use error::ScheduleError;
pub use parse::{ParseContext, parse};
pub use spec::{MINIMUM_SECONDS, ScheduleSpec, next_after, next_times, previous_or_at, validate};
pub use stagger::stagger;
