//! Looks time zones up by their IANA name, and suggests near names for one that does not exist.

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

use crate::error::ScheduleError;

/// How many names an error suggests.
const SUGGESTIONS: usize = 3;

/// The zone of this name, whatever its capitals.
pub fn find(name: &str) -> Result<TimeZone, ScheduleError> {
    // It needs no database, which a small container may not have.
    if name.eq_ignore_ascii_case("UTC") {
        return Ok(TimeZone::UTC);
    }
    TimeZone::get(name).map_err(|_| ScheduleError::Zone {
        name: name.to_owned(),
        near: near(name),
    })
}

/// The name as the database spells it.
pub fn spelled(name: &str) -> Result<String, ScheduleError> {
    let zone = find(name)?;
    Ok(zone.iana_name().unwrap_or(name).to_owned())
}

/// What clocks in this zone show, without fractions of a second.
pub fn civil(zone: &TimeZone, at: Timestamp) -> DateTime {
    let shown = zone.to_datetime(at);
    shown.with().subsec_nanosecond(0).build().unwrap_or(shown)
}

/// Names that were perhaps meant: the same city first, then few letters apart.
pub fn near(name: &str) -> Vec<String> {
    let wanted = name.to_lowercase().replace(' ', "_");
    let mut rated: Vec<(usize, String)> = jiff::tz::db()
        .available()
        .map(|known| known.as_str().to_owned())
        .filter_map(|known| distance_to(&wanted, &known).map(|distance| (distance, known)))
        .collect();
    rated.sort();
    rated.truncate(SUGGESTIONS);
    rated.into_iter().map(|(_, known)| known).collect()
}

/// Whether a word is the last part of a zone's name, as a city is.
pub fn is_city(word: &str) -> bool {
    let city = |known: &str| {
        known
            .rsplit_once('/')
            .is_some_and(|(_, city)| city.eq_ignore_ascii_case(word))
    };
    jiff::tz::db().available().any(|known| city(known.as_str()))
}

fn distance_to(wanted: &str, known: &str) -> Option<usize> {
    let known = known.to_lowercase();
    let last = |text: &str| text.rsplit('/').next().unwrap_or_default().to_owned();
    let (city, wanted_city) = (last(&known), last(wanted));
    if city == wanted_city {
        return Some(0);
    }
    let whole = letters_apart(wanted, &known);
    let cities = letters_apart(&wanted_city, &city) + 1;
    let least = whole.min(cities);
    // More than a third of the letters wrong is another name.
    (least * 3 <= wanted_city.chars().count().max(3)).then_some(least)
}

/// Levenshtein distance.
fn letters_apart(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, letter) in left.chars().enumerate() {
        let mut diagonal = index;
        let mut before = index + 1;
        let mut next = vec![before];
        for (other, above) in right.iter().zip(row.iter().skip(1)) {
            let changed = diagonal + usize::from(*other != letter);
            before = changed.min(above + 1).min(before + 1);
            diagonal = *above;
            next.push(before);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_name_brings_the_near_ones() {
        let table = [
            ("Europe/Berln", "Europe/Berlin"),
            ("Berlin", "Europe/Berlin"),
            ("america/new york", "America/New_York"),
            ("Asia/Calcuta", "Asia/Calcutta"),
            ("America/Kolkata", "Asia/Kolkata"),
        ];
        for (wrong, right) in table {
            let found = near(wrong);
            assert!(found.iter().any(|name| name == right), "{wrong}: {found:?}");
        }
        assert_eq!(near("Middle_Earth/Hobbiton"), Vec::<String>::new());
    }

    #[test]
    fn names_are_spelled_as_the_database_does() {
        assert_eq!(spelled("europe/berlin").unwrap(), "Europe/Berlin");
        assert_eq!(spelled("utc").unwrap(), "UTC");
        let told = find("Europe/Berln").unwrap_err().to_string();
        assert!(told.contains("did you mean `Europe/Berlin`"), "{told}");
    }

    #[test]
    fn letters_apart_counts_edits() {
        let table = [
            ("", "", 0),
            ("a", "", 1),
            ("berlin", "berln", 1),
            ("rome", "rama", 2),
        ];
        for (left, right, expected) in table {
            assert_eq!(letters_apart(left, right), expected, "{left} {right}");
        }
    }
}
