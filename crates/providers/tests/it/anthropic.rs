//! Anthropic's wire: what comes back.

use rooftree_protocol::{
    CallId, ErrorCode, ModelChoice, Usage,
    event::{ReplyPart, StopReason},
};
use rooftree_providers::{
    Error, ReplyChunk, anthropic,
    http::{HttpClient, HttpTimeouts, Secret},
};
use rooftree_testkit::model_server::{AnswerBlock, AnswerStop, ModelServer, say};
use serde_json::json;

use crate::asking::{ANTHROPIC, ask, assistant, conversation, question, said, user};

fn tool_input(index: usize, tool: &str, text: &str) -> ReplyChunk {
    ReplyChunk::ToolInput {
        index,
        tool: tool.into(),
        text: text.into(),
    }
}

#[tokio::test]
async fn a_whole_answer_streams_and_is_kept_in_order() {
    let usage = Usage {
        input: 100,
        output: 40,
        cache_read: 60,
        cache_write: 30,
        reasoning: 12,
        ..Usage::default()
    };
    let answer = say()
        .thinking(["Let me ", "see."], "sig==")
        .text(["I look", " twice."])
        .call("toolu_1", "Read", ["{\"path\":", "\"a.txt\"}"])
        .call("toolu_2", "List", [])
        .usage(usage);
    let server = ModelServer::start(ANTHROPIC.server, [answer]).await;
    let (chunks, reply) = ask(&ANTHROPIC.model(&server.url()), question("hi")).await;
    let reply = reply.unwrap();
    assert_eq!(
        chunks,
        [
            ReplyChunk::Thinking("Let me ".into()),
            ReplyChunk::Thinking("see.".into()),
            ReplyChunk::Text("I look".into()),
            ReplyChunk::Text(" twice.".into()),
            tool_input(0, "Read", ""),
            tool_input(0, "", "{\"path\":"),
            tool_input(0, "", "\"a.txt\"}"),
            tool_input(1, "List", ""),
        ]
    );
    let [thinking, text, ReplyPart::Call(read), ReplyPart::Call(list)] = reply.parts.as_slice()
    else {
        panic!("{:?}", reply.parts)
    };
    assert_eq!(
        *thinking,
        ReplyPart::Thinking {
            text: "Let me see.".into(),
            signature: Some("sig==".into())
        }
    );
    assert_eq!(
        *text,
        ReplyPart::Text {
            text: "I look twice.".into()
        }
    );
    assert_eq!(
        (read.tool.as_str(), &read.input),
        ("Read", &json!({"path": "a.txt"}))
    );
    assert_eq!((list.tool.as_str(), &list.input), ("List", &json!({})));
    assert_ne!(read.id, list.id);
    assert_eq!(reply.stop, StopReason::Calls);
    assert_eq!(reply.usage, usage);
    assert_eq!(reply.request.as_deref(), Some("req_1"));
}

#[tokio::test]
async fn a_request_carries_the_key_and_the_version() {
    let server = ModelServer::start(ANTHROPIC.server, [say().text(["ok"])]).await;
    ask(&ANTHROPIC.model(&server.url()), question("hi"))
        .await
        .1
        .unwrap();
    let asked = server.requests().remove(0);
    assert_eq!(asked.path, "/v1/messages");
    assert_eq!(asked.header("x-api-key"), "sk-test");
    assert_eq!(asked.header("anthropic-version"), "2023-06-01");
    assert_eq!(asked.header("content-type"), "application/json");
    assert!(asked.header("user-agent").starts_with("rooftree/"));
}

#[tokio::test]
async fn a_token_goes_into_the_other_header() {
    let server = ModelServer::start(ANTHROPIC.server, [say().text(["ok"])]).await;
    let options = anthropic::AnthropicOptions {
        base_url: format!("{}/v1/", server.url()),
        scheme: anthropic::KeyScheme::Bearer,
        ..anthropic::AnthropicOptions::new(
            HttpClient::new(HttpTimeouts::default()).unwrap(),
            Secret::fixed("token"),
        )
    };
    let choice: ModelChoice = "anthropic/m".parse().unwrap();
    let model = anthropic::opener(options)(&choice).unwrap();
    ask(&model, question("hi")).await.1.unwrap();
    let asked = server.requests().remove(0);
    assert_eq!(
        (asked.path.as_str(), asked.header("authorization")),
        ("/v1/messages", "Bearer token")
    );
    assert_eq!(asked.header("x-api-key"), "");
}

