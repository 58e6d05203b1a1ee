//! Due times of random expressions are those that a walk through every minute finds.

use jiff::{
    Timestamp, ToSpan,
    civil::DateTime,
    tz::{TimeZone, TimeZoneTransition},
};
use proptest::{prelude::*, sample::select};
use rooftree_schedule::{next_after, next_times, previous_or_at};

use crate::cron;

/// A field as written, and the numbers it means.
#[derive(Clone, Debug)]
struct Field {
    text: String,
    numbers: Vec<i8>,
}

#[derive(Clone, Debug)]
struct Expression {
    minute: Field,
    hour: Field,
    day: Field,
    month: Field,
    weekday: Field,
}

impl Expression {
    fn text(&self) -> String {
        let fields = [
            &self.minute,
            &self.hour,
            &self.day,
            &self.month,
            &self.weekday,
        ];
        fields.map(|field| field.text.as_str()).join(" ")
    }

    fn matches(&self, clock: DateTime) -> bool {
        let day = self.day.numbers.contains(&clock.day());
        let weekday = clock.weekday().to_sunday_zero_offset();
        let weekday = self
            .weekday
            .numbers
            .iter()
            .any(|number| number % 7 == weekday);
        let star = self.day.text.starts_with('*') || self.weekday.text.starts_with('*');
        self.minute.numbers.contains(&clock.minute())
            && self.hour.numbers.contains(&clock.hour())
            && self.month.numbers.contains(&clock.month())
            && if star { day && weekday } else { day || weekday }
    }

    fn goes_by_elapsed_time(&self) -> bool {
        self.minute.text.starts_with('*') || self.hour.text.starts_with('*')
    }
}

fn field(first: i8, last: i8) -> impl Strategy<Value = Field> {
    let all = move |step: i8| {
        (first..=last)
            .step_by(usize::try_from(step).unwrap())
            .collect()
    };
    let star = Just(Field {
        text: "*".to_owned(),
        numbers: (first..=last).collect(),
    });
    let step = (1..=last).prop_map(move |step| Field {
        text: format!("*/{step}"),
        numbers: all(step),
    });
    let list = prop::collection::vec(first..=last, 1..4).prop_map(|numbers| Field {
        text: numbers
            .iter()
            .map(i8::to_string)
            .collect::<Vec<_>>()
            .join(","),
        numbers,
    });
    let range = (first..=last, first..=last, 1..=4_i8).prop_map(|(one, other, step)| {
        let (from, to) = (one.min(other), one.max(other));
        Field {
            text: format!("{from}-{to}/{step}"),
            numbers: (from..=to)
                .step_by(usize::try_from(step).unwrap())
                .collect(),
        }
    });
    prop_oneof![2 => star, 1 => step, 4 => list, 2 => range]
}

fn expression() -> impl Strategy<Value = Expression> {
    let fields = (
        field(0, 59),
        field(0, 23),
        field(1, 31),
        field(1, 12),
        field(0, 7),
    );
    fields.prop_map(|(minute, hour, day, month, weekday)| Expression {
        minute,
        hour,
        day,
        // Three days of one month are walked through: a month that is left out shows nothing.
        month: if month.numbers.len() < 8 {
            Field {
                text: "*".to_owned(),
                numbers: (1..=12).collect(),
            }
        } else {
            month
        },
        weekday,
    })
}

const ZONES: &[&str] = &[
    "Europe/Berlin",
    "America/New_York",
    "America/Havana",
    "America/Santiago",
    "Africa/Casablanca",
    "Australia/Lord_Howe",
    "Asia/Kolkata",
    "Pacific/Apia",
    "America/Sao_Paulo",
    "UTC",
];

/// Three days around a change of the clock, or anywhere in a zone without.
fn window() -> impl Strategy<Value = (&'static str, Timestamp)> {
    (select(ZONES), 0..900_000_000_i64).prop_map(|(name, seconds)| {
        let anywhere = Timestamp::from_second(999_999_960 + seconds / 60 * 60).unwrap();
        let zone = TimeZone::get(name).unwrap();
        let change = zone.following(anywhere).next();
        let near = change
            .as_ref()
            .map_or(anywhere, TimeZoneTransition::timestamp);
        // Databases hold an entry in the middle of a minute that changes nothing.
        let whole = Timestamp::from_second(near.as_second() / 60 * 60).unwrap();
        (name, whole - 36.hours())
    })
}

/// Due in this minute: the clock shows a matching time. With given times of day, it shows it for the first time, or
/// has just been put forward over it.
fn walk(expression: &Expression, zone: &TimeZone, start: Timestamp) -> Vec<i64> {
    let mut latest = zone.to_datetime(start - 3.hours());
    let mut due = Vec::new();
    for minute in -180..72 * 60_i64 {
        let now = start + minute.minutes();
        let clock = zone.to_datetime(now);
        let mut is_due = expression.goes_by_elapsed_time() && expression.matches(clock);
        while latest < clock {
            latest += 1.minute();
            is_due |= !expression.goes_by_elapsed_time() && expression.matches(latest);
        }
        if is_due && minute > 0 {
            due.push(now.as_millisecond());
        }
    }
    due
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn due_times_equal_a_walk_through_every_minute(
        expression in expression(),
        (name, start) in window(),
        probe in 0..72 * 3_600_000_i64,
    ) {
        let zone = TimeZone::get(name).unwrap();
        let spec = cron(&expression.text(), name);
        let expected = walk(&expression, &zone, start);
        let (from, to) = (start.as_millisecond(), (start + 72.hours()).as_millisecond());
        let found: Vec<i64> = next_times(&spec, from, expected.len() + 1)
            .into_iter()
            .filter(|due| *due < to)
            .collect();
        prop_assert_eq!(&found, &expected, "{} {}", expression.text(), name);
        let at = from + probe;
        let next = expected.iter().copied().find(|due| *due > at);
        let previous = expected.iter().copied().rfind(|due| *due <= at);
        if next.is_some() {
            prop_assert_eq!(next_after(&spec, at), next);
        }
        if previous.is_some() {
            prop_assert_eq!(previous_or_at(&spec, at), previous);
        }
    }

    #[test]
    fn due_times_strictly_increase_and_the_previous_one_is_found_from_each(
        expression in expression(),
        (name, start) in window(),
    ) {
        let spec = cron(&expression.text(), name);
        let times = next_times(&spec, start.as_millisecond(), 20);
        let mut before = start.as_millisecond();
        for due in times {
            prop_assert!(due > before);
            prop_assert_eq!(previous_or_at(&spec, due), Some(due));
            let earlier = previous_or_at(&spec, due - 1);
            prop_assert!(earlier.is_none_or(|earlier| earlier <= before || before == start.as_millisecond()));
            before = due;
        }
    }
}
