//! Validates JSON against a JSON Schema: the keywords that describe data for models. Pure.

use serde_json::Value;

/// How deep a value or a chain of references is followed.
const DEEPEST: usize = 64;
/// Keywords that are checked.
const CHECKED: [&str; 22] = [
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "items",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "not",
    "oneOf",
    "prefixItems",
    "properties",
    "required",
    "type",
    "uniqueItems",
];
/// Keywords that describe, and forbid nothing.
const DESCRIBING: [&str; 13] = [
    "$comment",
    "$defs",
    "$id",
    "$schema",
    "default",
    "definitions",
    "deprecated",
    "description",
    "examples",
    "format",
    "readOnly",
    "title",
    "writeOnly",
];

/// The first thing in a value that does not fit the schema, with its place; none if it fits.
pub fn mismatch(schema: &Value, value: &Value) -> Option<String> {
    let check = SchemaCheck { root: schema };
    check.value(schema, value, "", 0).err()
}

/// Keywords of the schema that are not checked here, each once.
pub fn unchecked(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect_unchecked(schema, &mut found);
    found.sort();
    found.dedup();
    found
}

fn collect_unchecked(schema: &Value, found: &mut Vec<String>) {
    let Value::Object(keywords) = schema else {
        return;
    };
    for (keyword, inner) in keywords {
        match (keyword.as_str(), inner) {
            ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                named.values().for_each(|one| collect_unchecked(one, found));
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(several)) => {
                several.iter().for_each(|one| collect_unchecked(one, found));
            }
            ("items" | "additionalProperties" | "not", inner) => collect_unchecked(inner, found),
            (known, _) if CHECKED.contains(&known) || DESCRIBING.contains(&known) => {}
            (unknown, _) => found.push(unknown.to_owned()),
        }
    }
}

struct SchemaCheck<'a> {
    /// The whole schema, where references begin.
    root: &'a Value,
}

/// What does not fit, in words.
type Checked = Result<(), String>;

impl SchemaCheck<'_> {
    fn value(&self, schema: &Value, value: &Value, place: &str, depth: usize) -> Checked {
        if depth > DEEPEST {
            return Err(format!("{} is nested too deep", named(place)));
        }
        let keywords = match schema {
            Value::Bool(false) => return Err(format!("{} must not be there", named(place))),
            Value::Object(keywords) => keywords,
            _ => return Ok(()),
        };
        for (keyword, wanted) in keywords {
            self.keyword((keyword, wanted), value, place, depth)?;
        }
        if let Value::Object(fields) = value {
            self.fields(keywords, fields, place, depth)?;
        }
        if let Value::Array(items) = value {
            self.items(keywords, items, place, depth)?;
        }
        Ok(())
    }

    /// The keywords that look at the value as a whole.
    fn keyword(
        &self,
        (keyword, wanted): (&str, &Value),
        value: &Value,
        place: &str,
        depth: usize,
    ) -> Checked {
        let fits = |schema: &Value| self.value(schema, value, place, depth + 1).is_ok();
        let several = wanted.as_array().map(Vec::as_slice).unwrap_or_default();
        let must = |holds: bool, what: String| {
            let wrong = || format!("{} must {what}", named(place));
            if holds { Ok(()) } else { Err(wrong()) }
        };
        let number = |holds: fn(f64, f64) -> bool| match (value.as_f64(), wanted.as_f64()) {
            (Some(value), Some(wanted)) => holds(value, wanted),
            _ => true,
        };
        let length = |holds: fn(usize, usize) -> bool| match (value.as_str(), wanted.as_u64()) {
            (Some(text), Some(wanted)) => holds(
                text.chars().count(),
                usize::try_from(wanted).unwrap_or(usize::MAX),
            ),
            _ => true,
        };
        match keyword {
            "$ref" => match self.reference(wanted) {
                Some(schema) => self.value(schema, value, place, depth + 1),
                None => Err(format!("the schema has no {wanted}")),
            },
            "type" => must(is_of_type(wanted, value), format!("be {}", types(wanted))),
            "const" => must(value == wanted, format!("be {wanted}")),
            "enum" => must(several.contains(value), format!("be one of {wanted}")),
            "minimum" => must(
                number(|value, least| value >= least),
                format!("be at least {wanted}"),
            ),
            "maximum" => must(
                number(|value, most| value <= most),
                format!("be at most {wanted}"),
            ),
            "exclusiveMinimum" => must(
                number(|value, least| value > least),
                format!("be more than {wanted}"),
            ),
            "exclusiveMaximum" => must(
                number(|value, most| value < most),
                format!("be less than {wanted}"),
            ),
            "minLength" => must(
                length(|length, least| length >= least),
                format!("have at least {wanted} characters"),
            ),
            "maxLength" => must(
                length(|length, most| length <= most),
                format!("have at most {wanted} characters"),
            ),
            "allOf" => several
                .iter()
                .try_for_each(|one| self.value(one, value, place, depth + 1)),
            "anyOf" => must(
                several.iter().any(fits),
                "fit one of the alternatives".into(),
            ),
            "oneOf" => must(
                several.iter().filter(|one| fits(one)).count() == 1,
                "fit exactly one of the alternatives".into(),
            ),
            "not" => must(!fits(wanted), "not be what the schema excludes".into()),
            _ => Ok(()),
        }
    }

    fn fields(
        &self,
        keywords: &serde_json::Map<String, Value>,
        fields: &serde_json::Map<String, Value>,
        place: &str,
        depth: usize,
    ) -> Checked {
        let required = keywords.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                return Err(format!("{} lacks `{name}`", named(place)));
            }
        }
        let known = keywords.get("properties").and_then(Value::as_object);
        for (name, value) in fields {
            let below = format!("{place}/{name}");
            let schema = known
                .and_then(|known| known.get(name))
                .or_else(|| keywords.get("additionalProperties"));
            match schema {
                Some(Value::Bool(false)) => {
                    return Err(format!(
                        "{} has `{name}`, which the schema does not know",
                        named(place)
                    ));
                }
                Some(schema) => self.value(schema, value, &below, depth + 1)?,
                None => {}
            }
        }
        Ok(())
    }

    fn items(
        &self,
        keywords: &serde_json::Map<String, Value>,
        items: &[Value],
        place: &str,
        depth: usize,
    ) -> Checked {
        let count = |keyword: &str| {
            let count = keywords.get(keyword).and_then(Value::as_u64)?;
            usize::try_from(count).ok()
        };
        if let Some(least) = count("minItems").filter(|least| items.len() < *least) {
            return Err(format!("{} must have at least {least} items", named(place)));
        }
        if let Some(most) = count("maxItems").filter(|most| items.len() > *most) {
            return Err(format!("{} must have at most {most} items", named(place)));
        }
        let is_unique = keywords.get("uniqueItems") == Some(&Value::Bool(true));
        let mut earlier = items.iter().enumerate();
        if is_unique && earlier.any(|(at, item)| items.iter().take(at).any(|other| other == item)) {
            return Err(format!(
                "{} must not have the same item twice",
                named(place)
            ));
        }
        let first = keywords.get("prefixItems").and_then(Value::as_array);
        let first = first.map(Vec::as_slice).unwrap_or_default();
        for (at, item) in items.iter().enumerate() {
            if let Some(schema) = first.get(at).or_else(|| keywords.get("items")) {
                self.value(schema, item, &format!("{place}/{at}"), depth + 1)?;
            }
        }
        Ok(())
    }

    /// A schema elsewhere in this one: `#/$defs/step`.
    fn reference(&self, reference: &Value) -> Option<&Value> {
        let pointer = reference.as_str()?.strip_prefix('#')?;
        self.root.pointer(pointer)
    }
}

