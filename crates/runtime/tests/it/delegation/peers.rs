//! Peers that are asked with `agents_message` and its relatives, and agents that cannot be asked.

use std::time::Duration;

use rooftree_protocol::{AgentDefinition, EventBody, SessionId, message::text_of};
use rooftree_providers::scripted::{call, say};
use rooftree_testkit::TestRuntime;
use serde_json::{Value, json};

use super::{agent, plan, task};

/// The results of a session's calls, as the model read them.
async fn results(runtime: &TestRuntime, session: &SessionId) -> Vec<String> {
    let events = runtime.events(session).await;
    let texts = events.iter().filter_map(|event| match &event.body {
        EventBody::ToolCompleted(record) => Some(text_of(&record.content)),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn r2_d7_a_hidden_agent_cannot_be_asked_by_any_tool() {
    let runtime = plan([
        say("hello").agent("secret").times(9),
        say("").agent("lead").calls([
            task("secret", "do it"),
            call(
                "agents_message",
                json!({"agentId": "secret", "content": "do it"}),
            ),
            call("SendMessage", json!({"to": "secret", "text": "do it"})),
            call(
                "start_background_agent",
                json!({"agent": "secret", "prompt": "do it"}),
            ),
        ]),
        say("done").agent("lead"),
    ])
    .agent(AgentDefinition {
        hidden: true,
        ..agent("secret")
    })
    .build();
    let secret = runtime.post_as("secret", "a person may").await;
    runtime.wait_for_run(&secret).await;
    let lead = runtime.post("go").await;
    runtime.wait_for_run(&lead).await;
    let results = results(&runtime, &lead).await;
    assert_eq!(results.len(), 4);
    for result in results {
        assert!(result.contains("may not be"), "{result}");
    }
    assert!(runtime.children(&lead).await.is_empty());
    assert!(!runtime.transcript(&secret).await.contains("do it"));
}

#[tokio::test]
async fn r2_d7_a_long_answer_stays_json_and_says_where_the_rest_is() {
    let long = "zeile \"mit\" Zeichen\n".repeat(3_000);
    let runtime = plan([
        say("").agent("lead").calls([call(
            "agents_message",
            json!({"agentId": "scout", "content": "x"}),
        )]),
        say("done").agent("lead"),
        say("")
            .agent("scout")
            .thinking("hm")
            .calls([call("Look", json!({}))]),
        say(long.trim()).agent("scout"),
    ])
    .build();
    let lead = runtime.post("go").await;
    runtime.wait_for_run(&lead).await;
    let answer: Value = serde_json::from_str(&results(&runtime, &lead).await[0]).unwrap();
    assert_eq!(
        (&answer["status"], &answer["truncated"]),
        (&json!("complete"), &json!(true))
    );
    let response = answer["response"].as_str().unwrap();
    let blob = response
        .split("blob:")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let blob = rooftree_protocol::BlobId::parse(blob).unwrap();
    let kept = runtime.store().blob(&blob).await.unwrap().unwrap();
    assert_eq!(String::from_utf8(kept).unwrap(), long.trim());
    assert_eq!(answer["thinkingText"], "hm");
    assert_eq!(answer["toolCalls"][0]["name"], "Look");
    assert!(answer["toolCalls"][0]["durationMs"].is_u64(), "{answer}");
    assert!(answer.get("sessionName").is_some(), "{answer}");
}

#[tokio::test]
async fn r2_d7_a_busy_session_is_asked_in_a_queue() {
    let ask = |text: &str| {
        call(
            "agents_message",
            json!({"agentId": "scout", "content": text, "mode": "async"}),
        )
    };
    let runtime = plan([
        say("").agent("lead").calls([ask("one"), ask("two")]),
        say("done").agent("lead").times(9),
        say("heard")
            .agent("scout")
            .delay(Duration::from_secs(5))
            .times(9),
    ])
    .build();
    let lead = runtime.post("go").await;
    runtime.wait_for_run(&lead).await;
    let statuses: Vec<Value> = results(&runtime, &lead)
        .await
        .iter()
        .map(|text| serde_json::from_str::<Value>(text).unwrap()["status"].clone())
        .collect();
    assert_eq!(statuses, ["started", "queued"]);
}

#[tokio::test]
async fn as6_every_field_of_the_seed_is_in_the_answer() {
    let ask = |more: Value| {
        let mut input = json!({"agentId": "scout", "content": "x"});
        for (name, value) in more.as_object().unwrap() {
            input[name] = value.clone();
        }
        call("agents_message", input)
    };
    let runtime = plan([
        say("").agent("lead").calls([
            ask(json!({})),
            ask(json!({"session": "create", "mode": "async"})),
            ask(json!({"mode": "later"})),
            ask(json!({"session": "ses_nothere"})),
        ]),
        say("done").agent("lead").times(9),
        say("")
            .agent("scout")
            .thinking("hm")
            .calls([call("Look", json!({}))]),
        say("seen").agent("scout").times(9),
    ])
    .build();
    let lead = runtime.post("go").await;
    runtime.wait_for_run(&lead).await;
    let results = results(&runtime, &lead).await;
    let has = |answer: &Value, fields: &[&str]| {
        for field in fields {
            assert!(answer.get(field).is_some(), "{field}: {answer}");
        }
    };
    let parsed: Vec<Value> = results
        .iter()
        .filter_map(|text| serde_json::from_str(text).ok())
        .collect();
    let by_mode = |mode: &str| parsed.iter().find(|answer| answer["mode"] == mode).unwrap();
    let sync = by_mode("sync");
    has(
        sync,
        &[
            "status",
            "agentId",
            "sessionId",
            "sessionName",
            "created",
            "responseId",
            "response",
            "truncated",
            "durationMs",
            "toolCallCount",
            "toolCalls",
            "thinkingText",
        ],
    );
    assert_eq!(
        (&sync["status"], &sync["truncated"], &sync["toolCallCount"]),
        (&json!("complete"), &json!(false), &json!(1))
    );
    let started = by_mode("async");
    has(
        started,
        &[
            "status",
            "agentId",
            "sessionId",
            "sessionName",
            "created",
            "responseId",
        ],
    );
    assert_eq!(
        (&started["status"], &started["created"]),
        (&json!("started"), &json!(true))
    );
    assert!(
        results
            .iter()
            .any(|text| text.contains("`mode` must be one of sync, async")),
        "{results:?}"
    );
    assert!(
        results
            .iter()
            .any(|text| text.contains("agent_session_error")),
        "{results:?}"
    );
}

#[tokio::test]
async fn r2_d11_the_session_a_background_agent_was_started_in_names_its_task() {
    let id = "{{ results[0].text | find('ses_[a-z0-9]+') }}";
    let runtime = plan([
        say("").agent("lead").calls([call(
            "start_background_agent",
            json!({"prompt": "x", "agent": "helper"}),
        )]),
        say("")
            .agent("lead")
            .calls([call("TaskOutput", json!({"task_id": id}))]),
        say("{{ results[0].text }}").agent("lead").times(9),
        say("the answer").agent("helper"),
    ])
    .build();
    let lead = runtime.post("go").await;
    let said = runtime.wait_for_run(&lead).await.text;
    assert!(said.contains("the answer"), "{said}");
}

#[tokio::test]
async fn r1_d13_a_definition_that_works_in_background_does_unless_the_call_says_otherwise() {
    let runtime = plan([
        say("").agent("lead").calls([
            task("slow", "x"),
            call(
                "Task",
                json!({"subagent_type": "slow", "prompt": "y", "run_in_background": false}),
            ),
        ]),
        say("done").agent("lead").times(9),
        say("the answer").agent("slow").times(9),
    ])
    .agent(AgentDefinition {
        background: true,
        ..agent("slow")
    })
    .build();
    let lead = runtime.post("go").await;
    runtime.wait_for_run(&lead).await;
    let results = results(&runtime, &lead).await;
    assert!(
        results
            .iter()
            .any(|text| text.contains("started in background")),
        "{results:?}"
    );
    assert!(
        results.iter().any(|text| text.starts_with("the answer")),
        "{results:?}"
    );
}

#[tokio::test]
async fn r1_d19_a_tier_without_a_model_and_inherit_mean_the_model_of_the_caller() {
    let with = |more: Value| super::task_with("helper", "x", more);
    let runtime = plan([
        say("").agent("lead").calls([
            with(json!({"model_tier": "fast"})),
            with(json!({"model": "inherit"})),
        ]),
        say("done").agent("lead"),
        say("the answer").agent("helper").times(9),
    ])
    .build();
    let lead = runtime.post("go").await;
    runtime.wait_for_run(&lead).await;
    for result in results(&runtime, &lead).await {
        assert!(result.starts_with("the answer"), "{result}");
    }
}
