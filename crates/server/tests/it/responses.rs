//! Agents answer as Responses do: the same answers, spelled as items.

use rooftree_protocol::Effect;
use rooftree_testkit::{
    ProbeTool, TestRuntimeBuilder, Toolset,
    scripted::{ScriptedFailureKind, call, fail, say},
};
use serde_json::{Value, json};

use crate::{
    agent_server::{JSON, Reached, TOKEN, with},
    callback_server::{Said, hear, sent},
};

async fn ask(reached: &Reached, body: &Value, headers: &[&str]) -> Said {
    let headers: Vec<&str> = ["host: localhost", TOKEN, JSON]
        .iter()
        .chain(headers)
        .copied()
        .collect();
    hear(
        sent(
            reached.address,
            "POST /v1/responses",
            &headers,
            body.to_string().as_bytes(),
        )
        .await,
    )
    .await
}

fn question(text: &str) -> Value {
    json!({"model": "agent:helper", "input": text})
}

/// The events of a stream, each with its name.
fn events(said: &Said) -> Vec<Value> {
    let lines: Vec<&str> = said.body.lines().collect();
    let events = lines.windows(2).filter_map(|pair| {
        let (name, data) = (
            pair[0].strip_prefix("event: ")?,
            pair[1].strip_prefix("data: ")?,
        );
        let event: Value = serde_json::from_str(data).unwrap();
        assert_eq!(event["type"], name);
        Some(event)
    });
    events.collect()
}

fn looking() -> TestRuntimeBuilder {
    let calls = [call("Look", json!({"say": "door"}))];
    let entries = [
        say("Let me look.").chunk(5).calls(calls).usage(100, 20),
        say("It is red.").chunk(3).usage(150, 10),
    ];
    TestRuntimeBuilder::new(entries)
        .tools(Toolset::new([ProbeTool::open("Look", Effect::ReadOnly)]))
}

#[tokio::test]
async fn a_stream_of_items_ends_with_the_whole_response() {
    let reached = Reached::start(looking()).await;
    for (verbose, kinds) in [
        ("0", json!(["message"])),
        ("1", json!(["message", "reasoning", "message"])),
    ] {
        let header = format!("x-rooftree-verbose: {verbose}");
        let whole = ask(&reached, &question("Which?"), &[&header]).await.json();
        let items = whole["output"].as_array().unwrap();
        assert_eq!(
            items
                .iter()
                .map(|item| item["type"].clone())
                .collect::<Value>(),
            kinds
        );
        let texts = items
            .iter()
            .filter_map(|item| item["content"][0]["text"].as_str());
        assert_eq!(texts.collect::<String>(), "Let me look.\n\nIt is red.");
        assert_eq!(
            (&whole["status"], &whole["usage"]["total_tokens"]),
            (&json!("completed"), &json!(280))
        );
        assert_eq!(whole["rooftree"]["status"], "completed");

        let said = ask(
            &reached,
            &with(question("Which?"), json!({"stream": true})),
            &[&header],
        )
        .await;
        let events = events(&said);
        let numbers: Vec<u64> = events
            .iter()
            .map(|event| event["sequence_number"].as_u64().unwrap())
            .collect();
        assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<u64>>());
        let deltas = events
            .iter()
            .filter(|event| event["type"] == "response.output_text.delta");
        let deltas: String = deltas
            .map(|event| event["delta"].as_str().unwrap())
            .collect();
        assert_eq!(deltas, "Let me look.\n\nIt is red.");
        let last = &events.last().unwrap()["response"];
        let bare = |response: &Value| {
            let ids = |item: &Value| json!([item["type"], item["content"], item["summary"]]);
            let output = response["output"].as_array().unwrap();
            json!([
                response["status"],
                response["usage"],
                output.iter().map(ids).collect::<Value>()
            ])
        };
        assert_eq!(bare(last), bare(&whole));
    }
}

#[tokio::test]
async fn limits_failures_and_refusals_are_said_the_way_of_this_wire() {
    let short = Reached::start(looking().max_turns(1)).await;
    let whole = ask(&short, &question("Which?"), &[]).await.json();
    assert_eq!(
        (&whole["status"], &whole["incomplete_details"]["reason"]),
        (&json!("incomplete"), &json!("max_output_tokens"))
    );
    let broken = Reached::start(TestRuntimeBuilder::new([fail(
        ScriptedFailureKind::Refused,
    )
    .times(9)]))
    .await;
    assert_eq!(ask(&broken, &question("Which?"), &[]).await.status, 502);
    let said = ask(
        &broken,
        &with(question("Which?"), json!({"stream": true})),
        &[],
    )
    .await;
    let last = events(&said).pop().unwrap();
    assert_eq!(
        (&last["type"], &last["response"]["error"]["code"]),
        (&json!("response.failed"), &json!("provider_refused"))
    );
    let said = ask(
        &broken,
        &with(
            question("Which?"),
            json!({"previous_response_id": "resp_1"}),
        ),
        &[],
    )
    .await;
    assert_eq!(
        (said.status, &said.json()["error"]["param"]),
        (400, &json!("previous_response_id"))
    );
    let said = ask(
        &broken,
        &with(question("Which?"), json!({"model": "agent:lead"})),
        &[],
    )
    .await;
    assert_eq!(
        (said.status, &said.json()["error"]["code"]),
        (404, &json!("model_not_found"))
    );
}
