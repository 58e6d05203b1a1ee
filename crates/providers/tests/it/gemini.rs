//! Google's wire: what comes back.

use rooftree_protocol::{
    ErrorCode, ModelChoice, Usage,
    event::{ReplyPart, StopReason},
};
use rooftree_providers::{
    Error, ReplyChunk, gemini,
    http::{HttpClient, HttpTimeouts, Secret},
};
use rooftree_testkit::model_server::{AnswerBlock, ModelServer, fail, say};
use serde_json::json;

use crate::asking::{GEMINI, ask, assistant, conversation, question, said, user};

fn signed_call(id: &str, tool: &str, json: &str, signature: &str) -> AnswerBlock {
    AnswerBlock::Call {
        id: id.into(),
        tool: tool.into(),
        json: vec![json.into()],
        signature: Some(signature.into()),
    }
}

#[tokio::test]
async fn a_whole_answer_streams_and_is_kept_in_order() {
    let usage = Usage {
        input: 100,
        output: 40,
        cache_read: 60,
        reasoning: 12,
        ..Usage::default()
    };
    let answer = say()
        .thinking(["Let me ", "see."], "c2ln")
        .text(["I look", " twice."])
        .block(signed_call("", "Read", "{\"path\":\"a.txt\"}", "Y2FsbA=="))
        .call("", "List", ["{}"])
        .usage(usage);
    let server = ModelServer::start(GEMINI.server, [answer]).await;
    let (chunks, reply) = ask(&GEMINI.model(&server.url()), question("hi")).await;
    let reply = reply.unwrap();
    let input = |index, tool: &str, text: &str| ReplyChunk::ToolInput {
        index,
        tool: tool.into(),
        text: text.into(),
    };
    assert_eq!(
        chunks,
        [
            ReplyChunk::Thinking("Let me ".into()),
            ReplyChunk::Thinking("see.".into()),
            ReplyChunk::Text("I look".into()),
            ReplyChunk::Text(" twice.".into()),
            input(0, "Read", "{\"path\":\"a.txt\"}"),
            input(1, "List", "{}"),
        ]
    );
    let [
        thinking,
        text,
        signature,
        ReplyPart::Call(read),
        ReplyPart::Call(list),
    ] = reply.parts.as_slice()
    else {
        panic!("{:?}", reply.parts)
    };
    assert_eq!(
        *thinking,
        ReplyPart::Thinking {
            text: "Let me see.".into(),
            signature: Some("c2ln".into())
        }
    );
    assert_eq!(
        *text,
        ReplyPart::Text {
            text: "I look twice.".into()
        }
    );
    let item = json!({"thoughtSignature": "Y2FsbA=="});
    assert_eq!(
        *signature,
        ReplyPart::Opaque {
            provider: "google".into(),
            item
        }
    );
    assert_eq!(
        (read.tool.as_str(), &read.input),
        ("Read", &json!({"path": "a.txt"}))
    );
    assert_eq!((list.tool.as_str(), &list.input), ("List", &json!({})));
    assert_ne!(read.id, list.id);
    assert_eq!((reply.stop, reply.usage), (StopReason::Calls, usage));
    assert_eq!(reply.request.as_deref(), Some("req_1"));
    let asked = server.requests().remove(0);
    assert_eq!(asked.path, "/v1beta/models/m:streamGenerateContent?alt=sse");
    assert_eq!(asked.header("x-goog-api-key"), "sk-test");
}

#[test]
fn without_a_key_there_is_no_model_but_advice() {
    let options = gemini::GeminiOptions::new(
        HttpClient::new(HttpTimeouts::default()).unwrap(),
        Secret::none(),
    );
    let choice: ModelChoice = "google/gemini-3-pro".parse().unwrap();
    let Err(problem) = gemini::opener(options)(&choice) else {
        panic!("opened without a key")
    };
    assert_eq!(
        (problem.code, problem.code.number()),
        (ErrorCode::Unauthorized, "E0401")
    );
    assert!(problem.fix.unwrap().contains("GEMINI_API_KEY"));
}

#[tokio::test]
async fn signatures_and_unknown_parts_go_back_where_they_were() {
    let code = json!({"executableCode": {"language": "PYTHON", "code": "1+1"}, "thoughtSignature": "Y29kZQ=="});
    let signed = json!({"text": "two", "thoughtSignature": "dGV4dA=="});
    let last = json!({"text": "", "thoughtSignature": "ZW5k"});
    let answer = say()
        .thinking(["Hm."], "c2ln")
        .text(["one ", "and "])
        .block(AnswerBlock::Item(signed.clone()))
        .block(AnswerBlock::Item(code.clone()))
        .block(signed_call("", "Read", "{}", "Y2FsbA=="))
        .block(AnswerBlock::Item(last.clone()));
    let server = ModelServer::start(GEMINI.server, [answer, say().text(["ok"])]).await;
    let model = GEMINI.model(&server.url());
    let (chunks, reply) = ask(&model, question("hi")).await;
    assert_eq!(said(&chunks), "one and two");
    let again = conversation(vec![
        user("hi"),
        assistant("google/m", reply.unwrap().parts),
        user("sure?"),
    ]);
    assert_eq!(
        ask(&model, again).await.1.unwrap().dropped,
        Vec::<String>::new()
    );
    let parts = server.requests().remove(1).json()["contents"][1]["parts"].clone();
    let id = parts[4]["functionCall"]["id"].clone();
    let expected = json!([
        {"text": "Hm.", "thought": true, "thoughtSignature": "c2ln"},
        {"text": "one and "},
        signed,
        code,
        {"functionCall": {"id": id, "name": "Read", "args": {}}, "thoughtSignature": "Y2FsbA=="},
        last,
    ]);
    assert_eq!(parts, expected);
}

#[tokio::test]
async fn what_is_blocked_or_misspelled_is_an_error_of_its_class() {
    let event = |value: serde_json::Value| {
        say()
            .without_end()
            .block(AnswerBlock::Frame(format!("data: {value}\n\n")))
    };
    let stopped = |reason: &str| {
        event(json!({"candidates": [{"finishReason": reason, "finishMessage": "because"}]}))
    };
    let blocked = event(json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}));
    let answers = [
        blocked,
        stopped("SAFETY"),
        stopped("MALFORMED_FUNCTION_CALL"),
        say()
            .text(["a"])
            .with_error(fail(429, "RESOURCE_EXHAUSTED", "quota")),
    ];
    let server = ModelServer::start(GEMINI.server, answers).await;
    let model = GEMINI.model(&server.url());
    let mut outcomes = Vec::new();
    for _ in 0..4 {
        outcomes.push(ask(&model, question("hi")).await.1);
    }
    assert_eq!(
        outcomes,
        [
            Err(Error::Refused(
                "the prompt is blocked: PROHIBITED_CONTENT".into()
            )),
            Err(Error::Refused("because".into())),
            Err(Error::Broken("because".into())),
            Err(Error::RateLimited { retry_after: None }),
        ]
    );
}

#[tokio::test]
async fn the_base_url_says_which_version_is_asked() {
    for (behind, version) in [("", "v1beta"), ("/v1beta", "v1beta"), ("/v1", "v1")] {
        let server = ModelServer::start(GEMINI.server, [say().text(["ok"])]).await;
        let model = GEMINI.model(&format!("{}{behind}", server.url()));
        assert!(ask(&model, question("hi")).await.1.is_ok());
        let path = format!("/{version}/models/m:streamGenerateContent?alt=sse");
        assert_eq!(server.requests()[0].path, path);
    }
}
