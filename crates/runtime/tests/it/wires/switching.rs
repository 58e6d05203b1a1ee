//! From one vendor to another in the middle of a session: what goes along, what stays behind, what is said.

use rooftree_protocol::{Event, EventBody};
use rooftree_testkit::model_server::{ModelServer, ServerAnswer, fail, say};
use serde_json::Value;

use super::{
    FILE, assert_completed, reads,
    street::{ANTHROPIC, GEMINI, RESPONSES, Street},
};

/// What was said about things left behind, in order.
fn left_behind(events: &[Event]) -> Vec<String> {
    let said = |event: &Event| match &event.body {
        EventBody::Notice { code, message, .. } if code == "not_carried_over" => {
            Some(message.clone())
        }
        _ => None,
    };
    events.iter().filter_map(said).collect()
}

/// The last question a server was asked.
fn last(server: &ModelServer) -> Value {
    server.requests().last().unwrap().json()
}

fn kinds(list: &Value) -> Vec<&str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|item| item["type"].as_str().unwrap_or_default())
        .collect()
}

#[tokio::test]
async fn a_session_that_changes_its_vendor_loses_only_thinking_and_says_so() {
    let street = Street::default()
        .open(
            ANTHROPIC,
            [
                reads("anthropics"),
                say().text(["Green."]),
                say().text(["Home."]),
            ],
        )
        .await
        .open(
            RESPONSES,
            [say().thinking(["Hm."], "openais").text(["Greenish."])],
        )
        .await
        .open(GEMINI, [say().text(["Quite green."])])
        .await;
    let runtime = street.plan(ANTHROPIC).build();
    std::fs::write(runtime.path().join(FILE), "a green door").unwrap();
    let session = runtime.post("Which colour is the door?").await;
    assert_completed(&runtime.wait_for_run(&session).await, "Green.", 2);

    let runtime = runtime.reopen(street.plan(RESPONSES)).await;
    runtime.post_to(&session, "Are you sure?").await;
    assert_completed(&runtime.wait_for_nth_run(&session, 2).await, "Greenish.", 1);
    let body = last(street.server(RESPONSES));
    let expected = [
        "message",
        "message",
        "function_call",
        "function_call_output",
        "message",
        "message",
    ];
    assert_eq!(kinds(&body["input"]), expected, "{body}");
    let text = body.to_string();
    assert!(
        text.contains("a green door")
            && !text.contains("anthropics")
            && !text.contains("Which door?")
    );

    let runtime = runtime.reopen(street.plan(GEMINI)).await;
    runtime.post_to(&session, "And you?").await;
    assert_completed(
        &runtime.wait_for_nth_run(&session, 3).await,
        "Quite green.",
        1,
    );
    let body = last(street.server(GEMINI));
    let text = body.to_string();
    assert!(
        text.contains("a green door")
            && text.contains("Greenish.")
            && text.contains("Are you sure?")
    );
    assert!(
        !text.contains("openais") && !text.contains("anthropics"),
        "{text}"
    );

    let runtime = runtime.reopen(street.plan(ANTHROPIC)).await;
    runtime.post_to(&session, "Back home?").await;
    assert_completed(&runtime.wait_for_nth_run(&session, 4).await, "Home.", 1);
    let body = last(street.server(ANTHROPIC));
    assert_eq!(
        kinds(&body["messages"][1]["content"]),
        ["thinking", "text", "tool_use"]
    );
    assert_eq!(
        body["messages"][1]["content"][0]["signature"], "anthropics",
        "its own thinking is kept"
    );
    assert!(!body.to_string().contains("openais"), "{body}");

    let expected = [
        "openai/gpt-5.5 does not get the thinking of anthropic/claude-opus-5-5",
        "google/gemini-3-pro does not get the thinking of anthropic/claude-opus-5-5, \
         the thinking of openai/gpt-5.5, items only openai understands",
        "anthropic/claude-opus-5-5 does not get the thinking of openai/gpt-5.5, items only openai understands",
    ];
    assert_eq!(left_behind(&runtime.events(&session).await), expected);
    runtime.verify().await;
    runtime.close().await;
}

#[tokio::test]
async fn a_vendor_that_stands_in_between_a_call_and_its_answer_gets_the_result_and_not_the_thinking()
 {
    let busy = || {
        ServerAnswer::from(fail(529, "overloaded_error", "Overloaded").header("retry-after", "0"))
    };
    let street = Street::default()
        .open(ANTHROPIC, [reads("anthropics").into(), busy(), busy()])
        .await
        .open(RESPONSES, [say().text(["Green."])])
        .await;
    let mut plan = street.plan(ANTHROPIC);
    plan.models.fallbacks = vec![RESPONSES.choice()];
    let runtime = plan.build();
    std::fs::write(runtime.path().join(FILE), "a green door").unwrap();
    let session = runtime.post("Which colour is the door?").await;
    assert_completed(&runtime.wait_for_run(&session).await, "Green.", 2);
    let body = last(street.server(RESPONSES));
    assert_eq!(
        kinds(&body["input"]),
        [
            "message",
            "message",
            "function_call",
            "function_call_output"
        ]
    );
    assert_eq!(body["input"][2]["call_id"], body["input"][3]["call_id"]);
    assert!(
        body["input"][3]["output"]
            .as_str()
            .unwrap()
            .contains("a green door"),
        "{body}"
    );
    let events = runtime.events(&session).await;
    let notices: Vec<&str> = events
        .iter()
        .filter_map(|event| {
            if let EventBody::Notice { code, .. } = &event.body {
                Some(code.as_str())
            } else {
                None
            }
        })
        .collect();
    assert_eq!(notices, ["fallback", "not_carried_over"]);
    assert_eq!(
        left_behind(&events),
        ["openai/gpt-5.5 does not get the thinking of anthropic/claude-opus-5-5"]
    );
    runtime.close().await;
}
