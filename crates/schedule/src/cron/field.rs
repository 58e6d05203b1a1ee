//! Parses one field of a cron expression into the set of numbers it names.

use crate::error::ScheduleError;

/// What a field counts.
#[derive(Debug)]
pub struct FieldKind {
    pub name: &'static str,
    pub first: u8,
    pub last: u8,
    /// Names in order, the first of which means `first`.
    names: &'static [&'static str],
}

pub const SECOND: FieldKind = FieldKind::plain("second", 0, 59);
pub const MINUTE: FieldKind = FieldKind::plain("minute", 0, 59);
pub const HOUR: FieldKind = FieldKind::plain("hour", 0, 23);
pub const DAY_OF_MONTH: FieldKind = FieldKind::plain("day of month", 1, 31);
pub const MONTH: FieldKind = FieldKind {
    name: "month",
    first: 1,
    last: 12,
    names: &[
        "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
    ],
};
/// Sunday is 0 and 7.
pub const DAY_OF_WEEK: FieldKind = FieldKind {
    name: "day of week",
    first: 0,
    last: 7,
    names: &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
};

impl FieldKind {
    const fn plain(name: &'static str, first: u8, last: u8) -> Self {
        Self {
            name,
            first,
            last,
            names: &[],
        }
    }

    pub fn error(&self, problem: String) -> ScheduleError {
        ScheduleError::Cron {
            field: self.name,
            problem,
        }
    }

    /// Every number of the field, as a bit each.
    pub fn all(&self) -> u64 {
        span(self.first, self.last, 1)
    }

    /// The set named by one term of a list: `*`, `5`, `1-5`, each with `/step`.
    pub fn term(&self, term: &str) -> Result<u64, ScheduleError> {
        let (range, step) = match term.split_once('/') {
            Some((range, step)) => (range, Some(self.step(step, term)?)),
            None => (term, None),
        };
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (self.value(first, term)?, self.end(last, term)?),
            None if range == "*" => (self.first, self.last),
            // A start with a step goes on to the end.
            None => {
                let value = self.value(range, term)?;
                (value, if step.is_some() { self.last } else { value })
            }
        };
        if last < first {
            return Err(self.error(format!(
                "`{term}` ends before it begins; write two parts with a comma, such as \
                 `{first}-{end},{start}-{last}`",
                end = self.last.min(if self.last == 7 { 6 } else { self.last }),
                start = self.first,
            )));
        }
        Ok(span(first, last, step.unwrap_or(1)))
    }

    /// One number or name.
    pub fn value(&self, text: &str, term: &str) -> Result<u8, ScheduleError> {
        let named = self
            .names
            .iter()
            .zip(self.first..)
            .find(|(name, _)| name.eq_ignore_ascii_case(text));
        if let Some((_, number)) = named {
            return Ok(number);
        }
        let number = Some(text)
            .filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|text| text.parse::<u8>().ok());
        number
            .filter(|number| (self.first..=self.last).contains(number))
            .ok_or_else(|| self.error(format!("`{term}` is not {}", self.expected())))
    }

    /// The end of a range: a week may end with Sunday by name.
    fn end(&self, text: &str, term: &str) -> Result<u8, ScheduleError> {
        if self.last == 7 && text.eq_ignore_ascii_case("SUN") {
            return Ok(7);
        }
        self.value(text, term)
    }

    fn step(&self, text: &str, term: &str) -> Result<u8, ScheduleError> {
        let step = text.parse::<u8>().ok();
        step.filter(|step| (1..=self.last).contains(step))
            .ok_or_else(|| {
                let last = self.last;
                self.error(format!("the step in `{term}` is not from 1 to {last}"))
            })
    }

    fn expected(&self) -> String {
        let numbers = format!("a number from {} to {}", self.first, self.last);
        match self.names {
            [first, .., last] => format!("{numbers} or a name from {first} to {last}"),
            _ => numbers,
        }
    }
}

fn span(first: u8, last: u8, step: u8) -> u64 {
    (first..=last)
        .step_by(usize::from(step.max(1)))
        .fold(0, |set, number| set | bit(number))
}

/// The bit of a number; none for one that no field has.
pub fn bit(number: u8) -> u64 {
    1_u64.checked_shl(u32::from(number)).unwrap_or(0)
}

/// The numbers of a set, in order.
pub fn numbers(set: u64) -> impl DoubleEndedIterator<Item = u8> {
    (0..64_u8).filter(move |number| set & bit(*number) != 0)
}

/// The least number of a set that is not below `from`.
pub fn least(set: u64, from: u8) -> Option<u8> {
    let rest = set & u64::MAX.checked_shl(u32::from(from)).unwrap_or(0);
    (rest != 0).then(|| u8::try_from(rest.trailing_zeros()).unwrap_or(u8::MAX))
}

/// The greatest number of a set that is not above `to`.
pub fn greatest(set: u64, to: u8) -> Option<u8> {
    let above = u64::MAX.checked_shl(u32::from(to) + 1).unwrap_or(0);
    let rest = set & !above;
    (rest != 0).then(|| u8::try_from(63 - rest.leading_zeros()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_name_their_numbers() {
        let table: &[(&FieldKind, &str, &[u8])] = &[
            (&HOUR, "5", &[5]),
            (&HOUR, "5-8", &[5, 6, 7, 8]),
            (&HOUR, "*/6", &[0, 6, 12, 18]),
            (&HOUR, "20/2", &[20, 22]),
            (&HOUR, "8-18/5", &[8, 13, 18]),
            (&MONTH, "jan-MAR", &[1, 2, 3]),
            (&DAY_OF_WEEK, "FRI-SUN", &[5, 6, 7]),
            (&DAY_OF_WEEK, "SUN-TUE", &[0, 1, 2]),
        ];
        for (kind, term, expected) in table {
            let found: Vec<u8> = numbers(kind.term(term).unwrap()).collect();
            assert_eq!(&found, expected, "{term}");
        }
    }

    #[test]
    fn wrong_terms_are_refused_with_the_field_and_what_it_takes() {
        let table = [
            (&HOUR, "24", "hour: `24` is not a number from 0 to 23"),
            (&HOUR, "", "hour: `` is not"),
            (&HOUR, "+5", "hour: `+5` is not"),
            (&HOUR, "*/0", "the step in `*/0` is not from 1 to 23"),
            (
                &HOUR,
                "22-4",
                "write two parts with a comma, such as `22-23,0-4`",
            ),
            (&MONTH, "JANUAR", "or a name from JAN to DEC"),
            (&DAY_OF_WEEK, "FRI-MON", "such as `5-6,0-1`"),
        ];
        for (kind, term, expected) in table {
            let told = kind.term(term).unwrap_err().to_string();
            assert!(told.contains(expected), "{told}");
        }
    }

    #[test]
    fn neighbours_in_a_set_are_found_from_both_sides() {
        let set = bit(0) | bit(7) | bit(59);
        assert_eq!(
            (least(set, 0), least(set, 1), least(set, 60)),
            (Some(0), Some(7), None)
        );
        assert_eq!(
            (greatest(set, 63), greatest(set, 58), greatest(0, 9)),
            (Some(59), Some(7), None)
        );
    }
}
