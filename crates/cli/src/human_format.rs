//! Formats times, sizes and paths for people, and reads durations that they typed.

use std::{path::Path, time::Duration};

use rooftree_protocol::Timestamp;
use unicode_width::UnicodeWidthStr;

use crate::terminal::line::prefix;

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

/// How long, as it was typed: `90s`, `10m`, `1h 30m`.
pub fn some_duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|_| "write a number and its unit, for example 90s, 10m or 2h".into())
}

/// A moment to the second, in UTC, for pages that are read later.
pub fn moment(at: Timestamp) -> String {
    let text = at.to_string().replacen('T', " ", 1);
    match text.split_once('.') {
        Some((seconds, _)) => format!("{seconds} UTC"),
        None => text,
    }
}

/// How much space something takes: `12.4 MB`.
pub fn size(bytes: u64) -> String {
    let steps = [
        ("TB", 1_000_000_000_000),
        ("GB", 1_000_000_000),
        ("MB", 1_000_000),
        ("kB", 1_000),
    ];
    let step = steps.into_iter().find(|(_, step)| bytes >= *step);
    step.map_or_else(
        || format!("{bytes} B"),
        |(unit, step)| format!("{}.{} {unit}", bytes / step, bytes % step * 10 / step),
    )
}

/// A path with the home directory as `~`.
pub fn place(path: &Path) -> String {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) if below.as_os_str().is_empty() => "~".into(),
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}

/// Text cut to so many terminal columns, with a sign that it was cut.
pub fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let kept = prefix(text, columns.saturating_sub(1)).trim_end();
    if columns > 0 {
        format!("{kept}…")
    } else {
        String::new()
    }
}

/// Text in lines that fit: broken between words, each line indented like the one it comes from. Lines that
/// fit, and all lines if the width is unknown, stay as they are.
pub fn wrapped(text: &str, columns: Option<usize>) -> String {
    let mut wrapped = String::new();
    for line in text.lines() {
        match columns.filter(|columns| line.width() > *columns) {
            Some(columns) => wrap_line(line, columns, &mut wrapped),
            None => wrapped += line,
        }
        wrapped.push('\n');
    }
    wrapped
}

fn wrap_line(line: &str, columns: usize, wrapped: &mut String) {
    let words = line.trim_start();
    let indent = line.get(..line.len() - words.len()).unwrap_or_default();
    let mut used = 0;
    for word in words.split_inclusive(' ') {
        if used > 0 && used + word.trim_end().width() > columns {
            wrapped.truncate(wrapped.trim_end_matches(' ').len());
            wrapped.push('\n');
            used = 0;
        }
        if used == 0 {
            wrapped.push_str(indent);
            used = indent.width();
        }
        wrapped.push_str(word);
        used += word.width();
    }
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
        assert_eq!(
            ago(now, Timestamp(now.0 + 60_000)),
            "just now",
            "another machine's clock may be ahead"
        );
        assert_eq!(moment(now), "2026-11-15 18:42:07 UTC");
    }

    #[test]
    fn sizes_have_few_digits() {
        let sizes = [
            (12, "12 B"),
            (12_430_000, "12.4 MB"),
            (79_000_000_000, "79.0 GB"),
        ];
        for (bytes, words) in sizes {
            assert_eq!(size(bytes), words);
        }
    }

    #[test]
    fn long_lines_break_between_words_and_keep_their_indent() {
        let text = "  one two three\nshort\n\n日本語 日本語 x";
        assert_eq!(
            wrapped(text, Some(9)),
            "  one two\n  three\nshort\n\n日本語\n日本語 x\n"
        );
        assert_eq!(wrapped(text, None), format!("{text}\n"));
        assert_eq!(wrapped("unbreakable word", Some(4)), "unbreakable\nword\n");
    }

    #[test]
    fn cut_text_counts_columns_not_bytes() {
        let table = [
            ("plain", 5, "plain"),
            ("plainer", 5, "plai…"),
            ("日本語です", 6, "日本…"),
            ("ab", 0, ""),
        ];
        for (text, columns, wanted) in table {
            assert_eq!(cut(text, columns), wanted, "{text}");
        }
    }
}
