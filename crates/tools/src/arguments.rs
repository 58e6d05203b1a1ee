//! Tool arguments as a table: JSON schema for the model, accepted aliases, canonical names.
//!
//! A tool lists its arguments once. From that list come the JSON Schema the model reads and
//! the normaliser that renames aliases, forgives harmless mistakes and names the others.

use rooftree_protocol::ToolSpec;
use rooftree_stdx::shorten::shorten;
use serde_json::{Map, Value, json};

/// One argument of a tool.
pub struct ToolArgument {
    name: &'static str,
    kind: ArgumentKind,
    about: &'static str,
    aliases: &'static [&'static str],
    is_required: bool,
    is_shown: bool,
}

/// Type of an argument.
pub enum ArgumentKind {
    /// Text.
    Text,
    /// A whole number, not negative.
    Number,
    /// True or false.
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// A list of objects with these fields.
    Objects(&'static [ToolArgument]),
}

impl ToolArgument {
    /// An argument models are told about.
    pub const fn new(name: &'static str, kind: ArgumentKind, about: &'static str) -> Self {
        Self {
            name,
            kind,
            about,
            aliases: &[],
            is_required: false,
            is_shown: true,
        }
    }

    /// An argument models are not told about, because another one is its canonical form.
    pub const fn accepted(name: &'static str, kind: ArgumentKind) -> Self {
        Self {
            name,
            kind,
            about: "",
            aliases: &[],
            is_required: false,
            is_shown: false,
        }
    }

    /// One that must be there.
    pub const fn required(self) -> Self {
        Self {
            is_required: true,
            ..self
        }
    }

    /// Other names it is accepted under.
    pub const fn with_aliases(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its aliases.
    pub fn aliases(&self) -> &'static [&'static str] {
        self.aliases
    }

    fn answers_to(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// Tool spec for the model: name, description, and JSON schema of these arguments. Byte-stable.
pub fn spec(name: &str, description: &str, arguments: &[ToolArgument]) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: object_schema(arguments),
    }
}

/// Canonical arguments for what a model wrote, or what is wrong with it in words for the model.
pub fn normalise(
    tool: &str,
    arguments: &[ToolArgument],
    input: Value,
) -> Result<Map<String, Value>, String> {
    let written = object(input).ok_or_else(|| format!("{tool} takes an object of arguments."))?;
    let mut canonical = Map::new();
    for (name, value) in written {
        let argument = arguments.iter().find(|argument| argument.answers_to(&name));
        let argument = argument.ok_or_else(|| unknown(tool, &name, arguments))?;
        if value.is_null() {
            continue;
        }
        let shown = value.to_string();
        let value = coerce(tool, argument, value)?.ok_or_else(|| {
            format!(
                "{tool}: `{name}` must be {}, not {}.",
                words_for(&argument.kind),
                shorten(&shown, 60)
            )
        })?;
        if canonical
            .get(argument.name)
            .is_some_and(|earlier| *earlier != value)
        {
            return Err(format!(
                "{tool}: `{}` is given twice, with different values.",
                argument.name
            ));
        }
        canonical.insert(argument.name.to_owned(), value);
    }
    let is_missing =
        |argument: &&ToolArgument| argument.is_required && !canonical.contains_key(argument.name);
    let missing: Vec<String> = arguments
        .iter()
        .filter(is_missing)
        .map(|argument| format!("`{}`", argument.name))
        .collect();
    if missing.is_empty() {
        Ok(canonical)
    } else {
        Err(format!("{tool} needs {}.", missing.join(" and ")))
    }
}

/// The text of an argument that was normalised; empty if it is absent.
pub fn text<'a>(input: &'a Value, name: &str) -> &'a str {
    input.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The number of an argument that was normalised.
pub fn number(input: &Value, name: &str) -> Option<u64> {
    input.get(name).and_then(Value::as_u64)
}

/// Whether a flag is set.
pub fn flag(input: &Value, name: &str) -> bool {
    input.get(name).and_then(Value::as_bool).unwrap_or_default()
}

/// Built by moving: `json!` serializes again what is put into it, and every start of the program builds all schemas.
fn object_schema(arguments: &[ToolArgument]) -> Value {
    let shown = || arguments.iter().filter(|argument| argument.is_shown);
    let properties: Map<String, Value> = shown()
        .map(|argument| (argument.name.to_owned(), schema(argument)))
        .collect();
    let required: Vec<&str> = shown()
        .filter(|argument| argument.is_required)
        .map(|argument| argument.name)
        .collect();
    let mut object = of_type("object");
    object.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        object.insert("required".to_owned(), Value::from(required));
    }
    Value::Object(object)
}

