//! Templates of webhooks: text with `{{path.to.field}}`, filled from a body. Pure; nothing is executed, and what is filled
//! in is never read as a template.

use serde_json::Value;

use crate::{FailureClass, SendError};

/// The longest text that a template may give, in bytes.
const LONGEST: usize = 256 << 10;

/// A template that was parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookTemplate(Vec<TemplatePiece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePiece {
    Text(String),
    /// Names of fields, or numbers of elements.
    Field(Vec<String>),
}

impl WebhookTemplate {
    /// Parses `New issue {{issue.title}} by {{issue.user.login}}`.
    pub fn parse(text: &str) -> Result<Self, SendError> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once("{{") {
            let Some((path, behind)) = behind.split_once("}}") else {
                return Err(wrong(text, "`{{` is not closed"));
            };
            pieces.push(TemplatePiece::Text(before.to_owned()));
            pieces.push(TemplatePiece::Field(parse_path(text, path)?));
            rest = behind;
        }
        pieces.push(TemplatePiece::Text(rest.to_owned()));
        Ok(Self(pieces))
    }

    /// The text with the fields of a body. A field that is not there is empty and told.
    pub(super) fn fill(&self, body: &Value, diagnostics: &mut Vec<String>) -> String {
        let mut out = String::new();
        for piece in &self.0 {
            match piece {
                TemplatePiece::Text(text) => out.push_str(text),
                TemplatePiece::Field(path) => match field(body, path) {
                    Some(text) => out.push_str(&text),
                    None => diagnostics.push(format!("the body has no field {}", path.join("."))),
                },
            }
        }
        if out.len() > LONGEST {
            diagnostics.push(format!("a text was cut at {LONGEST} bytes"));
            out.truncate(out.floor_char_boundary(LONGEST));
        }
        out
    }
}

fn parse_path(text: &str, path: &str) -> Result<Vec<String>, SendError> {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
    let names: Vec<String> = path.trim().split('.').map(str::to_owned).collect();
    let is_name = |name: &String| !name.is_empty() && name.chars().all(is_letter);
    if names.len() <= 16 && names.iter().all(is_name) {
        return Ok(names);
    }
    Err(wrong(
        text,
        "a field is names with dots between them, as in {{issue.title}}",
    ))
}

fn wrong(text: &str, why: &str) -> SendError {
    let words = format!("the template {text:?} cannot be used: {why}");
    SendError::new(FailureClass::InvalidPayload, words)
}

fn field(body: &Value, path: &[String]) -> Option<String> {
    let step = |value: &'_ Value, name: &String| -> Option<Value> {
        let found = match value {
            Value::Array(list) => list.get(name.parse::<usize>().ok()?),
            value => value.get(name),
        };
        found.cloned()
    };
    let mut value = body.clone();
    for name in path {
        value = step(&value, name)?;
    }
    match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(template: &str, body: &Value) -> (String, usize) {
        let mut diagnostics = Vec::new();
        let text = WebhookTemplate::parse(template)
            .unwrap()
            .fill(body, &mut diagnostics);
        (text, diagnostics.len())
    }

    #[test]
    fn fields_are_filled_in_and_missing_ones_are_empty_and_told() {
        let body = json!({"a": {"b": "x", "n": 5, "list": [{"c": true}], "none": null}, "k-e_y": "{{a.b}}"});
        for (template, text, missing) in [
            ("plain", "plain", 0),
            ("<{{a.b}}>", "<x>", 0),
            ("{{ a.n }}{{a.list.0.c}}", "5true", 0),
            ("{{a.list}}", "[{\"c\":true}]", 0),
            ("{{a.none}}{{a.b.c}}{{z}}{{a.list.7}}", "", 4),
            // What was filled in is no template.
            ("{{k-e_y}}", "{{a.b}}", 0),
            ("}} {a}", "}} {a}", 0),
        ] {
            assert_eq!(
                filled(template, &body),
                (text.to_owned(), missing),
                "{template}"
            );
        }
    }

    #[test]
    fn what_is_no_field_is_refused() {
        for template in [
            "{{",
            "{{a",
            "{{}}",
            "{{a..b}}",
            "{{a b}}",
            "{{a|upper}}",
            "{{{a}}}",
            "{{env('X')}}",
        ] {
            assert!(WebhookTemplate::parse(template).is_err(), "{template}");
        }
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let body = json!({"a": "語".repeat(100_000)});
        let (text, told) = filled("{{a}}", &body);
        assert!(text.len() <= LONGEST && text.chars().all(|letter| letter == '語'));
        assert_eq!(told, 1);
    }
}
