//! Chat Completions over the wire: what is asked and what is made of the answer.

use std::{collections::HashMap, sync::Arc};

use rooftree_protocol::{
    BlobId, Effort, ErrorCode, Outcome, Part, Usage,
    event::{ReplyPart, StopReason},
};
use rooftree_providers::{
    ModelRequest, ReplyChunk, ToolChoice,
    http::Secret,
    openai::{ChatDialect, ChatProvider, OpenAiEndpoint, chat::*},
};
use rooftree_testkit::model_server::{
    AnswerBlock, AnswerStop, ModelServer, StreamedAnswer,
    openai_chat::{WIRE, chunk},
    say,
};
use serde_json::{Value, json};

use crate::{
    asking::{assert_extends, said},
    openai::*,
};

const DEEPSEEK: ChatDialect = ChatDialect {
    thinking: ThinkingField::ReasoningContent,
    ..ChatDialect::PLAIN
};

fn chat(server: &ModelServer, dialect: ChatDialect) -> ChatProvider {
    let endpoint = OpenAiEndpoint::new("vendor", format!("{}/v1", server.url()));
    ChatProvider::new(
        client(),
        endpoint.keyed(Secret::fixed("sk-1"), "VENDOR_API_KEY"),
        dialect,
    )
}

/// What a server is asked in a dialect.
async fn asked(dialect: ChatDialect, request: ModelRequest) -> (Value, Vec<String>) {
    let server = ModelServer::start(WIRE, [say().text(["ok"])]).await;
    let (_, reply) = ask(&chat(&server, dialect), request).await;
    (server.requests()[0].json(), reply.unwrap().dropped)
}

/// What is made of an answer.
async fn answer(saying: StreamedAnswer) -> (Vec<ReplyChunk>, rooftree_providers::ModelReply) {
    let server = ModelServer::start(WIRE, [saying]).await;
    let (deltas, reply) = ask(&chat(&server, ChatDialect::OPENAI), request()).await;
    (deltas, reply.unwrap())
}

#[tokio::test]
async fn a_text_comes_in_deltas_and_then_whole() {
    let usage = Usage {
        input: 90,
        output: 30,
        cache_read: 64,
        cache_write: 10,
        reasoning: 20,
        ..Usage::default()
    };
    let server = ModelServer::start(WIRE, [say().text(["Grü", "ße."]).usage(usage)]).await;
    let (deltas, reply) = ask(&chat(&server, ChatDialect::OPENAI), request()).await;
    let reply = reply.unwrap();
    assert_eq!(
        deltas,
        [
            ReplyChunk::Text("Grü".into()),
            ReplyChunk::Text("ße.".into())
        ]
    );
    assert_eq!(reply.parts, [text("Grüße.")]);
    assert_eq!((reply.stop, reply.usage), (StopReason::End, usage));
    assert_eq!(reply.request.as_deref(), Some("req_1"));
    let asked = &server.requests()[0];
    assert_eq!(asked.path, "/v1/chat/completions");
    assert_eq!(asked.header("authorization"), "Bearer sk-1");
    let body = asked.json();
    assert_eq!(
        body["messages"][0],
        json!({"role": "system", "content": "Be brief."})
    );
    assert_eq!(
        body["messages"][1],
        json!({"role": "user", "content": "Hi"})
    );
    assert_eq!(body["stream_options"], json!({"include_usage": true}));
    assert_eq!(body["prompt_cache_key"], request().session.as_str());
}

#[tokio::test]
async fn parallel_calls_are_streamed_and_kept_apart() {
    let saying = say()
        .text(["Looking."])
        .call("a", "Read", ["{\"path\":", "\"x\"}"])
        .call("b", "List", ["{}"]);
    let (deltas, reply) = answer(saying).await;
    assert_eq!(reply.stop, StopReason::Calls);
    assert_eq!(
        calls(&reply),
        [
            ("Read".into(), json!({"path": "x"})),
            ("List".into(), json!({}))
        ]
    );
    let piece = |index, tool: &str, text: &str| (index, tool.to_owned(), text.to_owned());
    assert_eq!(
        inputs(&deltas),
        [
            piece(0, "Read", ""),
            piece(0, "", "{\"path\":"),
            piece(0, "", "\"x\"}"),
            piece(1, "List", ""),
            piece(1, "", "{}"),
        ]
    );
}

