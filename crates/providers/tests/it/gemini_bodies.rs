//! Google's wire: what is sent.

use std::sync::Arc;

use rooftree_protocol::{Effort, ErrorCode, Outcome, Part, event::ReplyPart};
use rooftree_providers::{ModelMessage, ModelRequest, ToolChoice};
use rooftree_testkit::model_server::{ModelServer, say};
use serde_json::{Value, json};

use crate::asking::{
    self, GEMINI, ask, assert_extends, assistant, call, conversation, image, question, result,
    tool, user,
};

async fn sent(request: ModelRequest) -> (Value, Vec<String>) {
    asking::sent(GEMINI, request).await
}

fn with_results(model: &str, writer: &str) -> ModelRequest {
    let (picture, media) = image();
    let calls = vec![
        ReplyPart::Text {
            text: "Looking.".into(),
        },
        call(1, "Read", json!({"path": "a"})),
        call(2, "List", json!("{\"path\": ")),
    ];
    let results = ModelMessage::Results(vec![
        result(1, Outcome::Done, vec![Part::text("seen"), picture.clone()]),
        result(
            2,
            Outcome::Failed(ErrorCode::InvalidArguments),
            vec![Part::text("no JSON")],
        ),
    ]);
    let question = ModelMessage::User(vec![Part::text("What is this?"), picture]);
    let messages = vec![question, assistant(writer, calls), results];
    ModelRequest {
        model: model.into(),
        media,
        tools: Arc::new([tool("Read")]),
        ..conversation(messages)
    }
}

#[tokio::test]
async fn a_conversation_with_tools_and_images_is_spelled_as_the_wire_wants_it() {
    let (body, dropped) = sent(with_results("gemini-3-pro", "anthropic/claude")).await;
    let contents = &body["contents"];
    let (first, second) = (
        contents[1]["parts"][1]["functionCall"]["id"].clone(),
        contents[1]["parts"][2]["functionCall"]["id"].clone(),
    );
    let png = json!({"inlineData": {"mimeType": "image/png", "data": "YWJj"}});
    let expected = json!([
        {"role": "user", "parts": [{"text": "What is this?"}, png]},
        {"role": "model", "parts": [
            {"text": "Looking."},
            {"functionCall": {"id": first, "name": "Read", "args": {"path": "a"}},
             "thoughtSignature": "skip_thought_signature_validator"},
            {"functionCall": {"id": second, "name": "List", "args": {"input": "{\"path\": "}}},
        ]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": first, "name": "Read", "response": {"output": "seen"}, "parts": [png]}},
            {"functionResponse": {"id": second, "name": "List", "response": {"error": "no JSON"}}},
        ]},
    ]);
    assert_eq!(*contents, expected);
    assert_eq!(
        body["systemInstruction"],
        json!({"parts": [{"text": "Be brief."}]})
    );
    assert_eq!(
        body["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"]["type"],
        "object"
    );
    assert_eq!(dropped, Vec::<String>::new());
}

#[tokio::test]
async fn an_older_model_gets_images_of_tools_behind_the_result_and_no_signatures() {
    let (body, _) = sent(with_results("gemini-2.5-flash", "anthropic/claude")).await;
    let parts = &body["contents"][2]["parts"];
    assert_eq!(parts[0]["functionResponse"]["parts"], json!(null));
    assert_eq!(parts[1]["inlineData"]["mimeType"], "image/png");
    assert_eq!(
        body["contents"][1]["parts"][1]["thoughtSignature"],
        json!(null)
    );
}

#[tokio::test]
async fn thinking_of_others_stays_behind_and_is_named_once() {
    let thinking = || ReplyPart::Thinking {
        text: "x".into(),
        signature: Some("y".into()),
    };
    let foreign = ReplyPart::Opaque {
        provider: "openai".into(),
        item: json!({"thoughtSignature": "z"}),
    };
    let text = ReplyPart::Text { text: "b".into() };
    let messages = vec![
        user("a"),
        assistant("openai/gpt", vec![thinking(), foreign, text]),
        user("c"),
        assistant("openai/gpt", vec![thinking()]),
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
    assert_eq!(body["contents"][1]["parts"], json!([{"text": "b"}]));
    assert_eq!(
        body["contents"].as_array().unwrap().len(),
        4,
        "a message of nothing else is left out"
    );
}

#[tokio::test]
async fn the_body_of_a_turn_begins_with_the_one_before() {
    let server = ModelServer::start_with(GEMINI.server, |_| say().text(["ok"]).into()).await;
    let model = GEMINI.model(&server.url());
    let mut messages = vec![
        user("one"),
        assistant("google/m", vec![call(1, "Read", json!({}))]),
    ];
    messages.push(ModelMessage::Results(vec![result(
        1,
        Outcome::Done,
        vec![Part::text("1")],
    )]));
    messages.extend([
        assistant(
            "google/m",
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
}

#[tokio::test]
async fn wishes_are_spelled_as_the_model_understands_them() {
    let with_tools = |choice| ModelRequest {
        tools: Arc::new([tool("Read")]),
        tool_choice: choice,
        ..question("hi")
    };
    let calling = |mode: &str| json!({"functionCallingConfig": {"mode": mode}});
    assert_eq!(
        sent(with_tools(ToolChoice::Auto)).await.0["toolConfig"],
        json!(null)
    );
    assert_eq!(
        sent(with_tools(ToolChoice::Nothing)).await.0["toolConfig"],
        calling("NONE")
    );
    assert_eq!(
        sent(with_tools(ToolChoice::Something)).await.0["toolConfig"],
        calling("ANY")
    );
    let only = json!({"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["Read"]}});
    assert_eq!(
        sent(with_tools(ToolChoice::This("Read".into()))).await.0["toolConfig"],
        only
    );
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let wish = ModelRequest {
        model: "gemini-3.8-flash".into(),
        effort: Some(Effort::Medium),
        schema: Some(Arc::new(schema.clone())),
        max_output: Some(700),
        ..question("hi")
    };
    let expected = json!({
        "maxOutputTokens": 700,
        "thinkingConfig": {"includeThoughts": true, "thinkingLevel": "MEDIUM"},
        "responseMimeType": "application/json",
        "responseJsonSchema": schema,
    });
    assert_eq!(sent(wish).await.0["generationConfig"], expected);
    let older = ModelRequest {
        model: "gemini-2.5-pro".into(),
        effort: Some(Effort::Low),
        ..question("hi")
    };
    let expected = json!({"thinkingConfig": {"includeThoughts": true, "thinkingBudget": 1024}});
    assert_eq!(sent(older).await.0["generationConfig"], expected);
}
