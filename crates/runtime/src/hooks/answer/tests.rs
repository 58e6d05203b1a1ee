//! Tests of `answer.rs`.

use super::*;

fn pre(text: &str) -> Result<HookAnswer, String> {
    HookAnswer::printed(HookPoint::PreToolUse, text)
}

#[test]
fn what_can_be_said_before_a_tool_is_used() {
    let specific = |inner: &str| pre(&format!(r#"{{"hookSpecificOutput": {{{inner}}}}}"#)).unwrap();
    assert_eq!(pre("all is well").unwrap(), HookAnswer::default());
    assert_eq!(pre("").unwrap(), HookAnswer::default());
    assert_eq!(
        pre(r#"{"decision": "block", "reason": "no"}"#).unwrap(),
        HookAnswer::deny("no")
    );
    assert!(specific(r#""permissionDecision": "allow""#).permits);
    assert_eq!(
        specific(r#""permissionDecision": "ask""#).verdict,
        HookVerdict::Ask
    );
    assert_eq!(
        specific(r#""permissionDecision": "defer""#).verdict,
        HookVerdict::Ask
    );
    let denied = specific(r#""permissionDecision": "deny", "permissionDecisionReason": "not you""#);
    assert_eq!(denied.refusal(), Some("not you"));
    let rewritten =
        specific(r#""updatedInput": {"command": "ls"}, "additionalContext": "changed""#);
    assert_eq!(rewritten.input, Some(serde_json::json!({"command": "ls"})));
    assert_eq!(rewritten.context, ["changed"]);
    let stopped =
        pre(r#"{"continue": false, "stopReason": "enough", "systemMessage": "hi"}"#).unwrap();
    assert_eq!(
        (stopped.stops.as_deref(), stopped.notices.len()),
        (Some("enough"), 1)
    );
}

#[test]
fn what_cannot_be_understood_is_an_error_and_never_a_yes() {
    for broken in [
        "{",
        r#"{"decision": "maybe"}"#,
        r#"{"continue": "no"}"#,
        r#"{"hookSpecificOutput": {"permissionDecision": "perhaps"}}"#,
        r#"{"hookSpecificOutput": {"permissionDecision": true}}"#,
        r#"{"hookSpecificOutput": {"updatedInput": "ls"}}"#,
        r#"{"hookSpecificOutput": {"hookEventName": "Stop"}}"#,
        r#"{"hookSpecificOutput": {"decision": {"behavior": "allow"}}}"#,
    ] {
        assert!(pre(broken).is_err(), "{broken}");
    }
    let other = r#"{"hookSpecificOutput": {"permissionDecision": "allow"}}"#;
    assert!(HookAnswer::printed(HookPoint::PermissionRequest, other).is_err());
}

#[test]
fn a_question_is_answered_in_place_of_a_person() {
    let decided = |inner: &str| {
        let text = format!(r#"{{"hookSpecificOutput": {{"decision": {{{inner}}}}}}}"#);
        HookAnswer::printed(HookPoint::PermissionRequest, &text)
    };
    assert!(decided(r#""behavior": "allow""#).unwrap().permits);
    let no = decided(r#""behavior": "deny", "message": "later", "interrupt": true"#).unwrap();
    assert_eq!(
        (no.refusal(), no.stops.as_deref()),
        (Some("later"), Some("later"))
    );
    assert!(decided(r#""behavior": "allow", "updatedInput": {}"#).is_err());
    assert!(decided(r#""behavior": "yes""#).is_err());
}

#[test]
fn plain_words_are_context_only_where_a_conversation_begins() {
    assert_eq!(
        HookAnswer::printed(HookPoint::SessionStart, "be kind\n")
            .unwrap()
            .context,
        ["be kind"]
    );
    assert_eq!(
        HookAnswer::printed(HookPoint::PostToolUse, "be kind").unwrap(),
        HookAnswer::default()
    );
}

#[test]
fn no_text_is_longer_than_its_bound() {
    let text = "x".repeat(50_000);
    let answer = HookAnswer::printed(HookPoint::UserPromptSubmit, &text).unwrap();
    assert!(answer.context.concat().len() < 11_000);
    assert!(HookAnswer::blocked(&text).refusal().unwrap().len() < 11_000);
}

#[test]
fn the_strictest_word_counts_and_everything_else_adds_up() {
    let mut all = HookAnswer {
        permits: true,
        ..HookAnswer::context("a")
    };
    all.add(HookAnswer::context("b"));
    all.add(HookAnswer {
        verdict: HookVerdict::Ask,
        ..HookAnswer::default()
    });
    all.add(HookAnswer::deny("no"));
    all.add(HookAnswer::default());
    assert_eq!(
        (all.refusal(), all.context.len(), all.permits),
        (Some("no"), 2, true)
    );
    all.add(HookAnswer::deny("never"));
    assert_eq!(all.refusal(), Some("no\nnever"));
}
