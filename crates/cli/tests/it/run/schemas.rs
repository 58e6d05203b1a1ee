//! `--output-schema`: an answer that fits, one that is mended, one that never fits.

use super::fixture::Desk;

const SCHEMA: &str = r#"{"type": "object", "required": ["steps"], "properties": {"steps": {"type": "array", "items": {"type": "string"}}}}"#;

fn desk(script: &str) -> Desk {
    let desk = Desk::new(script);
    desk.write("plan.json", SCHEMA);
    desk
}

#[test]
fn an_answer_that_fits_is_printed_as_json_and_is_a_value_for_programs() {
    let desk = desk("[[reply]]\ntimes = 9\ntext = 'Here: {\"steps\": [\"test\"]} as asked.'\n");
    let done = desk.run(&["--output-schema", "plan.json", "Plan"]);
    assert_eq!(done.well(), "{\"steps\":[\"test\"]}\n");
    let result = desk
        .run(&["-o", "json", "--schema", "plan.json", "Plan"])
        .json();
    assert_eq!(result["structured"]["steps"][0], "test");
    assert_eq!(result["exit_code"], 0);
}

#[test]
fn an_answer_that_does_not_fit_is_mended_once_in_the_same_session() {
    let script = "[[reply]]\nmatch = \"That does not fit: `/steps/0` must be of type string\"\ntext = '{\"steps\": [\"a\"]}'\n\n[[reply]]\ntext = '{\"steps\": [1]}'\n";
    let desk = desk(script);
    let done = desk.run(&["-o", "stream-json", "--output-schema", "plan.json", "Plan"]);
    let lines = done.lines();
    let opened = lines.iter().filter(|line| line["type"] == "session.opened");
    assert_eq!(opened.count(), 1);
    let results: Vec<_> = lines
        .iter()
        .filter(|line| line["type"] == "result")
        .collect();
    assert_eq!(results.len(), 1, "the first answer is no result");
    assert_eq!(results[0]["structured"]["steps"][0], "a");
}

#[test]
fn an_answer_that_never_fits_prints_nothing_and_ends_with_ten() {
    let desk = desk("[[reply]]\ntimes = 9\ntext = \"No.\"\n");
    let done = desk.run(&["--output-schema", "plan.json", "Plan"]);
    assert_eq!((done.code, done.out.as_str()), (10, ""), "{done:?}");
    assert!(
        done.err
            .contains("does not fit the schema of --output-schema"),
        "{done:?}"
    );
    let done = desk.run(&["-o", "json", "--output-schema", "plan.json", "Plan"]);
    assert_eq!(done.code, 10);
    let result: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(
        (&result["structured"], &result["text"]),
        (&serde_json::Value::Null, &"No.".into())
    );
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.contains("does not fit the schema"), "{result}");
    assert_eq!(result["exit_code"], 10);
}

#[test]
fn a_schema_that_cannot_be_used_is_refused_before_anything_is_stored() {
    let desk = desk("[[reply]]\ntext = \"x\"\n");
    desk.write("bad.json", "[1");
    for (file, message, cause) in [
        ("none.json", "cannot read", "No such file"),
        ("bad.json", "is not a JSON schema", "EOF"),
    ] {
        let done = desk.run(&["--output-schema", file, "Plan"]);
        assert_eq!(done.code, 2, "{done:?}");
        assert!(
            done.err.contains(message) && done.err.contains(cause),
            "{done:?}"
        );
    }
    assert!(!desk.house.database().exists());
    desk.write("odd.json", r#"{"type": "string", "pattern": "^x"}"#);
    let done = desk.run(&["--output-schema", "odd.json", "Plan"]);
    assert!(
        done.err
            .contains("the model is told pattern and it is not checked"),
        "{done:?}"
    );
}
