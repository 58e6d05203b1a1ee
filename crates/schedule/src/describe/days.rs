//! The day fields of a cron expression in words.

use super::times::joined;
use crate::cron::{DayFields, DaysOfMonth, DaysOfWeek, numbers};

const EVERY_WEEKDAY: u64 = 0b111_1111;
const MONDAY_TO_FRIDAY: u64 = 0b011_1110;
const WEEKEND: u64 = 0b100_0001;
const EVERY_MONTH: u64 = 0b1_1111_1111_1110;
const EVERY_DAY_OF_MONTH: u64 = 0xffff_fffe;

const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const ORDINALS: [&str; 4] = ["first", "second", "third", "fourth"];

/// None if there are no words for it that are shorter than the expression.
pub fn days(days: &DayFields, months: u64) -> Option<String> {
    let any_of_month = days.of_month.numbers == EVERY_DAY_OF_MONTH;
    let any_of_week = days.of_week.numbers == EVERY_WEEKDAY;
    // One field that matches all dates decides alone, if both must match.
    let words = match (any_of_month, any_of_week) {
        (true, true) => "every day".to_owned(),
        (true, false) if days.both => of_week(&days.of_week)?,
        (false, true) if days.both => return of_month(&days.of_month, months),
        _ => return None,
    };
    if months == EVERY_MONTH {
        return Some(words);
    }
    Some(format!("{words} in {}", month_names(months)))
}

fn of_week(days: &DaysOfWeek) -> Option<String> {
    if days.numbers == 0 {
        return ordinal_of_week(days);
    }
    if days.last != 0 || days.ordinal != [0; 5] {
        return None;
    }
    Some(match days.numbers {
        MONDAY_TO_FRIDAY => "weekdays".to_owned(),
        WEEKEND => "weekends".to_owned(),
        // Sunday comes last.
        set => joined(&names(set >> 1 << 1 | (set & 1) << 7, |name| {
            format!("{name}s")
        })),
    })
}

/// The names of days, Sunday being 7.
fn names(set: u64, form: impl Fn(&str) -> String) -> Vec<String> {
    let name = |number: u8| WEEKDAYS.get(usize::from(number % 7)).copied();
    numbers(set).filter_map(name).map(form).collect()
}

/// A single one, such as the last Friday.
fn ordinal_of_week(days: &DaysOfWeek) -> Option<String> {
    let [first, second, third, fourth, 0] = days.ordinal else {
        return None;
    };
    let sets = [first, second, third, fourth, days.last];
    let ordinals = ORDINALS.iter().chain(&["last"]);
    let mut named = ordinals.zip(sets).flat_map(|(ordinal, set)| {
        names(set, |name| format!("every month on the {ordinal} {name}"))
    });
    let only = named.next()?;
    named.next().is_none().then_some(only)
}

fn of_month(days: &DaysOfMonth, months: u64) -> Option<String> {
    if days.last_working || days.nearest_working != 0 {
        return None;
    }
    let mut list: Vec<String> = numbers(days.numbers).map(ordinal).collect();
    if days.last {
        list.push("last day".to_owned());
    }
    if list.len() > 6 || (days.last && list.len() > 1) {
        return None;
    }
    if months == EVERY_MONTH {
        return Some(format!("every month on the {}", joined(&list)));
    }
    let mut single = numbers(months);
    match (
        numbers(days.numbers).collect::<Vec<u8>>().as_slice(),
        single.next(),
        single.next(),
    ) {
        ([day], Some(_), None) if !days.last => {
            Some(format!("every year on {day} {}", month_names(months)))
        }
        _ => Some(format!(
            "on the {} in {}",
            joined(&list),
            month_names(months)
        )),
    }
}

fn month_names(months: u64) -> String {
    let name = |number: u8| MONTHS.get(usize::from(number).checked_sub(1)?).copied();
    let names: Vec<String> = numbers(months)
        .filter_map(name)
        .map(str::to_owned)
        .collect();
    joined(&names)
}

fn ordinal(day: u8) -> String {
    let ending = match (day / 10, day % 10) {
        (1, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{day}{ending}")
}
