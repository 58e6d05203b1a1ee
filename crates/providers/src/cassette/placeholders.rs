//! Replaces what differs between two runs of the same work with placeholders, and restores it.
//!
//! Ids and times become `‹call:1›`, `‹time:1›`: their kind, and their order within one request. A
//! conversation only grows, so the order of earlier ones stays. Known texts, such as the
//! working directory, become `‹cwd›`, and the time another agent took `‹spent›`.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use regex::{Captures, Regex};
use serde_json::Value;

/// Pattern of ids and times.
static VARYING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let ids = r"\b(?<kind>ses|run|msg|call|per|prc|sys)_[a-z][a-z0-9]{23}\b";
    let times = r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})?";
    // As a delegated run's answer ends: two of them may have taken equally long at one time and not at another.
    let spent = r"(?<before>\b\d+ calls?, )\d+\.\d s\b";
    Regex::new(&format!("{ids}|{times}|{spent}")).ok()
});

/// Minimum length of a known text: a shorter one occurs everywhere and is not replaced.
const SHORTEST: usize = 4;

/// Redacts a text before it is recorded; returns none if it stays as it is.
pub type TextRedactor = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Texts of this run that are recorded as placeholders.
#[derive(Clone, Default)]
pub struct Placeholders {
    known: Vec<(String, String)>,
    hidden: Vec<(String, String)>,
    cleaning: Option<TextRedactor>,
}

impl Placeholders {
    /// Adds a text, which is restored when the recording is replayed.
    pub fn with_placeholder(mut self, name: &str, text: impl Into<String>) -> Self {
        add(&mut self.known, name, text.into());
        self
    }

    /// Adds a secret, which must not be recorded and is not restored.
    pub fn with_secret(mut self, name: &str, secret: impl Into<String>) -> Self {
        add(&mut self.hidden, name, secret.into());
        self
    }

    /// Adds a redactor for every text: what it removes is not restored.
    pub fn with_redactor(mut self, cleaning: TextRedactor) -> Self {
        self.cleaning = Some(cleaning);
        self
    }

    fn hide(&self, text: &str) -> String {
        let all = self.hidden.iter().chain(&self.known);
        let text = all.fold(text.to_owned(), |text, (known, name)| {
            replaced(&text, known, name)
        });
        self.cleaning
            .as_ref()
            .and_then(|clean| clean(&text))
            .unwrap_or(text)
    }
}

/// Sorts longer texts first: one may be the beginning of another.
fn add(names: &mut Vec<(String, String)>, name: &str, text: String) {
    if text.len() >= SHORTEST {
        names.push((text, format!("‹{name}›")));
        names.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
    }
}

/// Replaces a text, except where it is only the beginning of a longer word.
fn replaced(text: &str, known: &str, name: &str) -> String {
    let mut done = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(known) {
        let goes_on =
            after.starts_with(|next: char| next.is_alphanumeric() || matches!(next, '_' | '-'));
        done.push_str(before);
        done.push_str(if goes_on { known } else { name });
        rest = after;
    }
    done.push_str(rest);
    done
}

/// The ids and times of one request, in order.
pub(super) struct PlaceholderMap {
    names: Arc<Placeholders>,
    found: Vec<(String, String)>,
    counts: HashMap<String, usize>,
}

impl PlaceholderMap {
    pub(super) fn new(names: &Arc<Placeholders>) -> Self {
        Self {
            names: names.clone(),
            found: Vec::new(),
            counts: HashMap::new(),
        }
    }

    /// Replaces in a request everything that differs between runs.
    pub(super) fn hide(&mut self, value: &mut Value) {
        each_text(value, &mut |text| *text = self.hidden(text));
    }

    /// Replaces in an answer what occurs in its request.
    pub(super) fn hide_known(&self, value: &mut Value) {
        each_text(value, &mut |text| {
            let named = self.names.hide(text);
            *text = self
                .found
                .iter()
                .fold(named, |text, (found, name)| text.replace(found, name));
        });
    }

    /// Restores placeholders in an answer with the values of the request.
    pub(super) fn reveal(&self, value: &mut Value) {
        let pairs = || self.names.known.iter().chain(&self.found);
        each_text(value, &mut |text| {
            if text.contains('‹') {
                *text = pairs().fold(text.clone(), |text, (found, name)| {
                    text.replace(name, found)
                });
            }
        });
    }