#[tokio::test]
async fn calls_are_told_apart_without_an_index_and_with_one_that_repeats() {
    let delta = |calls: Value| AnswerBlock::Item(json!({"tool_calls": calls}));
    let function = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    // No index; the arguments as an object.
    let saying = say()
        .block(delta(
            json!([{"id": "a", "function": function("Read", json!({"path": "x"}))}]),
        ))
        .block(delta(
            json!([{"id": "b", "function": function("List", json!("{\"a\""))}]),
        ))
        .block(delta(json!([{"function": {"arguments": ":1}"}}])));
    let (_, reply) = answer(saying).await;
    assert_eq!(
        calls(&reply),
        [
            ("Read".into(), json!({"path": "x"})),
            ("List".into(), json!({"a": 1}))
        ]
    );
    assert_eq!(
        reply.stop,
        StopReason::Calls,
        "calls count, whatever the reason says"
    );
    // The same index for different ids, and the same id for different indices.
    let saying = say()
        .block(delta(
            json!([{"index": 0, "id": "a", "function": function("Read", json!("{}"))}]),
        ))
        .block(delta(
            json!([{"index": 0, "id": "b", "function": function("List", json!("{}"))}]),
        ))
        .block(delta(
            json!([{"index": 1, "id": "b", "function": function("Grep", json!("{}"))}]),
        ));
    let (_, reply) = answer(saying).await;
    let names: Vec<String> = calls(&reply).into_iter().map(|(tool, _)| tool).collect();
    assert_eq!(names, ["Read", "List", "Grep"]);
}

#[tokio::test]
async fn arguments_that_are_no_json_reach_the_tool_as_text() {
    let (_, reply) = answer(say().call("a", "Read", ["{\"path\": ", "oops"])).await;
    assert_eq!(calls(&reply), [("Read".into(), json!("{\"path\": oops"))]);
    let history = vec![user("Hi"), assistant("vendor/m", reply.parts)];
    let (body, _) = asked(
        ChatDialect::OPENAI,
        ModelRequest {
            messages: history.into(),
            ..request()
        },
    )
    .await;
    let arguments = body["messages"][2]["tool_calls"][0]["function"]["arguments"]
        .as_str()
        .unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(arguments).unwrap(),
        json!({"malformed": "{\"path\": oops"})
    );
}

#[tokio::test]
async fn thinking_is_shown_kept_and_given_back_to_its_own_vendor_only() {
    let (deltas, reply) = answer(say().thinking(["Hm", "m."], "").text(["Yes."])).await;
    assert_eq!(
        deltas[..2],
        [
            ReplyChunk::Thinking("Hm".into()),
            ReplyChunk::Thinking("m.".into())
        ]
    );
    assert_eq!(reply.parts, [thinking("Hmm."), text("Yes.")]);
    let own = assistant("vendor/m", vec![thinking("Hmm."), call(1, json!({}))]);
    let foreign = assistant(
        "other/n",
        vec![thinking("Secret."), text("No."), call(2, json!({}))],
    );
    let opaque = ReplyPart::Opaque {
        provider: "other".into(),
        item: json!({"x": 1}),
    };
    let stray = assistant("other/n", vec![opaque]);
    let messages = vec![user("Hi"), own, foreign, stray];
    let (body, dropped) = asked(
        DEEPSEEK,
        ModelRequest {
            messages: messages.into(),
            ..request()
        },
    )
    .await;
    assert_eq!(body["messages"][2]["reasoning_content"], "Hmm.");
    assert_eq!(
        body["messages"][3]["reasoning_content"], "",
        "wanted next to calls, and empty"
    );
    assert_eq!(
        body["messages"].as_array().unwrap().len(),
        4,
        "a message of nothing is left out"
    );
    assert!(!body.to_string().contains("Secret"));
    assert_eq!(
        dropped,
        ["the thinking of other/n", "what only other understands"]
    );
}

#[tokio::test]
async fn reasoning_details_are_put_together_and_given_back_as_they_were() {
    let (deltas, reply) = answer(say().thinking(["A", "B"], "sig==").text(["C"])).await;
    assert_eq!(
        deltas[..2],
        [
            ReplyChunk::Thinking("A".into()),
            ReplyChunk::Thinking("B".into())
        ]
    );
    let details =
        json!([{"type": "reasoning.text", "text": "AB", "index": 0, "signature": "sig=="}]);
    let item = json!({"reasoning_details": details});
    let opaque = ReplyPart::Opaque {
        provider: "vendor".into(),
        item,
    };
    assert_eq!(reply.parts, [thinking("AB"), opaque, text("C")]);
    let router = ChatDialect {
        thinking: ThinkingField::Details,
        ..ChatDialect::PLAIN
    };
    let messages = vec![user("Hi"), assistant("vendor/m", reply.parts)];
    let (body, _) = asked(
        router,
        ModelRequest {
            messages: messages.into(),
            ..request()
        },
    )
    .await;
    let expected = json!({"role": "assistant", "content": "C", "reasoning_details": details});
    assert_eq!(body["messages"][2], expected);
}

