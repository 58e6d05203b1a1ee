//! Times, sizes and foreign text in the words people read.

use std::path::Path;

use rooftree_protocol::Timestamp;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How long ago something was: `2 min ago`.
pub fn ago(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.since(then).as_secs();
    match seconds {
        0..5 => "just now".into(),
        5..60 => format!("{seconds} s ago"),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        86_400..172_800 => "yesterday".into(),
        172_800..5_184_000 => format!("{} days ago", seconds / 86_400),
        _ => then.to_string().chars().take(10).collect(),
    }
}

/// A moment to the second, in UTC, for pages that are read later.
pub fn moment(at: Timestamp) -> String {
    let text = at.to_string().replacen('T', " ", 1);
    match text.split_once('.') {
        Some((seconds, _)) => format!("{seconds} UTC"),
        None => text,
    }
}

/// How long something took: `3 ms`, `1.2 s`, `4 min 5 s`.
pub fn lasted(milliseconds: u64) -> String {
    match milliseconds {
        0..1_000 => format!("{milliseconds} ms"),
        1_000..60_000 => format!("{}.{} s", milliseconds / 1_000, milliseconds % 1_000 / 100),
        60_000..3_600_000 => format!("{} min {} s", milliseconds / 60_000, milliseconds % 60_000 / 1_000),
        _ => format!("{} h {} min", milliseconds / 3_600_000, milliseconds % 3_600_000 / 60_000),
    }
}

/// How much space something takes: `12.4 MB`.
pub fn size(bytes: u64) -> String {
    let steps = [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    let step = steps.into_iter().find(|(_, step)| bytes >= *step);
    step.map_or_else(
        || format!("{bytes} B"),
        |(unit, step)| format!("{}.{} {unit}", bytes / step, bytes % step * 10 / step),
    )
}

/// A number of tokens: `812`, `4.1k`.
pub fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        _ => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
    }
}

/// A number and its noun, in the plural where needed.
pub fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// A path with the home directory as `~`.
pub fn place(path: &Path) -> String {
    let home = crate::environment::variable("HOME");
    match home.as_deref().and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) if below.as_os_str().is_empty() => "~".into(),
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}

/// Text that came from a model, a tool or a file, made harmless for a terminal: only line
/// breaks and tabs are left of its control characters.
pub fn harmless(text: &str) -> String {
    text.chars().filter(|letter| !is_control(*letter)).collect()
}

fn is_control(letter: char) -> bool {
    let turns_direction = matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns_direction || (letter.is_control() && !matches!(letter, '\n' | '\t'))
}

/// The same on one line.
pub fn one_line(text: &str) -> String {
    harmless(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text cut to so many terminal columns, with a sign that it was cut.
pub fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for letter in text.chars() {
        used += letter.width().unwrap_or(0);
        if used > columns {
            break;
        }
        kept.push(letter);
    }
    kept.truncate(kept.trim_end().len());
    if columns > 0 {
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_ago_is_said_in_the_unit_that_fits() {
        let now = Timestamp(1_794_768_127_113);
        let table = [
            (0, "just now"),
            (42, "42 s ago"),
            (125, "2 min ago"),
            (7_300, "2 h ago"),
            (100_000, "yesterday"),
            (300_000, "3 days ago"),
            (9_000_000, "2026-08-03"),
        ];
        for (seconds, words) in table {
            assert_eq!(ago(now, Timestamp(now.0 - seconds * 1_000)), words);
        }
        assert_eq!(ago(now, Timestamp(now.0 + 60_000)), "just now", "another machine's clock may be ahead");
        assert_eq!(moment(now), "2026-11-15 18:42:07 UTC");
    }

    #[test]
    fn durations_and_sizes_have_few_digits() {
        let durations = [(3, "3 ms"), (1_249, "1.2 s"), (65_000, "1 min 5 s"), (7_260_000, "2 h 1 min")];
        for (milliseconds, words) in durations {
            assert_eq!(lasted(milliseconds), words);
        }
        let sizes = [(12, "12 B"), (12_430_000, "12.4 MB"), (79_000_000_000, "79.0 GB")];
        for (bytes, words) in sizes {
            assert_eq!(size(bytes), words);
        }
    }

    #[test]
    fn foreign_text_cannot_steer_a_terminal() {
        assert_eq!(harmless("a\u{1b}[2Jb\r\n\tc\u{7}\u{202e}d"), "a[2Jb\n\tcd");
        assert_eq!(one_line(" a\n\u{1b}b  c "), "a b c");
    }

    #[test]
    fn cut_text_counts_columns_not_bytes() {
        let table =
            [("plain", 5, "plain"), ("plainer", 5, "plai…"), ("日本語です", 6, "日本…"), ("ab", 0, "")];
        for (text, columns, wanted) in table {
            assert_eq!(cut(text, columns), wanted, "{text}");
        }
    }
}
