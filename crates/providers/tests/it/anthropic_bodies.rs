//! Anthropic's wire: what is sent.

use std::sync::Arc;

use rooftree_protocol::{Effort, ErrorCode, Outcome, Part, event::ReplyPart};
use rooftree_providers::{ModelMessage, ModelRequest, ToolChoice};
use rooftree_testkit::model_server::{ModelServer, say};
use serde_json::{Value, json};

use crate::asking::{
    self, ANTHROPIC, ask, assert_extends, assistant, call, conversation, image, question, result,
    tool, user,
};

async fn sent(request: ModelRequest) -> (Value, Vec<String>) {
    asking::sent(ANTHROPIC, request).await
}

fn thinking(text: &str, signature: &str) -> ReplyPart {
    ReplyPart::Thinking {
        text: text.into(),
        signature: Some(signature.into()),
    }
}

#[tokio::test]
async fn a_conversation_with_tools_and_images_is_spelled_as_the_wire_wants_it() {
    let (picture, media) = image();
    let calls = vec![
        thinking("Hm.", "sig"),
        ReplyPart::Text {
            text: "Looking.".into(),
        },
        call(1, "Read", json!({"path": "a"})),
        call(2, "Read", json!("{\"path\": ")),
    ];
    let results = ModelMessage::Results(vec![
        result(1, Outcome::Done, vec![Part::text("seen"), picture.clone()]),
        result(
            2,
            Outcome::Failed(ErrorCode::InvalidArguments),
            vec![Part::text("no JSON")],
        ),
    ]);
    let messages = vec![
        ModelMessage::User(vec![Part::text("What is this?"), picture]),
        assistant("anthropic/m", calls),
        results,
    ];
    let request = ModelRequest {
        media,
        tools: Arc::new([tool("Read")]),
        ..conversation(messages)
    };
    let (body, dropped) = sent(request).await;
    let (first, second) = (
        body["messages"][1]["content"][2]["id"].clone(),
        body["messages"][1]["content"][3]["id"].clone(),
    );
    let png = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "YWJj"}});
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": "What is this?"}, png]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": first, "name": "Read", "input": {"path": "a"}},
            {"type": "tool_use", "id": second, "name": "Read", "input": {"input": "{\"path\": "}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": first, "content": [{"type": "text", "text": "seen"}, png]},
            {"type": "tool_result", "tool_use_id": second, "is_error": true,
             "content": [{"type": "text", "text": "no JSON"}]},
        ]},
    ]);
    assert_eq!(body["messages"], expected);
    assert!(first.as_str().unwrap().starts_with("call_"));
    assert_eq!(body["system"][0]["text"], "Be brief.");
    assert_eq!(body["tools"][0]["input_schema"]["type"], "object");
    assert_eq!(
        (&body["stream"], &body["max_tokens"]),
        (&json!(true), &json!(32_000))
    );
    assert_eq!(dropped, Vec::<String>::new());
}

#[tokio::test]
async fn thinking_of_others_stays_behind_and_is_named_once() {
    let foreign = ReplyPart::Opaque {
        provider: "openai".into(),
        item: json!({"type": "reasoning"}),
    };
    let messages = vec![
        user("a"),
        assistant(
            "openai/gpt",
            vec![
                thinking("x", "y"),
                foreign,
                ReplyPart::Text { text: "b".into() },
            ],
        ),
        user("c"),
        assistant("openai/gpt", vec![thinking("x", "y")]),
        user("d"),
    ];
    let (body, dropped) = sent(conversation(messages)).await;
    assert_eq!(
        dropped,
        [
            "the thinking of openai/gpt",
            "items only openai understands"
        ]
    );
    assert_eq!(
        body["messages"][1]["content"],
        json!([{"type": "text", "text": "b"}])
    );
    assert_eq!(
        body["messages"].as_array().unwrap().len(),
        4,
        "a message of nothing else is left out"
    );
}

#[tokio::test]
async fn an_image_without_bytes_is_described() {
    let (picture, _) = image();
    let (body, _) = sent(conversation(vec![ModelMessage::User(vec![picture])])).await;
    let text = body["messages"][0]["content"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        text.contains("image/png") && text.contains("no longer there"),
        "{text}"
    );
}

