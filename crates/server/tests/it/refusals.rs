//! What is refused, how it is said, and that nothing but the exact name of an exposed agent reaches one.

use rooftree_protocol::AgentDefinition;
use rooftree_testkit::{
    ProbeTool, TestRuntimeBuilder, Toolset,
    scripted::{call, say},
};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::{
    agent_server::{JSON, QUEUED, Reached, TOKEN, open, question, until, with},
    callback_server::{Said, hear, sent},
};

const HOST: &str = "host: localhost";

async fn reached() -> Reached {
    let plan = TestRuntimeBuilder::new([say("heard").times(999)])
        .agent(AgentDefinition::new("secret"))
        .agent(open("default"));
    Reached::start(plan).await
}

async fn post(reached: &Reached, headers: &[&str], body: &[u8]) -> Said {
    hear(sent(reached.address, "POST /v1/chat/completions", headers, body).await).await
}

fn code(said: &Said) -> Value {
    said.json()["error"]["code"].clone()
}

#[tokio::test]
async fn without_the_token_nothing_is_said_about_agents() {
    let reached = reached().await;
    let asks = [
        "GET /v1/models",
        "GET /v1/models/agent:helper",
        "POST /v1/chat/completions",
        "GET /v1/chat/completions",
        "DELETE /v1/models",
        "GET /v1/nothing",
    ];
    for line in asks {
        for shown in [
            "x: y",
            "Authorization: Bearer wrong",
            "Authorization: Basic sesame",
            "x-api-key: sesame",
        ] {
            let said = hear(sent(reached.address, line, &[HOST, shown, JSON], b"{}").await).await;
            assert_eq!(
                (said.status, &said.json()["error"]["type"]),
                (401, &json!("authentication_error")),
                "{line}"
            );
        }
    }
    let said = reached.get("/v1/nothing").await;
    assert_eq!((said.status, code(&said)), (404, json!("unknown_url")));
    assert!(reached.runtime.model.requests().is_empty());
}

#[tokio::test]
async fn a_page_is_not_answered_even_with_the_token() {
    let reached = reached().await;
    let body = question("hi").to_string();
    for (wrong, status) in [
        ("host: evil.test", 421),
        ("host: localhost.evil.test", 421),
        ("host: localhost\r\norigin: http://evil.test", 403),
        ("host: localhost\r\norigin: null", 403),
        ("host: localhost\r\nsec-fetch-site: cross-site", 403),
    ] {
        let said = post(&reached, &[wrong, TOKEN, JSON], body.as_bytes()).await;
        assert_eq!(
            (said.status, said.json()["error"]["type"].as_str()),
            (status, Some("permission_error")),
            "{wrong}"
        );
    }
    assert!(reached.runtime.model.requests().is_empty());
    for right in [
        "host: 127.0.0.1",
        "host: roof.test",
        "host: localhost\r\norigin: http://localhost",
    ] {
        assert_eq!(
            post(&reached, &[right, TOKEN, JSON], body.as_bytes())
                .await
                .status,
            200,
            "{right}"
        );
    }
}

#[tokio::test]
async fn no_spelling_leads_to_an_agent_that_is_not_exposed() {
    let reached = reached().await;
    let mut told: Vec<String> = Vec::new();
    for name in [
        "agent:secret",
        "agent:Secret",
        "agent:SECRET",
        "secret",
        "agent: secret",
        "agent:secret ",
        " agent:secret",
        "Agent:secret",
        "AGENT:secret",
        "agent:agent:secret",
        "agent:builtin/secret",
        "agent:builtin/lead",
        "agent:lead",
        "agent:Lead",
        "agent:default",
        "agent:DEFAULT",
        "agent:../secret",
        "agent:./secret",
        "agent:helper/../secret",
        "agent:secret\u{200b}",
        "agent:ｓecret",
        "agent:sеcret",
        "agent:secret\0",
        "agent:%73ecret",
        "agent:*",
        "agent:",
        "",
        "lead",
        "scripted/story",
        "agent:helper,secret",
        "agent:nobody",
        "agent:Helper",
        "agent:HELPER",
        "agent:helper ",
        "agent:ſecret",
    ] {
        let said = reached
            .ask(&with(question("hi"), json!({"model": name})), &[])
            .await;
        assert_eq!(
            (said.status, code(&said)),
            (404, json!("model_not_found")),
            "{name}"
        );
        let message = said.json()["error"]["message"]
            .as_str()
            .unwrap()
            .replace(&format!("`{name}`"), "");
        told.push(message);
    }
    told.dedup();
    assert_eq!(
        told.len(),
        1,
        "one that is hidden looks like one that is not there: {told:?}"
    );
    assert!(reached.runtime.model.requests().is_empty());
    assert_eq!(reached.ask(&question("hi"), &[]).await.status, 200);
}

