//! Sanitizes text of a server: removes control and invisible characters, and limits its length.

use serde_json::Value;

/// Characters of a tool's description that a model reads.
pub(super) const DESCRIPTION: usize = 4_000;
/// Characters of an error that a model reads.
pub(super) const COMPLAINT: usize = 2_000;
/// How deep a schema may be.
const DEPTH: usize = 24;
/// Bytes of a schema that a model reads.
pub(super) const SCHEMA: usize = 64 * 1024;

/// The text without what people do not see, cut to so many characters.
pub(super) fn sanitize_text(text: &str, limit: usize) -> String {
    let mut seen = text.chars().filter(|letter| !is_hidden(*letter));
    let mut kept: String = seen.by_ref().take(limit).collect();
    if seen.next().is_some() {
        kept.push('…');
    }
    kept.trim().to_owned()
}

/// Whether people do not see a character that a model reads, or a terminal obeys it.
fn is_hidden(letter: char) -> bool {
    let is_control = letter.is_control() && !matches!(letter, '\n' | '\t');
    is_control
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// A schema whose texts are clean; none if it is too large or too deep to be shown to a model.
pub(super) fn sanitize_schema(schema: &Value) -> Option<Value> {
    let clean = clean_value(schema, DEPTH)?;
    (clean.to_string().len() <= SCHEMA).then_some(clean)
}

fn clean_value(value: &Value, depth: usize) -> Option<Value> {
    let below = depth.checked_sub(1)?;
    Some(match value {
        Value::String(text) => Value::String(sanitize_text(text, DESCRIPTION)),
        Value::Array(items) => items
            .iter()
            .map(|item| clean_value(item, below))
            .collect::<Option<_>>()?,
        Value::Object(entries) => {
            let clean = |(key, value): (&String, &Value)| {
                Some((sanitize_text(key, 256), clean_value(value, below)?))
            };
            Value::Object(entries.iter().map(clean).collect::<Option<_>>()?)
        }
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_people_do_not_see_is_not_read_by_models_either() {
        let text = "Adds\u{1b}[8m hidden\u{202e} \u{200b}num\u{e0041}bers.\r\nTwo.\u{0}";
        assert_eq!(sanitize_text(text, 100), "Adds[8m hidden numbers.\nTwo.");
        assert_eq!(sanitize_text("abcdef", 3), "abc…");
    }

    #[test]
    fn a_schema_is_cleaned_all_through_and_has_a_bound() {
        let schema = json!({ "properties": { "a": { "description": "x\u{200b}y" } } });
        assert_eq!(
            sanitize_schema(&schema).unwrap(),
            json!({ "properties": { "a": { "description": "xy" } } })
        );
        let deep = (0..40).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(sanitize_schema(&deep), None);
        let wide: Vec<String> = (0..9_000).map(|number| format!("value {number}")).collect();
        assert_eq!(sanitize_schema(&json!({ "enum": wide })), None);
    }
}
