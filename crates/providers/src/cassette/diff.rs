//! Finds the first difference between a recorded request and a new one, with both sides shown.

use rooftree_stdx::shorten::shorten;
use serde_json::Value;

/// Characters shown before the first difference of two texts, and from there on.
const BEFORE: usize = 40;
const AFTER: usize = 160;

/// The first difference: its path, the recorded value, the value now.
pub(super) fn first(recorded: &Value, now: &Value) -> Option<(String, String, String)> {
    if recorded == now {
        return None;
    }
    match (recorded, now) {
        (Value::Object(old), Value::Object(new)) => {
            let names = old
                .keys()
                .chain(new.keys().filter(|name| !old.contains_key(*name)));
            names
                .into_iter()
                .find_map(|name| below(name, old.get(name), new.get(name)))
        }
        (Value::Array(old), Value::Array(new)) => (0..old.len().max(new.len()))
            .find_map(|at| below(&at.to_string(), old.get(at), new.get(at))),
        (Value::String(old), Value::String(new)) => {
            let same = old
                .chars()
                .zip(new.chars())
                .take_while(|(old, new)| old == new)
                .count();
            Some((String::new(), around(old, same), around(new, same)))
        }
        _ => Some((String::new(), shown(Some(recorded)), shown(Some(now)))),
    }
}

fn below(name: &str, old: Option<&Value>, new: Option<&Value>) -> Option<(String, String, String)> {
    match (old, new) {
        (Some(old), Some(new)) => {
            first(old, new).map(|(place, old, new)| (format!("/{name}{place}"), old, new))
        }
        _ => Some((format!("/{name}"), shown(old), shown(new))),
    }
}

/// The part of a text around a position.
fn around(text: &str, at: usize) -> String {
    let from = at.saturating_sub(BEFORE);
    let piece: String = text.chars().skip(from).take(BEFORE + AFTER).collect();
    let (begin, end) = (
        if from > 0 { "…" } else { "" },
        if text.chars().count() > from + BEFORE + AFTER {
            "…"
        } else {
            ""
        },
    );
    format!("{begin}{piece:?}{end}")
}

fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "nothing".to_owned();
    };
    shorten(&value.to_string(), BEFORE + AFTER)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_difference_is_shown_with_its_place() {
        let told = |old: Value, new: Value| first(&old, &new);
        assert_eq!(told(json!({ "a": [1] }), json!({ "a": [1] })), None);
        let table = [
            (
                json!({ "a": [1, 2] }),
                json!({ "a": [1, 3] }),
                ("/a/1", "2", "3"),
            ),
            (
                json!({ "a": [1] }),
                json!({ "a": [1, "x"] }),
                ("/a/1", "nothing", "\"x\""),
            ),
            (json!({ "a": 1 }), json!({ "b": 1 }), ("/a", "1", "nothing")),
            (json!(["ab"]), json!(["ac"]), ("/0", "\"ab\"", "\"ac\"")),
        ];
        for (old, new, (place, was, is)) in table {
            assert_eq!(told(old, new), Some((place.into(), was.into(), is.into())));
        }
        let long = "x".repeat(1_000);
        let (_, was, is) = told(json!(format!("{long}a")), json!(format!("{long}b"))).unwrap();
        assert!(
            was.starts_with('…') && was.ends_with("a\"") && is.ends_with("b\"") && was.len() < 100,
            "{was}"
        );
    }
}