#[tokio::test]
async fn thinking_in_pieces_of_the_content_is_read_and_given_back_so() {
    let thought = json!([{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]);
    let spoken = json!([{"type": "text", "text": "Yes."}, {"type": "reference", "ids": [1]}]);
    let saying = say()
        .block(AnswerBlock::Item(json!({"content": thought})))
        .block(AnswerBlock::Item(json!({"content": spoken})));
    let (_, reply) = answer(saying).await;
    assert_eq!(reply.parts, [thinking("Hm."), text("Yes.")]);
    let mistral = ChatDialect {
        thinking: ThinkingField::ContentPiece,
        call_ids: CallIdFormat::Nine,
        ..ChatDialect::PLAIN
    };
    let parts = vec![thinking("Hm."), text("Yes."), call(5, json!({}))];
    let messages = vec![
        user("Hi"),
        assistant("vendor/m", parts),
        results(vec![result(5, Outcome::Done, vec![])]),
    ];
    let (body, _) = asked(
        mistral,
        ModelRequest {
            messages: messages.into(),
            ..request()
        },
    )
    .await;
    let content = &body["messages"][2]["content"];
    assert_eq!(content[0], thought[0]);
    assert_eq!(content[1], json!({"type": "text", "text": "Yes."}));
    let id = body["messages"][2]["tool_calls"][0]["id"].as_str().unwrap();
    assert_eq!(
        (id.len(), &body["messages"][3]["tool_call_id"]),
        (9, &json!(id))
    );
}

#[tokio::test]
async fn results_say_how_they_ended_and_their_images_follow() {
    let blob = BlobId::from_digest(b"x");
    let image = |blob: &BlobId| Part::Image {
        blob: blob.clone(),
        media_type: "image/png".into(),
        bytes: 3,
    };
    let gone = BlobId::from_digest(b"gone");
    let messages = vec![
        user("Hi"),
        assistant(
            "vendor/m",
            vec![call(1, json!({})), call(2, json!({})), call(3, json!({}))],
        ),
        results(vec![
            result(1, Outcome::Done, vec![Part::text("fine"), image(&blob)]),
            result(
                2,
                Outcome::Failed(ErrorCode::ToolFailed),
                vec![Part::text("no such file")],
            ),
            result(3, Outcome::Denied, vec![image(&gone)]),
        ]),
        Arc::new(rooftree_providers::ModelMessage::User(vec![
            Part::text("And this?"),
            image(&blob),
        ])),
    ];
    let media = Arc::new(HashMap::from([(blob, Arc::from(*b"abc"))]));
    let (body, _) = asked(
        ChatDialect::OPENAI,
        ModelRequest {
            messages: messages.into(),
            media,
            ..request()
        },
    )
    .await;
    let tool = |index: usize| {
        body["messages"][index]["content"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(body["messages"][3]["tool_call_id"], call_id(1).as_str());
    assert_eq!(
        (tool(3), tool(4)),
        ("fine".to_owned(), "[failed] no such file".to_owned())
    );
    assert!(
        tool(5).starts_with("[denied] [image, image/png, 3 bytes"),
        "{}",
        tool(5)
    );
    let url = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,YWJj"}});
    assert_eq!(body["messages"][6]["role"], "user");
    assert_eq!(body["messages"][6]["content"][1], url);
    assert_eq!(
        body["messages"][7]["content"],
        json!([{"type": "text", "text": "And this?"}, url])
    );
}

#[tokio::test]
async fn every_wish_has_its_field_in_every_dialect() {
    let schema = Arc::new(json!({"type": "object", "properties": {}}));
    let wish = ModelRequest {
        effort: Some(Effort::High),
        tools: tools(),
        tool_choice: ToolChoice::This("Read".into()),
        schema: Some(schema.clone()),
        max_output: Some(100),
        ..request()
    };
    let (openai, dropped) = asked(ChatDialect::OPENAI, wish.clone()).await;
    assert_eq!(openai["max_completion_tokens"], 100);
    assert_eq!(
        openai["tool_choice"],
        json!({"type": "function", "function": {"name": "Read"}})
    );
    assert_eq!(openai["parallel_tool_calls"], true);
    assert_eq!(openai["tools"][0]["function"]["name"], "Read");
    assert_eq!(openai["response_format"]["json_schema"]["schema"], *schema);
    assert_eq!(
        (&openai["reasoning_effort"], dropped),
        (&Value::Null, vec!["the effort".to_owned()])
    );
    let (plain, dropped) = asked(ChatDialect::PLAIN, wish.clone()).await;
    assert_eq!(
        (&plain["max_tokens"], &plain["reasoning_effort"]),
        (&json!(100), &json!("high"))
    );
    assert_eq!(
        (&plain["parallel_tool_calls"], dropped),
        (&Value::Null, vec![])
    );
    let odd = ChatDialect {
        effort: EffortField::Reasoning,
        schema: SchemaField::Object,
        asks_usage: false,
        forces_tools: false,
        ..ChatDialect::PLAIN
    };
    let (odd, dropped) = asked(odd, wish.clone()).await;
    assert_eq!(odd["reasoning"], json!({"effort": "high"}));
    assert_eq!(odd["response_format"], json!({"type": "json_object"}));
    assert!(
        odd["messages"][0]["content"]
            .as_str()
            .unwrap()
            .contains("JSON Schema")
    );
    assert_eq!(
        (&odd["stream_options"], &odd["tool_choice"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(dropped, ["the demand to call a tool"]);
    for (choice, word) in [
        (ToolChoice::Nothing, "none"),
        (ToolChoice::Something, "required"),
    ] {
        let (body, _) = asked(
            ChatDialect::PLAIN,
            ModelRequest {
                tool_choice: choice,
                ..wish.clone()
            },
        )
        .await;
        assert_eq!(body["tool_choice"], word);
    }
    let (bare, _) = asked(
        ChatDialect::PLAIN,
        ModelRequest {
            effort: Some(Effort::Low),
            ..request()
        },
    )
    .await;
    assert_eq!(
        (&bare["tools"], &bare["tool_choice"]),
        (&Value::Null, &Value::Null)
    );
}

#[tokio::test]
async fn the_body_of_the_next_turn_begins_with_the_bytes_of_this_one() {
    let server = ModelServer::start(
        WIRE,
        [say().text(["a"]), say().text(["b"]), say().text(["c"])],
    )
    .await;
    let chat = chat(&server, DEEPSEEK);
    let mut messages = vec![user("Hi")];
    let more = [
        vec![assistant(
            "vendor/m",
            vec![thinking("T"), text("x"), call(1, json!({"path": "ä"}))],
        )],
        vec![
            results(vec![result(1, Outcome::Done, vec![Part::text("y")])]),
            user("Go on."),
        ],
    ];
    let base = || ModelRequest {
        tools: tools(),
        effort: Some(Effort::Low),
        ..request()
    };
    ask(
        &chat,
        ModelRequest {
            messages: messages.clone().into(),
            ..base()
        },
    )
    .await
    .1
    .unwrap();
    for turn in more {
        messages.extend(turn);
        ask(
            &chat,
            ModelRequest {
                messages: messages.clone().into(),
                attempt: 3,
                ..base()
            },
        )
        .await
        .1
        .unwrap();
    }
    let bodies = server.requests();
    for pair in bodies.windows(2) {
        assert_extends(&pair[0].body, &pair[1].body);
    }
}

#[tokio::test]
async fn every_reason_to_stop_is_understood() {
    for (stop, expected) in [
        (AnswerStop::End, StopReason::End),
        (AnswerStop::MaxOutput, StopReason::MaxOutput),
        (AnswerStop::Refused, StopReason::Refused),
    ] {
        assert_eq!(answer(say().text(["x"]).stop(stop)).await.1.stop, expected);
    }
    let (deltas, reply) =
        answer(say().block(AnswerBlock::Item(json!({"refusal": "I will not."})))).await;
    assert_eq!(
        (said(&deltas).as_str(), reply.stop),
        ("I will not.", StopReason::Refused)
    );
    assert_eq!(reply.parts, [text("I will not.")]);
    let cut = say()
        .call("a", "Read", ["{\"pa"])
        .stop(AnswerStop::MaxOutput);
    assert_eq!(answer(cut).await.1.stop, StopReason::MaxOutput);
}

#[tokio::test]
async fn a_reason_to_stop_is_the_end_even_without_the_mark_and_the_mark_without_a_reason() {
    let finish = chunk(&json!({}), Some("stop"));
    let (_, reply) = answer(
        say()
            .text(["Done."])
            .block(AnswerBlock::Frame(finish))
            .without_end(),
    )
    .await;
    assert_eq!(
        (reply.parts, reply.stop),
        (vec![text("Done.")], StopReason::End)
    );
    let mark = AnswerBlock::Frame("data: [DONE]\n\n".into());
    let (_, reply) = answer(say().text(["Done."]).block(mark).without_end()).await;
    assert_eq!(reply.parts, [text("Done.")]);
}

#[tokio::test]
async fn a_conversation_can_be_named_in_a_header() {
    let server = ModelServer::start(WIRE, [say()]).await;
    let dialect = ChatDialect {
        conversation: ConversationField::Header("x-grok-conv-id"),
        ..ChatDialect::PLAIN
    };
    ask(&chat(&server, dialect), request()).await.1.unwrap();
    let asked = &server.requests()[0];
    assert_eq!(asked.header("x-grok-conv-id"), request().session.as_str());
    assert_eq!(asked.json()["prompt_cache_key"], Value::Null);
}
