//! Words of status lines: how long a run works and how many steps it made. Pure.

use std::time::Duration;

/// How long a run works before a chat gets a status line.
pub(super) const BEGIN: Duration = Duration::from_secs(10);

/// How often a line changes at most, and how often the typing sign is shown.
pub(super) const INTERVAL: Duration = Duration::from_secs(5);

/// How often a line changes at most once a run takes long.
const LONG_INTERVAL: Duration = Duration::from_secs(60);

/// The line of a run at work, which changes only as often as it may.
pub(super) fn status(lasted: Duration, calls: u32) -> String {
    let is_long = lasted >= LONG_INTERVAL * 2;
    let step = if is_long { LONG_INTERVAL } else { INTERVAL };
    let shown = Duration::from_secs(lasted.as_secs() / step.as_secs() * step.as_secs());
    match calls {
        0 => format!("Working… {}", words(shown)),
        _ if is_long => format!("Working… {}", words(shown)),
        1 => format!("Working… {}, 1 step", words(shown)),
        calls => format!("Working… {}, {calls} steps", words(shown)),
    }
}

/// The line of a run that has ended.
pub(super) fn ended(lasted: Duration) -> String {
    format!("Worked {}.", words(lasted))
}

/// A duration in words: `25 s`, `3 min`.
fn words(lasted: Duration) -> String {
    match lasted.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_changes_every_five_seconds_and_later_every_minute() {
        let line = |seconds, calls| status(Duration::from_secs(seconds), calls);
        assert_eq!(line(11, 0), "Working… 10 s");
        assert_eq!(line(14, 1), "Working… 10 s, 1 step");
        assert_eq!(line(119, 3), "Working… 115 s, 3 steps");
        assert_eq!(line(185, 3), line(239, 9));
        assert_eq!(line(185, 3), "Working… 3 min");
    }
}
