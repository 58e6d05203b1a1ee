//! Schedules and due times in words, and that the words mean the same when they are parsed.

use rooftree_schedule::{ParseContext, ScheduleSpec, describe, next_in_words, next_times, parse};

use crate::{cron, ms};

#[test]
fn schedules_are_told_in_words() {
    let table = [
        ("0 9 * * 1-5", "weekdays at 09:00 Europe/Berlin"),
        ("0 9 * * MON-FRI", "weekdays at 09:00 Europe/Berlin"),
        ("30 10 * * 0,6", "weekends at 10:30 Europe/Berlin"),
        ("0 8 * * *", "every day at 08:00 Europe/Berlin"),
        (
            "0 9,12,17 * * *",
            "every day at 09:00, 12:00 and 17:00 Europe/Berlin",
        ),
        (
            "15 9 * * 1,4",
            "Mondays and Thursdays at 09:15 Europe/Berlin",
        ),
        ("15 9 * * 0", "Sundays at 09:15 Europe/Berlin"),
        ("0 9 1 * *", "every month on the 1st at 09:00 Europe/Berlin"),
        (
            "0 9 1,15,22 * *",
            "every month on the 1st, 15th and 22nd at 09:00 Europe/Berlin",
        ),
        (
            "0 9 L * *",
            "every month on the last day at 09:00 Europe/Berlin",
        ),
        (
            "0 9 * * 5#L",
            "every month on the last Friday at 09:00 Europe/Berlin",
        ),
        (
            "0 9 * * 1#2",
            "every month on the second Monday at 09:00 Europe/Berlin",
        ),
        (
            "0 18 24 12 *",
            "every year on 24 Dec at 18:00 Europe/Berlin",
        ),
        (
            "0 9 * 6-8 1-5",
            "weekdays in Jun, Jul and Aug at 09:00 Europe/Berlin",
        ),
        ("* * * * *", "every minute Europe/Berlin"),
        ("*/15 * * * *", "every 15 minutes Europe/Berlin"),
        (
            "*/15 9-17 * * 1-5",
            "every 15 minutes from 09:00 to 17:59, weekdays Europe/Berlin",
        ),
        ("0 * * * *", "every hour Europe/Berlin"),
        ("5 */2 * * *", "every 2 hours at minute 5 Europe/Berlin"),
        ("@monthly", "every month on the 1st at 00:00 Europe/Berlin"),
        ("0 9 13 * FRI", "cron 0 9 13 * FRI Europe/Berlin"),
        ("0 9 15W * *", "cron 0 9 15W * * Europe/Berlin"),
        ("1-7 9 * * *", "cron 1-7 9 * * * Europe/Berlin"),
        ("nonsense", "cron nonsense Europe/Berlin"),
    ];
    for (expression, expected) in table {
        assert_eq!(
            describe(&cron(expression, "Europe/Berlin"), "UTC"),
            expected
        );
    }
    let once = ScheduleSpec::At {
        at: ms("2026-12-24T17:00:00Z"),
    };
    assert_eq!(
        describe(&once, "Europe/Berlin"),
        "once on Thu 24 Dec 2026 18:00"
    );
    for (seconds, expected) in [
        (7200, "every 2 h"),
        (5400, "every 1 h 30 min"),
        (45, "every 45 s"),
        (90_000, "every 1 d 1 h"),
    ] {
        assert_eq!(
            describe(
                &ScheduleSpec::Every {
                    seconds,
                    anchor_ms: None
                },
                "UTC"
            ),
            expected
        );
    }
}

#[test]
fn the_words_mean_the_same_when_they_are_parsed() {
    let now_ms = ms("2026-11-18T13:00:00Z");
    let context = ParseContext {
        now_ms,
        zone: "Europe/Berlin",
    };
    for text in [
        "20m",
        "tomorrow 8:00",
        "2026-12-24 18:00",
        "every 2h",
        "every 90m",
        "every day at 8",
        "weekdays at 9",
        "weekends at 10",
        "mondays and sundays at 9:15",
        "every month on the 1st and 15th at 9",
        "every day at 9 and 17",
        "every month on the last day at 9",
        "every month on the last friday at 9",
        "every year on 24 dec at 18:00",
        "daily at 9 Asia/Tokyo",
    ] {
        let spec = parse(text, &context).unwrap();
        let words = describe(&spec, "Europe/Berlin");
        let again = parse(&words, &context).unwrap_or_else(|error| panic!("{words}: {error}"));
        assert_eq!(
            next_times(&again, now_ms, 30),
            next_times(&spec, now_ms, 30),
            "{text}: {words}"
        );
    }
}

#[test]
fn a_due_time_is_told_with_its_distance() {
    let now = ms("2026-11-15T17:10:00Z");
    let table = [
        ("2026-11-16T08:00:00Z", "Mon 16 Nov 09:00 (in 14 h)"),
        ("2026-11-15T17:10:45Z", "Sun 15 Nov 18:10 (in 45 s)"),
        ("2026-11-15T17:30:59Z", "Sun 15 Nov 18:30 (in 20 min)"),
        ("2026-11-15T18:40:30Z", "Sun 15 Nov 19:40 (in 1 h 30 min)"),
        ("2026-11-15T19:10:00Z", "Sun 15 Nov 20:10 (in 2 h)"),
        ("2026-12-24T17:10:00Z", "Thu 24 Dec 18:10 (in 39 days)"),
        ("2027-01-04T08:00:00Z", "Mon 4 Jan 2027 09:00 (in 49 days)"),
        ("2026-11-15T17:10:00Z", "Sun 15 Nov 18:10 (now)"),
        ("2026-11-15T17:00:00Z", "Sun 15 Nov 18:00 (10 min ago)"),
    ];
    for (due, expected) in table {
        assert_eq!(next_in_words(ms(due), now, "Europe/Berlin"), expected);
    }
}
