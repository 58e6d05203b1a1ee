//! Parses calls that a model wrote as JSON: in the requested form, or in other common ones.

use serde_json::{Deserializer, Map, Value};

/// Keys of a call's arguments; the one we ask for comes first.
const INPUTS: [&str; 4] = ["input", "arguments", "parameters", "args"];

/// A call as the model wrote it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WrittenCall {
    pub(super) tool: String,
    pub(super) input: Value,
}

/// Parses the calls of a block; none if it is something else, such as JSON the user asked for.
///
/// A block that was clearly meant as a call and is not valid JSON becomes a call with its own text as
/// input: the tool refuses that, and so the model learns what was wrong.
pub(super) fn read(block: &str, offered: &[String]) -> Option<Vec<WrittenCall>> {
    if offered.is_empty() {
        return None;
    }
    let block = block.trim();
    let values = values(block).or_else(|| values(&with_escapes(block)));
    let Some(values) = values else {
        return near_miss(block, offered).map(|call| vec![call]);
    };
    let values = values.into_iter().flat_map(|value| match value {
        Value::Array(items) => items,
        other => vec![other],
    });
    let calls: Option<Vec<WrittenCall>> = values.map(|value| call(value, offered)).collect();
    calls.filter(|calls| !calls.is_empty())
}

/// The JSON values of a text, one behind the other.
fn values(text: &str) -> Option<Vec<Value>> {
    let values: Result<Vec<Value>, _> = Deserializer::from_str(text).into_iter().collect();
    values.ok()
}

fn call(value: Value, offered: &[String]) -> Option<WrittenCall> {
    let Value::Object(mut fields) = value else {
        return None;
    };
    let is_ours = fields.get("tool").is_some_and(Value::is_string);
    let Some(Value::String(tool)) = fields.shift_remove(if is_ours { "tool" } else { "name" })
    else {
        return None;
    };
    let key = INPUTS.into_iter().find(|key| fields.contains_key(*key));
    // An unknown tool name counts as a call only if the rest has the requested form.
    let looks_like_one = is_ours && key.is_some();
    if !looks_like_one && !is_offered(&tool, offered) {
        return None;
    }
    let input = match key.and_then(|key| fields.shift_remove(key)) {
        Some(Value::String(text)) => unpacked(text),
        Some(Value::Null) => Value::Object(Map::new()),
        Some(input) => input,
        None => Value::Object(fields),
    };
    Some(WrittenCall { tool, input })
}

/// Parses arguments that are encoded as a JSON string.
fn unpacked(text: String) -> Value {
    match serde_json::from_str(&text) {
        Ok(object @ Value::Object(_)) => object,
        _ => Value::String(text),
    }
}

fn is_offered(tool: &str, offered: &[String]) -> bool {
    offered.iter().any(|name| name.eq_ignore_ascii_case(tool))
}

fn near_miss(block: &str, offered: &[String]) -> Option<WrittenCall> {
    let behind = |key: &str| {
        let (_, rest) = block.split_once(key)?;
        let value = rest
            .trim_start()
            .strip_prefix(':')?
            .trim_start()
            .strip_prefix('"')?;
        value.split_once('"').map(|(name, _)| name)
    };
    let tool = behind("\"tool\"")
        .or_else(|| behind("\"name\""))
        .filter(|tool| is_offered(tool, offered))?;
    Some(WrittenCall {
        tool: tool.to_owned(),
        input: Value::String(block.to_owned()),
    })
}

/// Escapes line ends and tabs inside of strings: models forget that in file contents.
fn with_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut strings = JsonStringState::default();
    for letter in text.chars() {
        match letter {
            '\n' if strings.is_inside => out.push_str("\\n"),
            '\r' if strings.is_inside => out.push_str("\\r"),
            '\t' if strings.is_inside => out.push_str("\\t"),
            other => out.push(other),
        }
        strings.pass(letter);
    }
    out
}

/// Whether a place in a JSON text is inside of a string.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JsonStringState {
    pub(super) is_inside: bool,
    is_escaped: bool,
}

impl JsonStringState {
    /// Goes on by one character.
    pub(super) fn pass(&mut self, letter: char) {
        match letter {
            _ if self.is_escaped => self.is_escaped = false,
            '\\' if self.is_inside => self.is_escaped = true,
            '"' => self.is_inside = !self.is_inside,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn calls(block: &str) -> Option<Vec<(String, Value)>> {
        let offered = ["Read".to_owned(), "Bash".to_owned()];
        let calls = read(block, &offered)?;
        Some(
            calls
                .into_iter()
                .map(|call| (call.tool, call.input))
                .collect(),
        )
    }

    #[test]
    fn a_call_is_read_in_all_the_ways_models_spell_it() {
        let path = json!({"path": "a"});
        let table = [
            (r#"{"tool": "Read", "input": {"path": "a"}}"#, path.clone()),
            (r#"{"tool": "Read", "path": "a"}"#, path.clone()),
            (
                r#"{"name": "read", "arguments": {"path": "a"}}"#,
                path.clone(),
            ),
            (
                r#"{"name": "Read", "parameters": "{\"path\": \"a\"}"}"#,
                path.clone(),
            ),
            (r#"{"tool": "Read", "input": null}"#, json!({})),
            (r#"{"tool": "Read"}"#, json!({})),
            (
                "{\"tool\": \"Read\", \"input\": {\"path\": \"a\nb\"}}",
                json!({"path": "a\nb"}),
            ),
            (r#"{"tool": "Read", "input": "a"}"#, json!("a")),
        ];
        for (block, input) in table {
            let found = calls(block).unwrap_or_default();
            assert_eq!(
                found.iter().map(|(_, input)| input).collect::<Vec<_>>(),
                [&input],
                "{block}"
            );
        }
        let two = "{\"tool\": \"Read\", \"input\": {}}\n{\"tool\": \"Bash\", \"input\": {}}";
        assert_eq!(calls(two).unwrap().len(), 2);
        assert_eq!(
            calls(r#"[{"tool": "Read", "input": {}}, {"tool": "Bash"}]"#)
                .unwrap()
                .len(),
            2
        );
        assert_eq!(
            calls(r#"{"tool": "Glob", "input": {}}"#).unwrap()[0].0,
            "Glob",
            "the runtime says no"
        );
    }

    #[test]
    fn what_is_no_call_stays_text_and_a_near_miss_is_a_call_that_will_be_refused() {
        for block in [
            r#"{"name": "Ann", "age": 3}"#,
            r#"{"tool": "hammer", "price": 3}"#,
            "[]",
            "[1]",
            "{}",
            "{a",
            "\"x\"",
        ] {
            assert_eq!(calls(block), None, "{block}");
        }
        for block in [
            r#"{"tool": "Read", "input": {"path": "a"}"#,
            r#"{"tool": "Read", input: {path: a}}"#,
            r#"{"name" : "Bash", "arguments": {"command": "echo "hi""}}"#,
        ] {
            let found = calls(block).unwrap_or_default();
            assert!(
                matches!(found.as_slice(), [(_, Value::String(text))] if text == block),
                "{found:?}"
            );
        }
    }
}
