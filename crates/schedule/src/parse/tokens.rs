//! Splits a written schedule into words, and knows the names of days and months.

use jiff::civil::Weekday;

use crate::error::ScheduleError;

/// The words of a text, in small letters, read from left to right.
pub struct Tokens {
    words: Vec<String>,
    next: usize,
}

const FILLER: &[&str] = &["and", "at", "on", "the", "of"];

/// Words with a meaning of their own that are zones too, or could be taken for one.
const KNOWN: &[&str] = &[
    "am", "pm", "noon", "midnight", "day", "days", "week", "weeks", "month", "year", "last",
    "first", "min", "minute", "minutes", "hour", "hours", "second", "seconds", "today", "tomorrow",
];

impl Tokens {
    pub fn new(text: &str) -> Self {
        let lower = text.to_lowercase().replace(',', " and ");
        Self {
            words: lower.split_whitespace().map(str::to_owned).collect(),
            next: 0,
        }
    }

    pub fn peek(&self) -> Option<&str> {
        self.words.get(self.next).map(String::as_str)
    }

    /// The word after the next one.
    pub fn peek_second(&self) -> Option<&str> {
        self.words.get(self.next + 1).map(String::as_str)
    }

    pub fn advance(&mut self) {
        self.next += 1;
    }

    /// Where it reads, to come back.
    pub fn position(&self) -> usize {
        self.next
    }

    pub fn go_back_to(&mut self, position: usize) {
        self.next = position;
    }

    /// Takes the next word if it is one of these.
    pub fn take(&mut self, words: &[&str]) -> bool {
        let is_there = self.peek().is_some_and(|next| words.contains(&next));
        if is_there {
            self.advance();
        }
        is_there
    }

    /// Takes what a function reads from the next word.
    pub fn take_as<T>(&mut self, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let read = read(self.peek()?)?;
        self.advance();
        Some(read)
    }

    pub fn skip_filler(&mut self) {
        while self.take(FILLER) {}
    }

    /// Refuses what is left.
    pub fn end(&self) -> Result<(), ScheduleError> {
        match self.peek() {
            None => Ok(()),
            Some(word) => Err(ScheduleError::Word {
                word: word.to_owned(),
            }),
        }
    }

    /// The error for the next word, or for the end if there is none.
    pub fn unexpected(&self, missing: &str, fix: &str) -> ScheduleError {
        match self.end() {
            Err(error) => error,
            Ok(()) => ScheduleError::Incomplete {
                missing: missing.to_owned(),
                fix: fix.to_owned(),
            },
        }
    }
}

/// Whether a word belongs to the written forms, and is no zone therefore.
pub fn is_known(word: &str) -> bool {
    let word = word.to_lowercase();
    KNOWN.contains(&word.as_str())
        || FILLER.contains(&word.as_str())
        || weekday(&word).is_some()
        || month(&word).is_some()
}

const WEEKDAYS: [(Weekday, &str); 7] = [
    (Weekday::Monday, "monday"),
    (Weekday::Tuesday, "tuesday"),
    (Weekday::Wednesday, "wednesday"),
    (Weekday::Thursday, "thursday"),
    (Weekday::Friday, "friday"),
    (Weekday::Saturday, "saturday"),
    (Weekday::Sunday, "sunday"),
];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// A day of the week, whole or by at least three letters, and whether it stands in the plural.
pub fn weekday(word: &str) -> Option<(Weekday, bool)> {
    let (day, is_plural) = WEEKDAYS.iter().find_map(|(day, name)| {
        let is_plural = word.strip_suffix('s').is_some_and(|single| single == *name);
        let is_short = word.len() >= 3 && name.starts_with(word);
        (is_plural || is_short).then_some((*day, is_plural))
    })?;
    Some((day, is_plural))
}

/// The number of a month, named whole or by at least three letters.
pub fn month(word: &str) -> Option<i8> {
    let is_meant = |name: &str| word.len() >= 3 && name.starts_with(word);
    let index = MONTHS.iter().position(|name| is_meant(name))?;
    i8::try_from(index + 1).ok()
}