#[test]
fn without_a_key_there_is_no_model_but_advice() {
    let options = anthropic::AnthropicOptions::new(
        HttpClient::new(HttpTimeouts::default()).unwrap(),
        Secret::none(),
    );
    let choice: ModelChoice = "anthropic/claude-sonnet-5-5".parse().unwrap();
    let Err(problem) = anthropic::opener(options)(&choice) else {
        panic!("opened without a key")
    };
    assert_eq!(
        (problem.code, problem.code.number()),
        (ErrorCode::Unauthorized, "E0401")
    );
    assert!(problem.fix.unwrap().contains("ANTHROPIC_API_KEY"));
}

#[tokio::test]
async fn what_only_the_vendor_understands_comes_back_to_it_as_it_was() {
    let search =
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [
        {"type": "web_search_result", "url": "https://a.test", "encrypted_content": "x"}]});
    let hidden = json!({"type": "redacted_thinking", "data": "EmwKAhgB"});
    let cited = json!({"type": "char_location", "cited_text": "b", "document_index": 0});
    let cite = json!({"type": "content_block_delta", "index": 3, "delta": {"type": "citations_delta", "citation": cited}});
    let input = json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"query\":\"b\"}"}});
    let frame = |value: &serde_json::Value| {
        AnswerBlock::Frame(format!("event: content_block_delta\ndata: {value}\n\n"))
    };
    let answer = say()
        .block(AnswerBlock::Item(hidden.clone()))
        .block(AnswerBlock::Item(search.clone()))
        .block(frame(&input))
        .block(AnswerBlock::Item(found.clone()))
        .text(["It is b."])
        .block(frame(&cite));
    let server = ModelServer::start(ANTHROPIC.server, [answer, say().text(["ok"])]).await;
    let model = ANTHROPIC.model(&server.url());
    let (chunks, reply) = ask(&model, question("hi")).await;
    assert_eq!(said(&chunks), "It is b.");
    let again = conversation(vec![
        user("hi"),
        assistant("anthropic/m", reply.unwrap().parts),
        user("sure?"),
    ]);
    assert_eq!(
        ask(&model, again).await.1.unwrap().dropped,
        Vec::<String>::new()
    );
    let asked = server.requests().remove(1).json();
    let mut search = search;
    search["input"] = json!({"query": "b"});
    let text = json!({"type": "text", "text": "It is b.", "citations": [cited]});
    assert_eq!(
        asked["messages"][1]["content"],
        json!([hidden, search, found, text])
    );
}

#[tokio::test]
async fn a_block_nobody_knows_grows_by_its_deltas() {
    let delta = |delta: serde_json::Value| {
        let event = json!({"type": "content_block_delta", "index": 0, "delta": delta});
        AnswerBlock::Frame(format!("event: content_block_delta\ndata: {event}\n\n"))
    };
    let answer = say()
        .block(AnswerBlock::Item(json!({"type": "summary", "text": "a"})))
        .block(delta(json!({"type": "text_delta", "text": "b"})))
        .block(delta(
            json!({"type": "summary_delta", "text": "c", "weight": 3}),
        ));
    let server = ModelServer::start(ANTHROPIC.server, [answer]).await;
    let reply = ask(&ANTHROPIC.model(&server.url()), question("hi"))
        .await
        .1
        .unwrap();
    let item = json!({"type": "summary", "text": "abc", "weight": 3});
    assert_eq!(
        reply.parts,
        [ReplyPart::Opaque {
            provider: "anthropic".into(),
            item
        }]
    );
}

#[tokio::test]
async fn a_refusal_of_everything_is_an_error_with_the_reason() {
    let server = ModelServer::start(ANTHROPIC.server, [say().stop(AnswerStop::Refused)]).await;
    let (_, outcome) = ask(&ANTHROPIC.model(&server.url()), question("hi")).await;
    assert_eq!(outcome, Err(Error::Refused("This could do harm.".into())));
}

#[tokio::test]
async fn an_id_of_our_own_kind_survives_and_any_other_is_replaced() {
    let own = CallId::from_entropy(7);
    let answer = say()
        .call(own.as_str(), "A", ["{}"])
        .call("toolu-1", "B", ["{}"]);
    let server = ModelServer::start(ANTHROPIC.server, [answer]).await;
    let reply = ask(&ANTHROPIC.model(&server.url()), question("hi"))
        .await
        .1
        .unwrap();
    let [ReplyPart::Call(first), ReplyPart::Call(second)] = reply.parts.as_slice() else {
        panic!("{reply:?}")
    };
    assert_eq!(first.id, own);
    assert!(second.id.as_str().starts_with("call_"));
}