fn of_type(name: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), Value::from(name))])
}

fn schema(argument: &ToolArgument) -> Value {
    let (name, more) = match argument.kind {
        ArgumentKind::Text => ("string", None),
        ArgumentKind::Number => ("integer", None),
        ArgumentKind::Flag => ("boolean", None),
        ArgumentKind::Choice(words) => ("string", Some(("enum", Value::from(words)))),
        ArgumentKind::Texts => ("array", Some(("items", Value::Object(of_type("string"))))),
        ArgumentKind::Objects(fields) => ("array", Some(("items", object_schema(fields)))),
    };
    let about = (!argument.about.is_empty()).then(|| ("description", argument.about.into()));
    let mut schema = of_type(name);
    let more = more.into_iter().chain(about);
    schema.extend(more.map(|(key, value)| (key.to_owned(), value)));
    Value::Object(schema)
}

/// Models sometimes write an object as text; nothing at all is an object without arguments.
fn object(input: Value) -> Option<Map<String, Value>> {
    match input {
        Value::Object(object) => Some(object),
        Value::Null => Some(Map::new()),
        Value::String(text) if text.trim().is_empty() => Some(Map::new()),
        Value::String(text) => serde_json::from_str(&text).ok(),
        _ => None,
    }
}

/// The value as it was surely meant; none if that cannot be said.
fn coerce(tool: &str, argument: &ToolArgument, value: Value) -> Result<Option<Value>, String> {
    Ok(match (&argument.kind, value) {
        (ArgumentKind::Text, text @ Value::String(_)) => Some(text),
        (ArgumentKind::Text, Value::Number(number)) => Some(json!(number.to_string())),
        (ArgumentKind::Number, Value::Number(number)) => whole(&number.to_string()),
        (ArgumentKind::Number, Value::String(text)) => whole(text.trim()),
        (ArgumentKind::Flag, flag @ Value::Bool(_)) => Some(flag),
        (ArgumentKind::Flag, Value::String(text)) => text
            .trim()
            .to_lowercase()
            .parse::<bool>()
            .ok()
            .map(Value::Bool),
        (ArgumentKind::Choice(words), Value::String(text)) => {
            words.contains(&text.as_str()).then(|| json!(text))
        }
        (ArgumentKind::Texts, value) => texts(value),
        (ArgumentKind::Objects(fields), value) => {
            objects(&format!("{tool} `{}`", argument.name), fields, value)?
        }
        _ => None,
    })
}

/// A list, or one text where a list is expected, which may be a list written as text.
fn texts(value: Value) -> Option<Value> {
    let items = match value {
        Value::Array(items) => items,
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Array(items)) => items,
            _ => text.split(',').map(|item| json!(item.trim())).collect(),
        },
        _ => return None,
    };
    items
        .iter()
        .all(Value::is_string)
        .then_some(Value::Array(items))
}

fn whole(text: &str) -> Option<Value> {
    let digits = text.strip_suffix(".0").unwrap_or(text);
    digits.parse::<u64>().ok().map(|number| json!(number))
}

/// A list, one element where a list is expected, or either of them written as text.
fn objects(place: &str, fields: &[ToolArgument], value: Value) -> Result<Option<Value>, String> {
    let items = match value {
        Value::Array(items) => items,
        object @ Value::Object(_) => vec![object],
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Array(items)) => items,
            Ok(object @ Value::Object(_)) => vec![object],
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    let items: Result<Vec<Value>, String> = items
        .into_iter()
        .enumerate()
        .map(|(at, item)| {
            normalise(&format!("{place} {}", at + 1), fields, item).map(Value::Object)
        })
        .collect();
    items.map(|items| Some(Value::Array(items)))
}

fn unknown(tool: &str, name: &str, arguments: &[ToolArgument]) -> String {
    let known: Vec<&str> = arguments
        .iter()
        .filter(|argument| argument.is_shown)
        .map(|argument| argument.name)
        .collect();
    format!(
        "{tool} does not know the argument `{name}`; it takes {}.",
        known.join(", ")
    )
}

