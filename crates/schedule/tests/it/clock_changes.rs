//! Days on which the clock is changed, in zones with every kind of change.

use rooftree_schedule::{next_times, previous_or_at};

use crate::{cron, ms, told};

/// Zone, expression, start, and the due times after it.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

const ROWS: &[Row] = &[
    // Put forward from 02:00 to 03:00: due when it is put forward, once for all skipped times.
    (
        "Europe/Berlin",
        "30 2 * * *",
        "2026-03-28T12:00:00Z",
        &["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"],
    ),
    (
        "Europe/Berlin",
        "0,30 2,3 * * *",
        "2026-03-28T12:00:00Z",
        &[
            "2026-03-29T01:00:00Z",
            "2026-03-29T01:30:00Z",
            "2026-03-30T00:00:00Z",
        ],
    ),
    // With seconds too.
    (
        "Europe/Berlin",
        "15 30 2 * * *",
        "2026-03-28T12:00:00Z",
        &["2026-03-29T01:00:00Z", "2026-03-30T00:30:15Z"],
    ),
    // Put back from 03:00 to 02:00: due the first time only.
    (
        "Europe/Berlin",
        "30 2 * * *",
        "2026-10-24T12:00:00Z",
        &["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"],
    ),
    (
        "Europe/Berlin",
        "30 2 * * *",
        "2026-10-25T01:10:00Z",
        &["2026-10-26T01:30:00Z"],
    ),
    // Elapsed time: the hour that occurs twice counts twice, the one that does not exist not at all.
    (
        "Europe/Berlin",
        "30 * * * *",
        "2026-10-25T00:00:00Z",
        &[
            "2026-10-25T00:30:00Z",
            "2026-10-25T01:30:00Z",
            "2026-10-25T02:30:00Z",
        ],
    ),
    (
        "Europe/Berlin",
        "30 * * * *",
        "2026-03-29T00:00:00Z",
        &["2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"],
    ),
    (
        "Europe/Berlin",
        "*/30 2 * * *",
        "2026-03-28T12:00:00Z",
        &["2026-03-30T00:00:00Z"],
    ),
    (
        "America/New_York",
        "15 2 8 3 *",
        "2026-01-01T00:00:00Z",
        &["2026-03-08T07:00:00Z", "2027-03-08T07:15:00Z"],
    ),
    (
        "America/New_York",
        "15 1 * 11 SUN",
        "2026-10-31T00:00:00Z",
        &["2026-11-01T05:15:00Z", "2026-11-08T06:15:00Z"],
    ),
    // Half an hour.
    (
        "Australia/Lord_Howe",
        "10 2 * * *",
        "2026-10-03T00:00:00Z",
        &["2026-10-03T15:30:00Z", "2026-10-04T15:10:00Z"],
    ),
    (
        "Australia/Lord_Howe",
        "45 1 * * *",
        "2026-04-04T00:00:00Z",
        &["2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"],
    ),
    // Put back for Ramadan.
    (
        "Africa/Casablanca",
        "30 2 * * *",
        "2026-02-14T12:00:00Z",
        &["2026-02-15T01:30:00Z", "2026-02-16T02:30:00Z"],
    ),
    // Until 2019 the change was at midnight: the day began at 01:00.
    (
        "America/Sao_Paulo",
        "0 0 * * *",
        "2018-11-03T12:00:00Z",
        &["2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"],
    ),
    (
        "America/Sao_Paulo",
        "30 23 * * *",
        "2018-02-17T12:00:00Z",
        &["2018-02-18T01:30:00Z", "2018-02-19T02:30:00Z"],
    ),
    (
        "America/Sao_Paulo",
        "0 0 * * *",
        "2026-11-03T12:00:00Z",
        &["2026-11-04T03:00:00Z"],
    ),
    (
        "Asia/Kolkata",
        "0 9 * * *",
        "2026-03-29T00:00:00Z",
        &["2026-03-29T03:30:00Z", "2026-03-30T03:30:00Z"],
    ),
    // There was no 30 December 2011.
    (
        "Pacific/Apia",
        "0 9 * * *",
        "2011-12-29T12:00:00Z",
        &[
            "2011-12-29T19:00:00Z",
            "2011-12-30T10:00:00Z",
            "2011-12-30T19:00:00Z",
        ],
    ),
    (
        "Pacific/Apia",
        "0 * * * *",
        "2011-12-30T08:30:00Z",
        &[
            "2011-12-30T09:00:00Z",
            "2011-12-30T10:00:00Z",
            "2011-12-30T11:00:00Z",
        ],
    ),
    // The doubled hour begins a day that has an hour of its own before.
    (
        "America/Havana",
        "50 * 1 11 *",
        "2026-11-01T03:00:00Z",
        &[
            "2026-11-01T04:50:00Z",
            "2026-11-01T05:50:00Z",
            "2026-11-01T06:50:00Z",
        ],
    ),
];

#[test]
fn a_skipped_time_is_due_at_the_next_existing_minute_and_a_doubled_one_once() {
    for (zone, expression, start, expected) in ROWS {
        let times = next_times(&cron(expression, zone), ms(start), expected.len());
        let times: Vec<String> = times.into_iter().map(told).collect();
        assert_eq!(&times, expected, "{zone} {expression}");
    }
}

#[test]
fn looking_back_finds_the_same_times() {
    for (zone, expression, start, expected) in ROWS {
        let spec = cron(expression, zone);
        let mut before = None;
        for due in expected.iter().map(|due| ms(due)) {
            assert_eq!(previous_or_at(&spec, due), Some(due), "{zone} {expression}");
            assert_eq!(
                previous_or_at(&spec, due + 59_999),
                Some(due),
                "{zone} {expression}"
            );
            if before.is_some() {
                assert_eq!(
                    previous_or_at(&spec, due - 1),
                    before,
                    "{zone} {expression}"
                );
            } else {
                let earlier = previous_or_at(&spec, due - 1).unwrap();
                assert!(
                    earlier <= ms(start),
                    "{zone} {expression} {}",
                    told(earlier)
                );
            }
            before = Some(due);
        }
    }
}