#[tokio::test]
async fn what_cannot_be_understood_is_said_with_its_field() {
    let reached = reached().await;
    for (more, param) in [
        (json!({"n": 2}), "n"),
        (json!({"tools": [{"type": "function"}]}), "tools"),
        (json!({"logprobs": true}), "logprobs"),
        (
            json!({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x/"}}]}]}),
            "messages[0].content[0].image_url",
        ),
    ] {
        let said = reached.ask(&with(question("hi"), more), &[]).await;
        let error = &said.json()["error"];
        assert_eq!(
            (said.status, &error["type"]),
            (400, &json!("invalid_request_error"))
        );
        assert_eq!(error["param"], param);
    }
    for (header, param) in [
        ("x-rooftree-verbose: yes", "x-rooftree-verbose"),
        ("idempotency-key: ", "idempotency-key"),
    ] {
        let said = reached.ask(&question("hi"), &[header]).await;
        assert_eq!(
            (said.status, &said.json()["error"]["param"]),
            (400, &json!(param))
        );
    }
    let said = post(&reached, &[HOST, TOKEN, JSON], b"{\"model\":").await;
    assert_eq!((said.status, code(&said)), (400, json!("invalid_json")));
    let said = post(&reached, &[HOST, TOKEN, "Content-Type: text/plain"], b"{}").await;
    assert_eq!(
        (said.status, code(&said)),
        (415, json!("unsupported_media_type"))
    );
    assert!(reached.runtime.model.requests().is_empty());
}

#[tokio::test]
async fn a_body_that_is_too_large_is_not_read() {
    let reached = reached().await;
    let mut stream = tokio::net::TcpStream::connect(reached.address)
        .await
        .unwrap();
    let length = 33 * 1024 * 1024;
    let head =
        crate::callback_server::head("POST /v1/chat/completions", &[HOST, TOKEN, JSON], length);
    stream.write_all(head.as_bytes()).await.unwrap();
    let said = hear(stream).await;
    assert_eq!(
        (said.status, code(&said)),
        (413, json!("request_too_large"))
    );
}

#[tokio::test]
async fn more_than_can_be_answered_at_once_are_told_to_come_back() {
    let (tool, keeper) = ProbeTool::gated("Work", rooftree_protocol::Effect::ReadOnly);
    let entries = [say("").calls([call("Work", json!({}))]), say("Done.")];
    let reached = Reached::seating(
        TestRuntimeBuilder::new(entries).tools(Toolset::new([tool])),
        1,
    )
    .await;
    let first = reached.stream(&question("go"), &[]).await;
    until("the work", async || keeper.started() == 1).await;
    let clock = reached.runtime.clock.clone();
    let waiting = clock.sleepers();
    let second = reached.send(&question("go"), &[]).await;
    until("a request in the queue", async || {
        clock.sleepers() > waiting
    })
    .await;
    clock.advance(QUEUED);
    let said = hear(second).await;
    assert_eq!((said.status, said.header("retry-after")), (429, "5"));
    assert_eq!(said.json()["error"]["type"], "rate_limit_error");
    // One whose turn comes in time is answered.
    let waiting = clock.sleepers();
    let third = reached.send(&question("go"), &[]).await;
    until("a request in the queue", async || {
        clock.sleepers() > waiting
    })
    .await;
    keeper.open(9);
    first.rest().await;
    assert_eq!(hear(third).await.status, 200);
}

#[tokio::test]
async fn an_inbox_that_is_full_is_a_rate_limit() {
    let (tool, keeper) = ProbeTool::gated("Work", rooftree_protocol::Effect::ReadOnly);
    let entries = [say("").calls([call("Work", json!({}))]), say("Done.")];
    let mut busy = open("busy");
    busy.limits.inbox = 1;
    let reached = Reached::start(
        TestRuntimeBuilder::new(entries)
            .tools(Toolset::new([tool]))
            .agent(busy),
    )
    .await;
    let body = with(
        question("go"),
        json!({"model": "agent:busy", "user": "ada"}),
    );
    let _first = reached.stream(&body, &[]).await;
    until("the work", async || keeper.started() == 1).await;
    let _second = reached.stream(&body, &[]).await;
    let said = reached.ask(&body, &[]).await;
    assert_eq!((said.status, code(&said)), (429, json!("inbox_full")));
    assert_eq!(said.header("retry-after"), "5");
}