fn words_for(kind: &ArgumentKind) -> String {
    match kind {
        ArgumentKind::Text => "text".to_owned(),
        ArgumentKind::Number => "a whole number".to_owned(),
        ArgumentKind::Flag => "true or false".to_owned(),
        ArgumentKind::Choice(words) => format!("one of {}", words.join(", ")),
        ArgumentKind::Texts => "a list of texts".to_owned(),
        ArgumentKind::Objects(_) => "a list of objects".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: [ToolArgument; 2] = [
        ToolArgument::new("old", ArgumentKind::Text, "")
            .required()
            .with_aliases(&["from"]),
        ToolArgument::new("all", ArgumentKind::Flag, ""),
    ];
    const ARGUMENTS: [ToolArgument; 6] = [
        ToolArgument::new("path", ArgumentKind::Text, "Where.")
            .required()
            .with_aliases(&["file"]),
        ToolArgument::new("limit", ArgumentKind::Number, ""),
        ToolArgument::new("mode", ArgumentKind::Choice(&["a", "b"]), ""),
        ToolArgument::new("edits", ArgumentKind::Objects(&FIELDS), ""),
        ToolArgument::new("names", ArgumentKind::Texts, ""),
        ToolArgument::accepted("secret", ArgumentKind::Flag),
    ];

    fn normalised(input: Value) -> Result<Value, String> {
        normalise("Try", &ARGUMENTS, input).map(Value::Object)
    }

    #[test]
    fn harmless_mistakes_are_forgiven() {
        let table = [
            (json!({"path": "x"}), json!({"path": "x"})),
            (
                json!({"file": "x", "limit": "5"}),
                json!({"path": "x", "limit": 5}),
            ),
            (
                json!({"path": 7, "limit": 5.0}),
                json!({"path": "7", "limit": 5}),
            ),
            (json!({"path": "x", "limit": null}), json!({"path": "x"})),
            (json!({"path": "x", "file": "x"}), json!({"path": "x"})),
            (json!("{\"path\": \"x\"}"), json!({"path": "x"})),
            (
                json!({"path": "x", "names": "a, b"}),
                json!({"path": "x", "names": ["a", "b"]}),
            ),
            (
                json!({"path": "x", "names": "[\"a\"]"}),
                json!({"path": "x", "names": ["a"]}),
            ),
            (
                json!({"path": "x", "edits": {"from": "a"}}),
                json!({"path": "x", "edits": [{"old": "a"}]}),
            ),
            (
                json!({"path": "x", "edits": "[{\"old\": \"a\", \"all\": \"TRUE\"}]"}),
                json!({"path": "x", "edits": [{"old": "a", "all": true}]}),
            ),
        ];
        for (written, canonical) in table {
            assert_eq!(normalised(written.clone()), Ok(canonical), "{written}");
        }
    }

    #[test]
    fn other_mistakes_are_named() {
        let table = [
            (json!({}), "Try needs `path`."),
            (json!([1]), "Try takes an object of arguments."),
            (json!("not json"), "Try takes an object of arguments."),
            (
                json!({"path": "x", "pth": 1}),
                "Try does not know the argument `pth`; it takes path, limit, mode, edits, names.",
            ),
            (
                json!({"path": "x", "limit": "many"}),
                "Try: `limit` must be a whole number, not \"many\".",
            ),
            (
                json!({"path": "x", "limit": -1}),
                "Try: `limit` must be a whole number, not -1.",
            ),
            (
                json!({"path": ["x"]}),
                "Try: `path` must be text, not [\"x\"].",
            ),
            (
                json!({"path": "x", "mode": "c"}),
                "Try: `mode` must be one of a, b, not \"c\".",
            ),
            (
                json!({"path": "x", "file": "y"}),
                "Try: `path` is given twice, with different values.",
            ),
            (
                json!({"path": "x", "names": [1]}),
                "Try: `names` must be a list of texts, not [1].",
            ),
            (
                json!({"path": "x", "edits": 5}),
                "Try: `edits` must be a list of objects, not 5.",
            ),
            (
                json!({"path": "x", "edits": [{}]}),
                "Try `edits` 1 needs `old`.",
            ),
        ];
        for (written, words) in table {
            assert_eq!(
                normalised(written.clone()),
                Err(words.to_owned()),
                "{written}"
            );
        }
    }

    #[test]
    fn the_schema_shows_what_models_should_write() {
        let schema = spec("Try", "Tries.", &ARGUMENTS).input_schema;
        assert_eq!(
            schema["properties"]["path"],
            json!({"type": "string", "description": "Where."})
        );
        assert_eq!(schema["required"], json!(["path"]));
        assert!(schema["properties"].get("secret").is_none());
    }
}
