//! Validates tool arguments against the tool's JSON schema before they are sent, so that the model gets the error at
//! once.
//!
//! Only clear errors are refused: a missing argument, an unknown argument, a wrong type. The server validates the
//! rest, with its own messages.

use serde_json::{Map, Value};

/// The arguments as an object, or what is wrong with them in words for the model.
pub(super) fn checked(schema: &Value, input: Value) -> Result<Value, String> {
    let arguments = match input {
        Value::Null => Map::new(),
        Value::Object(arguments) => arguments,
        other => {
            return Err(format!(
                "the arguments must be an object, not {}",
                kind_of(&other)
            ));
        }
    };
    let known = schema.get("properties").and_then(Value::as_object);
    let required = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let missing: Vec<&str> = required
        .filter_map(Value::as_str)
        .filter(|name| !arguments.contains_key(*name))
        .collect();
    if !missing.is_empty() {
        return Err(format!(
            "missing: {}. {}",
            missing.join(", "),
            there_are(known)
        ));
    }
    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    for (name, value) in &arguments {
        match known.and_then(|known| known.get(name)) {
            Some(property) => check_one(name, property, value)?,
            None if is_closed => {
                return Err(format!(
                    "there is no argument `{name}`. {}",
                    there_are(known)
                ));
            }
            None => {}
        }
    }
    Ok(Value::Object(arguments))
}

fn check_one(name: &str, property: &Value, value: &Value) -> Result<(), String> {
    let wanted: Vec<&str> = match property.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !wanted.is_empty() && !wanted.iter().any(|kind| is_a(value, kind)) {
        return Err(format!(
            "`{name}` must be {}, not {}",
            wanted.join(" or "),
            kind_of(value)
        ));
    }
    match property.get("enum").and_then(Value::as_array) {
        Some(choices) if !choices.contains(value) => {
            let choices: Vec<String> = choices.iter().take(32).map(ToString::to_string).collect();
            Err(format!("`{name}` must be one of {}", choices.join(", ")))
        }
        _ => Ok(()),
    }
}

fn is_a(value: &Value, kind: &str) -> bool {
    match kind {
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "object" | "array" | "string" | "number" | "boolean" | "null" => kind_of(value) == kind,
        // An unknown type accepts every value.
        _ => true,
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn there_are(known: Option<&Map<String, Value>>) -> String {
    let names: Vec<&str> = known
        .into_iter()
        .flat_map(Map::keys)
        .map(String::as_str)
        .collect();
    if names.is_empty() {
        "It takes no arguments".to_owned()
    } else {
        format!("It takes: {}", names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_surely_wrong_is_told_and_the_rest_is_left_to_the_server() {
        let schema = json!({
            "type": "object",
            "properties": {
                "n": { "type": "integer" },
                "unit": { "type": ["string", "null"], "enum": ["m", "s", null] },
                "any": {},
            },
            "required": ["n"],
            "additionalProperties": false,
        });
        for good in [
            json!({"n": 1}),
            json!({"n": 2.0, "unit": null}),
            json!({"n": 3, "any": [1], "unit": "s"}),
        ] {
            assert_eq!(checked(&schema, good.clone()), Ok(good));
        }
        for (bad, words) in [
            (json!([1]), "must be an object, not array"),
            (json!(null), "missing: n. It takes: n, unit, any"),
            (json!({"n": "1"}), "`n` must be integer, not string"),
            (json!({"n": 1.5}), "`n` must be integer, not number"),
            (
                json!({"n": 1, "unit": "kg"}),
                "`unit` must be one of \"m\", \"s\", null",
            ),
            (json!({"n": 1, "m": 2}), "there is no argument `m`"),
        ] {
            let told = checked(&schema, bad.clone()).unwrap_err();
            assert!(told.contains(words), "{bad}: {told}");
        }
        assert_eq!(checked(&json!({}), json!(null)), Ok(json!({})));
        assert_eq!(
            checked(&json!({"type": "object"}), json!({"x": 1})),
            Ok(json!({"x": 1}))
        );
    }
}
