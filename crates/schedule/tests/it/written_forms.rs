//! Written forms: what each means, what is refused and how, and that no text makes the parser panic.

use proptest::prelude::*;
use rooftree_schedule::{ParseContext, ScheduleError, ScheduleSpec, parse};

use crate::{cron, ms, told};

/// A Wednesday, 14:00 in Berlin.
const NOW: &str = "2026-11-18T13:00:00Z";

fn read(text: &str) -> Result<ScheduleSpec, ScheduleError> {
    read_at(text, NOW)
}

fn read_at(text: &str, now: &str) -> Result<ScheduleSpec, ScheduleError> {
    let context = ParseContext {
        now_ms: ms(now),
        zone: "Europe/Berlin",
    };
    parse(text, &context)
}

#[test]
fn once_means_the_moment_it_says() {
    let table = [
        ("20m", "2026-11-18T13:20:00Z"),
        ("in 20 minutes", "2026-11-18T13:20:00Z"),
        ("In An Hour", "2026-11-18T14:00:00Z"),
        ("1h30m", "2026-11-18T14:30:00Z"),
        ("in 1 hour and 30 minutes", "2026-11-18T14:30:00Z"),
        ("2d", "2026-11-20T13:00:00Z"),
        ("tomorrow 8:00", "2026-11-19T07:00:00Z"),
        ("tomorrow at noon", "2026-11-19T11:00:00Z"),
        ("today at 18:00", "2026-11-18T17:00:00Z"),
        ("at 18:00", "2026-11-18T17:00:00Z"),
        ("at 9", "2026-11-19T08:00:00Z"),
        ("7:30pm", "2026-11-18T18:30:00Z"),
        ("7 pm tomorrow", "2026-11-19T18:00:00Z"),
        ("monday 9:00", "2026-11-23T08:00:00Z"),
        ("wed 13:00", "2026-11-25T12:00:00Z"),
        ("wednesday at 15:00", "2026-11-18T14:00:00Z"),
        ("on friday at 9am", "2026-11-20T08:00:00Z"),
        ("2026-12-24 18:00", "2026-12-24T17:00:00Z"),
        ("2026-12-24 at 6 pm", "2026-12-24T17:00:00Z"),
        ("at 18:00 on 2026-12-24", "2026-12-24T17:00:00Z"),
        ("2026-12-24T18:00:00Z", "2026-12-24T18:00:00Z"),
        ("2026-12-24t18:00:00+05:30", "2026-12-24T12:30:00Z"),
        ("24 dec 18:00", "2026-12-24T17:00:00Z"),
        ("December 24 at 18:00", "2026-12-24T17:00:00Z"),
        ("1 jan 0:00", "2026-12-31T23:00:00Z"),
        ("2 march 9:00", "2027-03-02T08:00:00Z"),
        ("once on Thu 24 Dec 2026 18:00", "2026-12-24T17:00:00Z"),
        ("tomorrow 8:00 UTC", "2026-11-19T08:00:00Z"),
        ("2026-12-24 18:00 america/new_york", "2026-12-24T23:00:00Z"),
        ("at 9 in Asia/Tokyo", "2026-11-19T00:00:00Z"),
    ];
    for (text, expected) in table {
        match read(text) {
            Ok(ScheduleSpec::At { at }) => assert_eq!(told(at), expected, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn intervals_count_from_now() {
    let table = [
        ("every 2h", 7200),
        ("every 15 minutes", 900),
        ("Every 1 hour 30 min", 5400),
        ("every hour", 3600),
        ("every minute", 60),
        ("every 30s", 30),
        ("every 2 days", 172_800),
        ("every 2 h", 7200),
    ];
    for (text, seconds) in table {
        let anchor_ms = Some(ms(NOW));
        assert_eq!(
            read(text),
            Ok(ScheduleSpec::Every { seconds, anchor_ms }),
            "{text}"
        );
    }
}

#[test]
fn repeated_days_become_a_cron_expression_with_a_zone() {
    let table = [
        ("every day at 8", "0 8 * * *"),
        ("daily at 7:30pm", "30 19 * * *"),
        ("daily 7:30", "30 7 * * *"),
        ("at 9 every day", "0 9 * * *"),
        ("every day at 9, 12 and 17", "0 9,12,17 * * *"),
        ("weekdays at 9", "0 9 * * 1-5"),
        ("every weekday at 9:00", "0 9 * * 1-5"),
        ("weekends at 10:00", "0 10 * * 0,6"),
        ("mondays at 9", "0 9 * * 1"),
        ("on sundays at 9", "0 9 * * 0"),
        ("every monday and thursday at 9:15", "15 9 * * 1,4"),
        ("every thu, mon at 9:15", "15 9 * * 1,4"),
        ("mondays, wednesdays and fridays at 6 am", "0 6 * * 1,3,5"),
        ("weekly on friday at 17:00", "0 17 * * 5"),
        ("every month on the 1st at 9", "0 9 1 * *"),
        ("monthly on the 1st and the 15th at 9", "0 9 1,15 * *"),
        ("every month on the last day at 23:30", "30 23 L * *"),
        ("every month on the last friday at 9", "0 9 * * 5#L"),
        ("every month on the first monday at 9", "0 9 * * 1#1"),
        ("every year on 24 dec at 18:00", "0 18 24 12 *"),
        ("0 9 * * 1-5", "0 9 * * 1-5"),
        ("0 30 9 * * MON", "0 30 9 * * MON"),
        ("*/5 * * * *", "*/5 * * * *"),
        ("@daily", "@daily"),
    ];
    for (text, expression) in table {
        assert_eq!(read(text), Ok(cron(expression, "Europe/Berlin")), "{text}");
        let with_zone = format!("{text} asia/tokyo");
        assert_eq!(
            read(&with_zone),
            Ok(cron(expression, "Asia/Tokyo")),
            "{text}"
        );
    }
}

#[test]
fn what_is_not_understood_is_refused_with_the_word_and_what_to_write() {
    let table = [
        ("", "empty"),
        ("  ", "empty"),
        ("sometimes", "`sometimes` is not understood"),
        ("every blue moon", "`blue` is not understood"),
        ("every day at teatime", "`teatime` is not understood"),
        ("every day at 8 sharp", "`sharp` is not understood"),
        ("20m please", "`please` is not understood"),
        ("every day at 25", "`25` is not understood"),
        (
            "every day",
            "the time of day is missing; write the day with a time, as in `every day at 8`",
        ),
        ("tomorrow", "`tomorrow 8:00`"),
        ("in", "`in 20 minutes`"),
        ("at", "`at 18:00`"),
        ("every month at 9", "`every month on the 1st at 9`"),
        ("weekly at 9", "`weekly on monday at 9`"),
        ("every 2 days at 9", "an interval with a time of day"),
        ("every day at 9:00 and 17:30", "one schedule for each"),
        ("tomorrow at 9 and 17", "`every day at 9 and 17`"),
        ("mondays and thursday at 9", "`thursdays`"),
        (
            "24.12.2026 18:00",
            "`24.12.2026` can be read in two ways; write dates as `2026-12-24`",
        ),
        ("12/24 18:00", "can be read in two ways"),
        ("fri 24 dec 2026 18:00", "it is a Thursday"),
        (
            "today at 9",
            "2026-11-18 09:00 Europe/Berlin is past; write `tomorrow 09:00`",
        ),
        ("2026-11-01 18:00", "is past"),
        ("2020-01-01T00:00:00Z", "is past"),
        (
            "2027-03-28 2:30",
            "does not exist in Europe/Berlin, because the clock is put forward; write `2027-03-28 03:30`",
        ),
        (
            "2027-10-31 2:30",
            "`2027-10-31T02:30:00+02` for the first time or `2027-10-31T02:30:00+01` for the second",
        ),
        ("every 10s", "the minimum is 30 s"),
        ("every 0 minutes", "every 0 s is too often"),
        ("in 0 minutes", "out of range"),
        ("daily at 9 Europe/Berln", "did you mean `Europe/Berlin`"),
        ("daily at 9 Berlin", "did you mean `Europe/Berlin`"),
        ("daily at 9 New_York", "did you mean `America/New_York`"),
        (
            "daily at 9 Nowhere/Land",
            "there is no time zone `Nowhere/Land`",
        ),
        ("0 0 30 2 *", "never due"),
        ("0 25 * * *", "hour: `25` is not a number from 0 to 23"),
        ("* * * *", "there are 4"),
        ("31 feb 9:00", "day 31 of month 2"),
    ];
    for (text, expected) in table {
        match read(text) {
            Err(error) => assert!(error.to_string().contains(expected), "{text}: {error}"),
            Ok(spec) => panic!("{text}: {spec:?}"),
        }
    }
    assert!(
        read("sometimes")
            .unwrap_err()
            .to_string()
            .contains("`weekdays at 9`")
    );
    assert!(read(&"every ".repeat(100)).is_err());
}

#[test]
fn a_doubled_time_may_be_written_with_its_offset() {
    let first = read("2027-10-31T02:30:00+02").unwrap();
    let second = read("2027-10-31T02:30:00+01").unwrap();
    assert_eq!(
        first,
        ScheduleSpec::At {
            at: ms("2027-10-31T00:30:00Z")
        }
    );
    assert_eq!(
        second,
        ScheduleSpec::At {
            at: ms("2027-10-31T01:30:00Z")
        }
    );
}

#[test]
fn today_is_the_day_where_the_zone_is() {
    let late = "2026-11-18T23:30:00Z";
    for (text, expected) in [
        ("today at 9", "2026-11-19T08:00:00Z"),
        ("tomorrow at 9 UTC", "2026-11-19T09:00:00Z"),
    ] {
        assert_eq!(
            read_at(text, late),
            Ok(ScheduleSpec::At { at: ms(expected) }),
            "{text}"
        );
    }
}

const WORDS: &[&str] = &[
    "every",
    "each",
    "in",
    "at",
    "on",
    "the",
    "and",
    "day",
    "daily",
    "month",
    "monthly",
    "year",
    "weekly",
    "weekdays",
    "monday",
    "mondays",
    "1st",
    "last",
    "first",
    "today",
    "tomorrow",
    "next",
    "once",
    "20m",
    "1h30m",
    "20",
    "minutes",
    "9",
    "9:15",
    "7pm",
    "pm",
    "noon",
    "2026-12-24",
    "24",
    "dec",
    "2027",
    "UTC",
    "Europe/Berlin",
    "Berlin",
    "*",
    "*/5",
    "0",
    "1-5",
    "@daily",
    "99999999999999999999",
    "ü",
    "12.24",
    ",",
    "-1",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,30}") {
        let _ = read(&text);
    }

    #[test]
    fn no_order_of_known_words_makes_the_parser_panic_and_what_it_reads_is_to_come(
        words in prop::collection::vec(prop::sample::select(WORDS), 0..7),
    ) {
        if let Ok(spec) = read(&words.join(" ")) {
            prop_assert!(rooftree_schedule::next_after(&spec, ms(NOW)).is_some());
        }
    }
}
