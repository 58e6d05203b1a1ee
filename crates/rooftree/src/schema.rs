//! Simplifies JSON Schemas for models: inlines references, removes null and formats they do not know.

use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::transform_subschemas};
use serde_json::{Map, Value};

/// The JSON Schema of this type, as models are told it.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    simplify(&mut schema);
    schema.remove("title");
    schema.into()
}

fn simplify(schema: &mut Schema) {
    if let Some(object) = schema.as_object_mut() {
        without_null(object);
        // `uint64` and its like mean nothing to a model, and some providers refuse them.
        if object
            .get("type")
            .is_some_and(|kind| kind == "integer" || kind == "number")
        {
            object.remove("format");
        }
    }
    transform_subschemas(&mut simplify, schema);
}

/// What may be null may as well be left out, which is simpler to say.
fn without_null(object: &mut Map<String, Value>) {
    let single = match object
        .get("type")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
    {
        Some([kind, null]) if null == "null" => Some(kind.clone()),
        _ => None,
    };
    if let Some(kind) = single {
        object.insert("type".to_owned(), kind);
    }
    let single = match object
        .get("anyOf")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
    {
        Some([Value::Object(one), null]) if null.get("type").is_some_and(|kind| kind == "null") => {
            Some(one.clone())
        }
        _ => None,
    };
    if let Some(one) = single {
        object.remove("anyOf");
        for (key, value) in one {
            object.entry(key).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Place {
        /// Where.
        street: String,
        number: Option<u32>,
        beside: Option<Neighbour>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Neighbour {
        name: String,
    }

    #[test]
    fn a_schema_is_whole_and_plain() {
        let expected = json!({
            "type": "object",
            "properties": {
                "street": {"description": "Where.", "type": "string"},
                "number": {"type": "integer", "minimum": 0},
                "beside": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
            },
            "required": ["street"],
        });
        assert_eq!(schema_of::<Place>(), expected);
    }
}