    fn hidden(&mut self, text: &str) -> String {
        let text = self.names.hide(text);
        match VARYING.as_ref() {
            Some(varying) => varying
                .replace_all(&text, |found: &Captures<'_>| self.name(found))
                .into_owned(),
            None => text,
        }
    }

    fn name(&mut self, found: &Captures<'_>) -> String {
        if let Some(before) = found.name("before") {
            return format!("{}‹spent›", before.as_str());
        }
        let text = found.get(0).map_or("", |whole| whole.as_str());
        if let Some((_, name)) = self.found.iter().find(|(known, _)| known == text) {
            return name.clone();
        }
        let kind = found.name("kind").map_or("time", |kind| kind.as_str());
        let count = self.counts.entry(kind.to_owned()).or_default();
        *count += 1;
        let name = format!("‹{kind}:{count}›");
        self.found.push((text.to_owned(), name.clone()));
        name
    }
}

/// Visits every string in a value. Keys are names of ours or of tools and do not vary.
fn each_text(value: &mut Value, change: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| each_text(field, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ONE: &str = "call_abcdefghijklmnopqrstuvwx";
    const TWO: &str = "call_zbcdefghijklmnopqrstuvw9";

    #[test]
    fn ids_and_times_are_written_by_their_order_and_come_back_as_those_of_the_new_run() {
        let names = Arc::new(Placeholders::default().with_placeholder("cwd", "/tmp/first"));
        let mut question = json!([
            ONE,
            format!("{TWO} and {ONE} at 2026-11-15T18:42:07.113Z"),
            "/tmp/first/a"
        ]);
        let mut order = PlaceholderMap::new(&names);
        order.hide(&mut question);
        assert_eq!(
            question,
            json!(["‹call:1›", "‹call:2› and ‹call:1› at ‹time:1›", "‹cwd›/a"])
        );
        let mut answer = json!({ "input": { "id": TWO, "path": "/tmp/first/b" } });
        order.hide_known(&mut answer);
        assert_eq!(
            answer,
            json!({ "input": { "id": "‹call:2›", "path": "‹cwd›/b" } })
        );

        let names = Arc::new(Placeholders::default().with_placeholder("cwd", "/tmp/second"));
        let mut order = PlaceholderMap::new(&names);
        order.hide(&mut json!([TWO, ONE]));
        order.reveal(&mut answer);
        assert_eq!(
            answer,
            json!({ "input": { "id": ONE, "path": "/tmp/second/b" } })
        );
    }

    #[test]
    fn how_long_another_agent_took_does_not_matter() {
        let hidden = |text: &str| {
            let mut text = json!(text);
            PlaceholderMap::new(&Arc::default()).hide(&mut text);
            text
        };
        let recorded = hidden("[2 turns, 1 calls, 12.3 s] and [1 turns, 0 calls, 12.3 s]");
        assert_eq!(
            recorded,
            json!("[2 turns, 1 calls, ‹spent›] and [1 turns, 0 calls, ‹spent›]")
        );
        assert_eq!(
            hidden("[2 turns, 1 calls, 0.0 s] and [1 turns, 0 calls, 0.1 s]"),
            recorded
        );
        assert_eq!(hidden("it took 12.3 s"), json!("it took 12.3 s"));
    }

    #[test]
    fn a_longer_word_is_not_a_known_one_and_a_secret_does_not_come_back() {
        let names = Placeholders::default()
            .with_placeholder("cwd", "/tmp/a")
            .with_placeholder("x", "no")
            .with_secret("key", "sk-123456");
        let names = Arc::new(names);
        let mut text = json!("/tmp/abc /tmp/a. /tmp/a-b no sk-123456");
        let mut order = PlaceholderMap::new(&names);
        order.hide(&mut text);
        assert_eq!(text, json!("/tmp/abc ‹cwd›. /tmp/a-b no ‹key›"));
        order.reveal(&mut text);
        assert_eq!(text, json!("/tmp/abc /tmp/a. /tmp/a-b no ‹key›"));
    }
}
