//! Due times apart from changes of the clock, and what is never due or refused.

use proptest::prelude::*;
use rooftree_schedule::{
    MINIMUM_SECONDS, ScheduleSpec, next_after, next_times, previous_or_at, validate,
};

use crate::{cron, ms, told};

#[test]
fn something_that_happens_once_is_due_once() {
    let spec = ScheduleSpec::At { at: 1000 };
    assert_eq!(
        (next_after(&spec, 999), next_after(&spec, 1000)),
        (Some(1000), None)
    );
    assert_eq!(
        (previous_or_at(&spec, 999), previous_or_at(&spec, 1000)),
        (None, Some(1000))
    );
    assert_eq!(next_times(&spec, 0, 5), [1000]);
    assert_eq!(next_times(&spec, 0, 0), [0_i64; 0]);
}

#[test]
fn an_interval_is_first_due_one_interval_after_its_anchor() {
    let spec = ScheduleSpec::Every {
        seconds: 60,
        anchor_ms: Some(5_000),
    };
    assert_eq!(next_times(&spec, 5_000, 2), [65_000, 125_000]);
    assert_eq!(next_after(&spec, -1_000_000), Some(65_000));
    assert_eq!(next_after(&spec, 65_000), Some(125_000));
    assert_eq!(
        (previous_or_at(&spec, 64_999), previous_or_at(&spec, 65_000)),
        (None, Some(65_000))
    );
    assert_eq!(previous_or_at(&spec, 124_999), Some(65_000));
    let without = ScheduleSpec::Every {
        seconds: 60,
        anchor_ms: None,
    };
    assert_eq!(
        (
            next_after(&without, 61_000),
            previous_or_at(&without, 61_000)
        ),
        (Some(120_000), Some(60_000))
    );
    assert_eq!(previous_or_at(&without, -1), Some(-60_000));
}

#[test]
fn expressions_of_all_kinds_have_the_times_they_say() {
    let start = "2026-11-18T13:00:00Z";
    let table: &[(&str, &[&str])] = &[
        ("@hourly", &["2026-11-18T14:00:00Z"]),
        ("@daily", &["2026-11-19T00:00:00Z"]),
        ("@weekly", &["2026-11-22T00:00:00Z"]),
        ("@monthly", &["2026-12-01T00:00:00Z"]),
        ("@yearly", &["2027-01-01T00:00:00Z"]),
        (
            "0 9 * JAN MON",
            &["2027-01-04T09:00:00Z", "2027-01-11T09:00:00Z"],
        ),
        (
            "0 0 13 * FRI",
            &["2026-11-20T00:00:00Z", "2026-11-27T00:00:00Z"],
        ),
        (
            "0 0 13 * +FRI",
            &["2027-08-13T00:00:00Z", "2028-10-13T00:00:00Z"],
        ),
        (
            "0 0 29 2 +TUE",
            &["2028-02-29T00:00:00Z", "2056-02-29T00:00:00Z"],
        ),
        (
            "0 0 L * ?",
            &["2026-11-30T00:00:00Z", "2026-12-31T00:00:00Z"],
        ),
        (
            "0 0 15W * *",
            &["2026-12-15T00:00:00Z", "2027-01-15T00:00:00Z"],
        ),
        ("0 0 * * MON#1", &["2026-12-07T00:00:00Z"]),
        (
            "*/30 0 12 * * *",
            &["2026-11-19T12:00:00Z", "2026-11-19T12:00:30Z"],
        ),
        ("0 13 18 11 *", &["2027-11-18T13:00:00Z"]),
    ];
    for (expression, expected) in table {
        let times = next_times(&cron(expression, "UTC"), ms(start), expected.len());
        let times: Vec<String> = times.into_iter().map(told).collect();
        assert_eq!(&times, expected, "{expression}");
        validate(&cron(expression, "UTC")).unwrap();
    }
}

#[test]
fn what_can_never_be_due_is_refused_and_has_no_times() {
    for expression in [
        "0 0 30 2 *",
        "0 0 31 4,6 *",
        "0 0 31 11 +MON",
        "*/5 * 30 2 *",
        "0 0 31W 6 *",
    ] {
        let spec = cron(expression, "Europe/Berlin");
        assert_eq!(
            (next_after(&spec, 0), previous_or_at(&spec, 0)),
            (None, None),
            "{expression}"
        );
        let told = validate(&spec).unwrap_err().to_string();
        assert!(told.contains("never due"), "{told}");
    }
}

#[test]
fn malformed_and_too_frequent_schedules_are_refused_and_have_no_times() {
    let table = [
        (cron("0 9 * *", "UTC"), "there are 4, not 5"),
        (cron("0 9 * * 1 2 3", "UTC"), "there are 7"),
        (cron("61 9 * * *", "UTC"), "minute: `61`"),
        (
            cron("0 9 * * *", "Europe/Berln"),
            "did you mean `Europe/Berlin`",
        ),
        (cron("@often", "UTC"), "@hourly"),
        (cron("* * * * * *", "UTC"), "every 1 s is too often"),
        (cron("0,50 * * * * *", "UTC"), "every 10 s is too often"),
        (
            ScheduleSpec::Every {
                seconds: MINIMUM_SECONDS - 1,
                anchor_ms: None,
            },
            "the minimum is 30 s",
        ),
        (
            ScheduleSpec::Every {
                seconds: u64::MAX,
                anchor_ms: None,
            },
            "ten years",
        ),
        (ScheduleSpec::At { at: i64::MAX }, "out of range"),
    ];
    for (spec, expected) in table {
        let told = validate(&spec).unwrap_err().to_string();
        assert!(told.contains(expected), "{told}");
    }
    assert_eq!(
        next_after(
            &ScheduleSpec::Every {
                seconds: 0,
                anchor_ms: None
            },
            0
        ),
        None
    );
    assert_eq!(next_after(&cron("nonsense", "UTC"), 0), None);
}

#[test]
fn specifications_come_back_from_json_and_unknown_fields_are_refused() {
    let table = [
        (ScheduleSpec::At { at: 5 }, r#"{"kind":"at","at":5}"#),
        (
            ScheduleSpec::Every {
                seconds: 60,
                anchor_ms: None,
            },
            r#"{"kind":"every","seconds":60}"#,
        ),
        (
            cron("0 9 * * *", "UTC"),
            r#"{"kind":"cron","expression":"0 9 * * *","zone":"UTC"}"#,
        ),
    ];
    for (spec, json) in table {
        assert_eq!(serde_json::to_string(&spec).unwrap(), json);
        assert_eq!(serde_json::from_str::<ScheduleSpec>(json).unwrap(), spec);
    }
    assert!(serde_json::from_str::<ScheduleSpec>(r#"{"kind":"at","at":5,"zone":"UTC"}"#).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_number_makes_due_times_panic(
        seconds in any::<u64>(),
        anchor_ms in any::<Option<i64>>(),
        at in any::<i64>(),
        expression in "[0-9*/,LW#+ -]{0,20}",
    ) {
        for spec in [
            ScheduleSpec::At { at },
            ScheduleSpec::Every { seconds, anchor_ms },
            cron(&expression, "Europe/Berlin"),
            cron("59 23 31 12 *", "Pacific/Kiritimati"),
            cron("* * * * *", "Pacific/Niue"),
        ] {
            let _ = (validate(&spec), next_times(&spec, at, 2), previous_or_at(&spec, at));
        }
    }
}