#[tokio::test]
async fn the_body_of_a_turn_begins_with_the_one_before() {
    let server = ModelServer::start_with(ANTHROPIC.server, |_| say().text(["ok"]).into()).await;
    let model = ANTHROPIC.model(&server.url());
    let mut messages = vec![
        user("one"),
        assistant(
            "anthropic/m",
            vec![thinking("t", "s"), call(1, "Read", json!({}))],
        ),
    ];
    messages.push(ModelMessage::Results(vec![result(
        1,
        Outcome::Done,
        vec![Part::text("1")],
    )]));
    messages.extend([
        assistant(
            "anthropic/m",
            vec![ReplyPart::Text {
                text: "done".into(),
            }],
        ),
        user("two"),
    ]);
    for turn in [1, 3, 5] {
        let messages = messages.iter().take(turn).cloned().collect();
        let request = ModelRequest {
            tools: Arc::new([tool("Read"), tool("List")]),
            ..conversation(messages)
        };
        ask(&model, request).await.1.unwrap();
    }
    let bodies: Vec<_> = server
        .requests()
        .into_iter()
        .map(|asked| asked.body)
        .collect();
    assert_extends(&bodies[0], &bodies[1]);
    assert_extends(&bodies[1], &bodies[2]);
    let text = String::from_utf8_lossy(&bodies[2]);
    assert_eq!(
        text.matches("cache_control").count(),
        2,
        "one for the stable part, one for the end: {text}"
    );
}

#[tokio::test]
async fn wishes_are_spelled_as_the_model_understands_them() {
    let with_tools = |choice| ModelRequest {
        tools: Arc::new([tool("Read")]),
        tool_choice: choice,
        ..question("hi")
    };
    assert_eq!(
        sent(with_tools(ToolChoice::Auto)).await.0["tool_choice"],
        json!(null)
    );
    assert_eq!(
        sent(with_tools(ToolChoice::Nothing)).await.0["tool_choice"],
        json!({"type": "none"})
    );
    assert_eq!(
        sent(with_tools(ToolChoice::Something)).await.0["tool_choice"],
        json!({"type": "any"})
    );
    let this = ModelRequest {
        model: "claude-opus-5-5".into(),
        effort: Some(Effort::High),
        ..with_tools(ToolChoice::This("Read".into()))
    };
    let body = sent(this.clone()).await.0;
    assert_eq!(body["tool_choice"], json!({"type": "tool", "name": "Read"}));
    assert_eq!(
        body["thinking"],
        json!(null),
        "a forced call and thinking exclude each other"
    );
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let wish = ModelRequest {
        schema: Some(Arc::new(schema.clone())),
        tool_choice: ToolChoice::Auto,
        ..this
    };
    let body = sent(wish).await.0;
    assert_eq!(
        body["thinking"],
        json!({"type": "adaptive", "display": "summarized"})
    );
    assert_eq!(
        body["output_config"],
        json!({"effort": "high", "format": {"type": "json_schema", "schema": schema}})
    );
    let older = ModelRequest {
        model: "claude-haiku-4-5".into(),
        effort: Some(Effort::Low),
        max_output: Some(9000),
        ..question("hi")
    };
    let body = sent(older).await.0;
    assert_eq!(
        (&body["max_tokens"], &body["output_config"]),
        (&json!(9000), &json!(null))
    );
    assert_eq!(
        body["thinking"],
        json!({"type": "enabled", "budget_tokens": 2048})
    );
}

#[tokio::test]
async fn an_older_model_does_not_think_in_the_middle_of_another_models_calls() {
    let asked = |model: &str| {
        let results = ModelMessage::Results(vec![result(1, Outcome::Done, vec![Part::text("1")])]);
        let parts = vec![thinking("t", "s"), call(1, "Read", json!({}))];
        let messages = vec![user("one"), assistant(model, parts), results];
        ModelRequest {
            model: "claude-haiku-4-5".into(),
            effort: Some(Effort::Low),
            tools: Arc::new([tool("Read")]),
            ..conversation(messages)
        }
    };
    assert_eq!(sent(asked("openai/gpt")).await.0["thinking"], json!(null));
    assert_eq!(
        sent(asked("anthropic/m")).await.0["thinking"]["type"],
        "enabled"
    );
}
