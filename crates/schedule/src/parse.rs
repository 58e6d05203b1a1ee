//! Parses the short written forms of a schedule: `20m`, `every 2h`, `weekdays at 9`, `tomorrow 8:00`, cron, RFC 3339.

mod clock;
mod date;
mod duration;
mod phrase;
mod recurring;
mod tokens;

use jiff::Timestamp;
use tokens::Tokens;

use crate::{
    error::ScheduleError,
    spec::{ScheduleSpec, validate},
    zone,
};

pub use clock::clock_time;

/// No schedule that a person writes is longer.
const MAXIMUM_LENGTH: usize = 200;

/// What a written form is relative to.
#[derive(Clone, Copy, Debug)]
pub struct ParseContext<'a> {
    pub now_ms: i64,
    /// The zone that is meant if none is written.
    pub zone: &'a str,
}

/// The schedule that a text means. What it returns has been validated and lies in the future.
pub fn parse(text: &str, context: &ParseContext) -> Result<ScheduleSpec, ScheduleError> {
    if text.len() > MAXIMUM_LENGTH {
        return Err(ScheduleError::Range {
            what: format!("a schedule of more than {MAXIMUM_LENGTH} letters"),
        });
    }
    let (body, zone_name) = split_zone(text.trim(), context.zone)?;
    let now = Timestamp::from_millisecond(context.now_ms).map_err(|_| ScheduleError::Range {
        what: "the present time".to_owned(),
    })?;
    let spec = if is_cron(&body) {
        ScheduleSpec::Cron {
            expression: body,
            zone: zone_name,
        }
    } else if let Some(at) = rfc3339(&body) {
        future(at, now)?
    } else {
        let here = phrase::Here {
            now,
            zone: zone::find(&zone_name)?,
            zone_name,
        };
        phrase::parse(&mut Tokens::new(&body), &here)?
    };
    validate(&spec)?;
    Ok(spec)
}

/// Takes a zone off the end.
fn split_zone(text: &str, default: &str) -> Result<(String, String), ScheduleError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let Some((last, body)) = words.split_last() else {
        return Err(ScheduleError::Empty);
    };
    if body.is_empty() || !is_zone(last) {
        return Ok((words.join(" "), zone::spelled(default)?));
    }
    let body = match body.split_last() {
        Some((&"in", before)) if !before.is_empty() => before,
        _ => body,
    };
    Ok((body.join(" "), zone::spelled(last)?))
}

/// Whether a last word can only be a time zone: it exists, or it has the form of one, or it is a zone's city.
fn is_zone(word: &str) -> bool {
    if !word.starts_with(|first: char| first.is_ascii_alphabetic()) || tokens::is_known(word) {
        return false;
    }
    let has_form = word
        .split_once('/')
        .is_some_and(|(_, city)| city.starts_with(|first: char| first.is_alphabetic()));
    has_form || zone::find(word).is_ok() || zone::is_city(word)
}

/// Whether all fields look like those of a cron expression.
fn is_cron(body: &str) -> bool {
    let is_number_field = |word: &str| {
        word.bytes()
            .all(|byte| byte.is_ascii_digit() || b"*/,-?".contains(&byte))
    };
    let words: Vec<&str> = body.split_whitespace().collect();
    body.starts_with('@')
        || body.starts_with('*')
        || (matches!(words.len(), 5 | 6) && words.iter().take(2).all(|word| is_number_field(word)))
}

fn rfc3339(body: &str) -> Option<Timestamp> {
    body.starts_with(|first: char| first.is_ascii_digit())
        .then(|| body.parse().ok())
        .flatten()
}

fn future(at: Timestamp, now: Timestamp) -> Result<ScheduleSpec, ScheduleError> {
    if at <= now {
        return Err(ScheduleError::Past {
            time: at.to_string(),
            fix: "a later time".to_owned(),
        });
    }
    Ok(ScheduleSpec::At {
        at: at.as_millisecond(),
    })
}
