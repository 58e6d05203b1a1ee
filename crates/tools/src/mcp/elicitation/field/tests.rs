//! Tests of `field.rs`.

use serde_json::json;

use super::*;

fn read(property: Value, given: &[&str]) -> Result<Option<Value>, String> {
    let given: Vec<String> = given.iter().map(|word| (*word).to_owned()).collect();
    ElicitationField::of("x", &property, true)
        .unwrap()
        .read(&given)
}

#[test]
fn answers_become_values_that_fit_or_are_refused_with_a_reason() {
    let titled = json!({"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]});
    let several = json!({"type": "array", "maxItems": 2, "items": {"type": "string", "enum": ["a", "b", "c"]}});
    let named = json!({"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]});
    let table = [
        (json!({"type": "boolean"}), &["yes"][..], Ok(json!(true))),
        (json!({"type": "boolean"}), &["no"], Ok(json!(false))),
        (json!({"type": "boolean"}), &["perhaps"], Err("yes or no")),
        (titled.clone(), &["Green"], Ok(json!("g"))),
        (titled, &["Blue"], Err("one of: Red, Green")),
        (named, &["Large"], Ok(json!("l"))),
        (several.clone(), &["a", "c"], Ok(json!(["a", "c"]))),
        (several, &["a", "b", "c"], Err("at most 2 choices")),
        (
            json!({"type": "integer", "minimum": 3}),
            &["4"],
            Ok(json!(4)),
        ),
        (
            json!({"type": "integer", "minimum": 3}),
            &["2"],
            Err("at least 3"),
        ),
        (json!({"type": "integer"}), &["2.5"], Err("whole number")),
        (json!({"type": "number"}), &["2.5"], Ok(json!(2.5))),
        (json!({"type": "number"}), &["NaN"], Err("must be a number")),
        (
            json!({"type": "string", "maxLength": 3}),
            &[" Ada "],
            Ok(json!("Ada")),
        ),
        (
            json!({"type": "string", "maxLength": 3}),
            &["Adam"],
            Err("at most 3 characters"),
        ),
        (
            json!({"type": "string", "format": "email"}),
            &["ada"],
            Err("`email`"),
        ),
        (
            json!({"type": "string", "format": "email"}),
            &["ada@a.test"],
            Ok(json!("ada@a.test")),
        ),
        (
            json!({"type": "string", "format": "date"}),
            &["2026-01-31"],
            Ok(json!("2026-01-31")),
        ),
        (
            json!({"type": "string", "format": "uri"}),
            &["nowhere"],
            Err("`uri`"),
        ),
        (json!({"type": "string"}), &[""], Err("is needed")),
    ];
    for (property, given, expected) in table {
        match (read(property.clone(), given), expected) {
            (Ok(value), Ok(expected)) => assert_eq!(value, Some(expected), "{property}"),
            (Err(why), Err(words)) => assert!(why.contains(words), "{property}: {why}"),
            (got, expected) => panic!("{property} {given:?}: {got:?} instead of {expected:?}"),
        }
    }
}

#[test]
fn what_need_not_be_said_can_be_left_out() {
    let field =
        ElicitationField::of("size", &json!({"type": "string", "enum": ["s"]}), false).unwrap();
    let question = field.question("Which?".into());
    assert_eq!(question.choices.last().unwrap().label, NOTHING);
    assert_eq!(field.read(&[NOTHING.to_owned()]), Ok(None));
    assert_eq!(field.read(&[]), Ok(None));
}
