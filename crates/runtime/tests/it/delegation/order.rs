//! What the calls of one reply send arrives in the order of the calls.

use rooftree_protocol::{EventBody, SessionId};
use rooftree_providers::scripted::{ScriptedCall, call, say};
use rooftree_testkit::TestRuntime;
use serde_json::json;

use super::plan;

/// The texts of messages that entered a session's conversation, in order.
async fn heard(runtime: &TestRuntime, session: &SessionId) -> Vec<String> {
    let events = runtime.events(session).await;
    let texts = events.iter().filter_map(|event| match &event.body {
        EventBody::MessageUser { message, .. } => Some(message.text()),
        _ => None,
    });
    texts.map(|text| text.chars().take(2).collect()).collect()
}

async fn house_sending(calls: Vec<ScriptedCall>) -> (TestRuntime, SessionId, SessionId) {
    let runtime = plan([
        say("").agent("lead").calls(calls),
        say("sent").agent("lead"),
        say("heard").agent("scout").times(20),
    ])
    .build();
    let scout = runtime.post_as("scout", "hi").await;
    runtime.wait_for_run(&scout).await;
    let lead = runtime.post("go").await;
    runtime.wait_for_run(&lead).await;
    (runtime, lead, scout)
}

#[tokio::test]
async fn r2_d5_messages_of_one_reply_arrive_in_the_order_of_the_calls() {
    // The first one is long and has to be stored beside its message, which takes time.
    let text = |n: usize| {
        if n == 1 {
            format!("n1{}", "x".repeat(20_000))
        } else {
            format!("n{n}")
        }
    };
    let send = |n| {
        call(
            "SendMessage",
            json!({"to": "scout", "text": text(n), "silent": true}),
        )
    };
    let (runtime, _, scout) = house_sending((1..=5).map(send).collect()).await;
    runtime.post_to(&scout, "and?").await;
    runtime.wait_for_nth_run(&scout, 2).await;
    let mut heard = heard(&runtime, &scout).await;
    heard.retain(|text| text.starts_with('n'));
    assert_eq!(heard, ["n1", "n2", "n3", "n4", "n5"]);
    runtime.verify().await;
}

#[tokio::test]
async fn r2_d5_delegations_to_one_session_are_worked_on_in_the_order_of_the_calls() {
    let ask = |n| {
        call(
            "agents_message",
            json!({"agentId": "scout", "content": format!("n{n}")}),
        )
    };
    let (runtime, _, scout) = house_sending((1..=3).map(ask).collect()).await;
    runtime.wait_for_nth_run(&scout, 4).await;
    assert_eq!(heard(&runtime, &scout).await, ["hi", "n1", "n2", "n3"]);
}

#[tokio::test]
async fn r1_d22_two_messages_to_an_agent_without_a_session_open_one() {
    let ask = |text: &str| {
        call(
            "agents_message",
            json!({"agentId": "helper", "content": text}),
        )
    };
    let runtime = plan([
        say("").agent("lead").calls([ask("n1"), ask("n2")]),
        say("{{ results[0].text }}{{ results[1].text }}").agent("lead"),
        say("heard").agent("helper").times(20),
    ])
    .build();
    let lead = runtime.post("go").await;
    let text = runtime.wait_for_run(&lead).await.text;
    assert_eq!(text.matches("\"created\": true").count(), 1, "{text}");
    let first = text.find("\"created\": true").unwrap();
    assert!(
        first < text.find("\"created\": false").unwrap(),
        "the first call opens it: {text}"
    );
    let filter = rooftree_store::SessionFilter {
        agent: Some("helper".into()),
        ..Default::default()
    };
    let sessions = runtime.store().sessions(filter).await.unwrap();
    assert_eq!(sessions.len(), 1);
    assert_eq!(heard(&runtime, &sessions[0].id).await, ["n1", "n2"]);
}

#[tokio::test]
async fn r2_d5_an_early_failure_lets_no_later_call_overtake() {
    let send = |to: &str, text: &str| {
        call(
            "SendMessage",
            json!({"to": to, "text": text, "silent": true}),
        )
    };
    let first = format!("n1{}", "x".repeat(20_000));
    let calls = vec![
        send("scout", &first),
        send("nobody", "lost"),
        send("scout", "n3"),
    ];
    let (runtime, _, scout) = house_sending(calls).await;
    runtime.post_to(&scout, "and?").await;
    runtime.wait_for_nth_run(&scout, 2).await;
    let mut heard = heard(&runtime, &scout).await;
    heard.retain(|text| text.starts_with('n'));
    assert_eq!(heard, ["n1", "n3"]);
}
