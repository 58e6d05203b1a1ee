//! Template filters that extract facts from text.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use minijinja::{
    Environment, Error, ErrorKind,
    value::{Serde, Value},
};
use regex::Regex;
use rooftree_stdx::shorten::shorten;

/// Registers our filters in addition to the built-in ones.
pub(crate) fn add(environment: &mut Environment<'static>) {
    environment.add_filter("line", line);
    environment.add_filter("first_line", |text: &str| line(text, 1));
    environment.add_filter("cut", |text: &str, characters: usize| {
        shorten(text, characters)
    });
    environment.add_filter("basename", basename);
    environment.add_filter("json", json);
    let patterns = RegexCache::default();
    let same = patterns.clone();
    environment.add_filter("find", move |text: &str, pattern: &str| {
        patterns.find(text, pattern)
    });
    environment.add_filter("find_all", move |text: &str, pattern: &str| {
        same.find_all(text, pattern)
    });
}

/// A line counted from one, or from the end with a negative number. Undefined if there is none.
fn line(text: &str, number: i64) -> Value {
    let place = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX);
    let found = match number {
        0 => None,
        1.. => text.lines().nth(place - 1),
        _ => text.lines().rev().nth(place - 1),
    };
    found.map_or(Value::UNDEFINED, Value::from)
}

/// The part after the last slash.
fn basename(path: &str) -> String {
    path.trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// Parses text as JSON.
fn json(text: &str) -> Result<Value, Error> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| {
        Error::new(
            ErrorKind::InvalidOperation,
            format!("the text is not JSON: {error}"),
        )
    })?;
    Ok(Value::from(Serde(value)))
}

/// Regular expressions of templates, each compiled once.
#[derive(Clone, Default)]
struct RegexCache(Arc<Mutex<HashMap<String, Regex>>>);

impl RegexCache {
    /// The first match, or its first group if it has one. Undefined if there is none.
    fn find(&self, text: &str, pattern: &str) -> Result<Value, Error> {
        let found = self
            .compiled(pattern)?
            .captures(text)
            .and_then(|captures| group(&captures));
        Ok(found.map_or(Value::UNDEFINED, Value::from))
    }

    /// The same for every match.
    fn find_all(&self, text: &str, pattern: &str) -> Result<Value, Error> {
        let pattern = self.compiled(pattern)?;
        Ok(Value::from_iter(
            pattern
                .captures_iter(text)
                .filter_map(|captures| group(&captures)),
        ))
    }

    fn compiled(&self, pattern: &str) -> Result<Regex, Error> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(regex) = known.get(pattern) {
            return Ok(regex.clone());
        }
        let regex = Regex::new(pattern).map_err(|_| {
            Error::new(
                ErrorKind::InvalidOperation,
                format!("`{pattern}` is not a regular expression"),
            )
        })?;
        known.insert(pattern.to_owned(), regex.clone());
        Ok(regex)
    }
}

fn group(captures: &regex::Captures<'_>) -> Option<String> {
    captures
        .get(1)
        .or_else(|| captures.get(0))
        .map(|found| found.as_str().to_owned())
}
