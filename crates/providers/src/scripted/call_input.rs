//! Parses a call's input: any TOML value that JSON can represent.

use serde_json::Value;
use toml::{Spanned, de::DeValue};

use super::{
    entry::InputTemplate,
    script_position::{ScriptError, ScriptPosition},
    toml_fields::{passage, whole},
};

/// Converts a TOML value to JSON whose strings may be templates.
pub(crate) fn shape(
    source: &str,
    value: &Spanned<DeValue<'_>>,
) -> Result<InputTemplate, ScriptError> {
    let refused =
        |what: &str| ScriptError::new(ScriptPosition::of(source, value.span().start), what);
    Ok(match value.get_ref() {
        DeValue::String(_) => InputTemplate::Text(passage(source, value).unwrap_or_default()),
        DeValue::Boolean(flag) => InputTemplate::Fixed(Value::Bool(*flag)),
        DeValue::Integer(_) => match whole(value.get_ref()) {
            Some(number) => InputTemplate::Fixed(number.into()),
            None => return Err(refused("the number is too large")),
        },
        DeValue::Float(number) => {
            match number
                .as_str()
                .parse::<f64>()
                .ok()
                .and_then(serde_json::Number::from_f64)
            {
                Some(number) => InputTemplate::Fixed(Value::Number(number)),
                None => return Err(refused("JSON has no such number")),
            }
        }
        DeValue::Datetime(_) => return Err(refused("JSON has no dates").fix("put it in quotes")),
        DeValue::Array(items) => InputTemplate::List(
            items
                .iter()
                .map(|item| shape(source, item))
                .collect::<Result<_, _>>()?,
        ),
        DeValue::Table(table) => {
            // The parser sorts keys by name; restore the order in which they were written.
            let mut fields: Vec<_> = table.iter().collect();
            fields.sort_by_key(|(key, _)| key.span().start);
            let read = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
                let key: &std::borrow::Cow<'_, str> = key.get_ref();
                Ok((key.to_string(), shape(source, value)?))
            };
            InputTemplate::Table(
                fields
                    .into_iter()
                    .map(read)
                    .collect::<Result<_, ScriptError>>()?,
            )
        }
    })
}

#[cfg(test)]
mod tests {
    use crate::scripted::{parse::read, templates::ScriptTemplates};

    #[test]
    fn the_input_of_a_call_keeps_the_order_it_is_written_in() {
        let text =
            "[[reply]]\n[[reply.call]]\ntool = \"T\"\ninput = {b = 1, a = [0x10, 2.5, {z = true}]}";
        let (_, entries) = read(text).unwrap();
        let shape = &entries[0].words.calls[0].input;
        let json = ScriptTemplates::default()
            .json(shape, &minijinja::Value::UNDEFINED)
            .unwrap();
        assert_eq!(json.to_string(), r#"{"b":1,"a":[16,2.5,{"z":true}]}"#);
    }
}
