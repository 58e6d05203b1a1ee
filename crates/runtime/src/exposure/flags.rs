//! Parses command-line flags into the values a tool's schema expects.
//!
//! Only the tool's schema knows that `--limit 5` is a number, so flags stay text until they are here.

use rooftree_protocol::ToolSpec;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One flag, as it was typed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandFlag {
    /// Without its dashes.
    pub name: String,
    /// What follows it, if anything does.
    pub value: Option<String>,
}

/// Parses and validates the flags; an error says what is wrong with them.
pub(crate) fn input(spec: &ToolSpec, flags: &[CommandFlag]) -> Result<Value, String> {
    let none = Map::new();
    let properties = spec
        .input_schema
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&none);
    let mut input = Map::new();
    for CommandFlag { name, value } in flags {
        let known = properties.iter().find(|(known, _)| is_same(known, name));
        let (key, schema) = match known {
            Some((known, schema)) => (known.clone(), schema),
            // The tool says itself what it makes of it: it may be another name of an argument.
            None => (name.replace('-', "_"), &Value::Null),
        };
        let value = typed(name, value.as_deref(), schema)?;
        match (input.get_mut(&key), value) {
            (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
            (Some(_), _) => return Err(format!("--{name} is given twice")),
            (None, value) => drop(input.insert(key, value)),
        }
    }
    Ok(Value::Object(input))
}

fn is_same(known: &str, typed: &str) -> bool {
    known == typed || known.eq_ignore_ascii_case(&typed.replace('-', "_"))
}

fn typed(name: &str, value: Option<&str>, schema: &Value) -> Result<Value, String> {
    let kind = schema.get("type").and_then(Value::as_str);
    let Some(text) = value else {
        return match kind {
            Some("boolean") | None => Ok(true.into()),
            Some(_) => Err(format!("--{name} needs a value")),
        };
    };
    let json = || serde_json::from_str::<Value>(text).ok();
    let wrong = |wanted: &str| Err(format!("--{name} wants {wanted}, and `{text}` is none"));
    match kind {
        Some("string") => Ok(text.into()),
        Some("integer" | "number") => json()
            .filter(Value::is_number)
            .map_or_else(|| wrong("a number"), Ok),
        Some("boolean") => json()
            .filter(Value::is_boolean)
            .map_or_else(|| wrong("true or false"), Ok),
        Some("array") => Ok(list(text, schema)),
        Some("object") => json()
            .filter(Value::is_object)
            .map_or_else(|| wrong("a JSON object"), Ok),
        Some(_) | None if schema.is_null() => Ok(text.into()),
        Some(_) | None => Ok(json().unwrap_or_else(|| text.into())),
    }
}

/// A whole list as JSON, or one item of it.
fn list(text: &str, schema: &Value) -> Value {
    let json = || serde_json::from_str::<Value>(text).ok();
    if let Some(Value::Array(items)) = json().filter(|_| text.trim_start().starts_with('[')) {
        return Value::Array(items);
    }
    let is_text = schema.pointer("/items/type").and_then(Value::as_str) == Some("string");
    let item = if is_text {
        text.into()
    } else {
        json().unwrap_or_else(|| text.into())
    };
    Value::Array(vec![item])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    type Typed<'a> = &'a [(&'a str, Option<&'a str>)];

    fn read(flags: Typed<'_>) -> Result<Value, String> {
        let spec = ToolSpec {
            name: "T".into(),
            description: String::new(),
            input_schema: json!({"properties": {
                "file_path": {"type": "string"},
                "limit": {"type": "integer"},
                "deep": {"type": "boolean"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "filter": {"type": "object"},
                "any": {},
            }}),
        };
        let flag = |(name, value): &(&str, Option<&str>)| CommandFlag {
            name: (*name).to_owned(),
            value: value.map(str::to_owned),
        };
        input(&spec, &flags.iter().map(flag).collect::<Vec<_>>())
    }

    #[test]
    fn flags_become_what_the_schema_wants() {
        let table: [(Typed<'_>, Value); 7] = [
            (
                &[("file-path", Some("5")), ("limit", Some("5"))],
                json!({"file_path": "5", "limit": 5}),
            ),
            (&[("FILE_PATH", Some("a"))], json!({"file_path": "a"})),
            (&[("deep", None)], json!({"deep": true})),
            (&[("deep", Some("false"))], json!({"deep": false})),
            (
                &[("tags", Some("1")), ("tags", Some(r#"["b"]"#))],
                json!({"tags": ["1", "b"]}),
            ),
            (
                &[("filter", Some(r#"{"a":1}"#)), ("any", Some("[1]"))],
                json!({"filter": {"a": 1}, "any": [1]}),
            ),
            (&[("un-known", Some("7"))], json!({"un_known": "7"})),
        ];
        for (flags, wanted) in table {
            assert_eq!(read(flags).unwrap(), wanted);
        }
    }

    #[test]
    fn what_cannot_be_meant_is_said() {
        let table: [(Typed<'_>, &str); 4] = [
            (
                &[("limit", Some("many"))],
                "--limit wants a number, and `many` is none",
            ),
            (&[("file-path", None)], "--file-path needs a value"),
            (
                &[("limit", Some("1")), ("limit", Some("2"))],
                "--limit is given twice",
            ),
            (
                &[("filter", Some("x"))],
                "--filter wants a JSON object, and `x` is none",
            ),
        ];
        for (flags, wanted) in table {
            assert_eq!(read(flags).unwrap_err(), wanted);
        }
    }
}