fn is_of_type(wanted: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => true,
    };
    match wanted {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}

fn types(wanted: &Value) -> String {
    match wanted {
        Value::String(name) => format!("of type {name}"),
        several => format!("of one of the types {several}"),
    }
}

fn named(place: &str) -> String {
    if place.is_empty() {
        "the answer".to_owned()
    } else {
        format!("`{place}`")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_fits_fits_and_what_does_not_is_told_with_its_place() {
        let schema = json!({
            "type": "object",
            "required": ["steps", "risk"],
            "additionalProperties": false,
            "properties": {
                "steps": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/step"}},
                "risk": {"enum": ["low", "high"]},
                "days": {"type": ["integer", "null"], "minimum": 1},
            },
            "$defs": {"step": {"type": "object", "required": ["what"], "properties": {"what": {"type": "string", "minLength": 2}}}},
        });
        let fits = json!({"steps": [{"what": "test"}], "risk": "low", "days": 3.0});
        assert_eq!(mismatch(&schema, &fits), None);
        let table = [
            (json!([]), "the answer must be of type object"),
            (json!({"steps": []}), "the answer lacks `risk`"),
            (
                json!({"steps": [], "risk": "low"}),
                "`/steps` must have at least 1 items",
            ),
            (
                json!({"steps": [{"what": "x"}], "risk": "low"}),
                "`/steps/0/what` must have at least 2 characters",
            ),
            (
                json!({"steps": [{"what": 7}], "risk": "low"}),
                "`/steps/0/what` must be of type string",
            ),
            (
                json!({"steps": [{"what": "ab"}], "risk": "no"}),
                "`/risk` must be one of [\"low\",\"high\"]",
            ),
            (
                json!({"steps": [{"what": "ab"}], "risk": "low", "days": 0}),
                "`/days` must be at least 1",
            ),
            (
                json!({"steps": [{"what": "ab"}], "risk": "low", "days": 1.5}),
                "`/days` must be of one of the types [\"integer\",\"null\"]",
            ),
            (
                json!({"steps": [{"what": "ab"}], "risk": "low", "x": 1}),
                "the answer has `x`, which the schema does not know",
            ),
        ];
        for (value, wrong) in table {
            assert_eq!(mismatch(&schema, &value).as_deref(), Some(wrong), "{value}");
        }
    }

    #[test]
    fn alternatives_are_counted_and_endless_references_end() {
        let either = json!({"oneOf": [{"type": "string"}, {"type": "string", "maxLength": 3}]});
        assert!(mismatch(&either, &json!("four")).is_none());
        assert!(mismatch(&either, &json!("one")).is_some(), "both fit");
        let endless = json!({"$ref": "#"});
        assert!(mismatch(&endless, &json!(1)).unwrap().contains("too deep"));
        let unique = json!({"uniqueItems": true, "not": {"type": "string"}});
        assert!(mismatch(&unique, &json!([1, 2])).is_none());
        assert!(mismatch(&unique, &json!([1, 1])).is_some());
        assert!(mismatch(&unique, &json!("x")).is_some());
    }

    #[test]
    fn keywords_that_are_not_checked_are_named() {
        let schema = json!({"properties": {"a": {"pattern": "^x", "description": "d"}}, "patternProperties": {}});
        assert_eq!(unchecked(&schema), ["pattern", "patternProperties"]);
        assert!(unchecked(&json!({"type": "object", "title": "T"})).is_empty());
    }
}
