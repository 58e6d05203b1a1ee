//! Responses over the wire: what is asked and what is made of the answer.

use std::{collections::HashMap, sync::Arc};

use rooftree_protocol::{
    BlobId, Effort, ErrorCode, Outcome, Part, Usage,
    event::{ReplyPart, StopReason},
};
use rooftree_providers::{
    ModelReply, ModelRequest, ReplyChunk, ToolChoice,
    http::Secret,
    openai::{OpenAiEndpoint, ResponsesProvider, responses::ThinkingSupport},
};
use rooftree_testkit::model_server::{
    AnswerBlock, AnswerStop, ModelServer, StreamedAnswer, openai_responses::WIRE, say,
};
use serde_json::{Value, json};

use crate::{asking::assert_extends, openai::*};

fn responses(server: &ModelServer, thinks: ThinkingSupport) -> ResponsesProvider {
    let endpoint = OpenAiEndpoint::new("openai", format!("{}/v1/", server.url()));
    ResponsesProvider::new(
        client(),
        endpoint.keyed(Secret::fixed("sk-1"), "OPENAI_API_KEY"),
        thinks,
    )
}

async fn asked(thinks: ThinkingSupport, request: ModelRequest) -> (Value, Vec<String>) {
    let server = ModelServer::start(WIRE, [say().text(["ok"])]).await;
    let (_, reply) = ask(&responses(&server, thinks), request).await;
    (server.requests()[0].json(), reply.unwrap().dropped)
}

async fn answer(saying: StreamedAnswer) -> (Vec<ReplyChunk>, ModelReply) {
    let server = ModelServer::start(WIRE, [saying]).await;
    let (deltas, reply) = ask(&responses(&server, ThinkingSupport::Yes), request()).await;
    (deltas, reply.unwrap())
}

fn opaque(item: Value) -> ReplyPart {
    ReplyPart::Opaque {
        provider: "openai".into(),
        item,
    }
}

#[tokio::test]
async fn a_text_comes_in_deltas_and_then_whole_and_nothing_is_stored() {
    let usage = Usage {
        input: 90,
        output: 30,
        cache_read: 64,
        cache_write: 10,
        reasoning: 20,
        ..Usage::default()
    };
    let server = ModelServer::start(WIRE, [say().text(["Grü", "ße."]).usage(usage)]).await;
    let (deltas, reply) = ask(&responses(&server, ThinkingSupport::Yes), request()).await;
    let reply = reply.unwrap();
    assert_eq!(
        deltas,
        [
            ReplyChunk::Text("Grü".into()),
            ReplyChunk::Text("ße.".into())
        ]
    );
    assert_eq!(
        (reply.parts, reply.stop, reply.usage),
        (vec![text("Grüße.")], StopReason::End, usage)
    );
    assert_eq!(reply.request.as_deref(), Some("req_1"));
    let asked = &server.requests()[0];
    assert_eq!(
        (asked.path.as_str(), asked.header("authorization")),
        ("/v1/responses", "Bearer sk-1")
    );
    let body = asked.json();
    assert_eq!(
        (&body["store"], &body["instructions"]),
        (&json!(false), &json!("Be brief."))
    );
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
    assert_eq!(body["reasoning"], json!({"summary": "auto"}));
    assert_eq!(body["prompt_cache_key"], request().session.as_str());
    let hi = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]});
    assert_eq!(body["input"], json!([hi]));
}

#[tokio::test]
async fn thinking_comes_back_encrypted_in_its_place_and_only_to_its_vendor() {
    let saying = say()
        .thinking(["Hm", "m."], "cipher==")
        .text(["Yes."])
        .call("a", "Read", ["{}"]);
    let (deltas, reply) = answer(saying).await;
    assert_eq!(
        deltas[..2],
        [
            ReplyChunk::Thinking("Hm".into()),
            ReplyChunk::Thinking("m.".into())
        ]
    );
    let item = json!({"id": "rs_0", "type": "reasoning", "encrypted_content": "cipher==",
        "summary": [{"type": "summary_text", "text": "Hmm."}]});
    assert_eq!(
        reply.parts[..3],
        [thinking("Hmm."), opaque(item.clone()), text("Yes.")]
    );
    let foreign = ReplyPart::Thinking {
        text: "Secret.".into(),
        signature: Some("s".into()),
    };
    let stray = ReplyPart::Opaque {
        provider: "anthropic".into(),
        item: json!({"type": "server_tool_use"}),
    };
    let forgotten = opaque(json!({"id": "rs_9", "type": "reasoning", "summary": []}));
    let messages = vec![
        user("Hi"),
        assistant("openai/m", reply.parts),
        assistant("anthropic/c", vec![foreign, stray, text("No.")]),
        assistant("openai/m", vec![forgotten, text("So.")]),
    ];
    let (body, dropped) = asked(
        ThinkingSupport::Yes,
        ModelRequest {
            messages: messages.into(),
            ..request()
        },
    )
    .await;
    let kinds: Vec<&Value> = body["input"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["type"])
        .collect();
    assert_eq!(
        kinds,
        [
            "message",
            "reasoning",
            "message",
            "function_call",
            "message",
            "message"
        ]
    );
    assert_eq!(body["input"][1], item);
    assert_eq!(
        dropped,
        [
            "the thinking of anthropic/c",
            "what only anthropic understands"
        ]
    );
    assert!(!body.to_string().contains("Secret") && !body.to_string().contains("rs_9"));
}

#[tokio::test]
async fn the_phase_of_a_text_and_items_we_do_not_know_survive_a_turn() {
    let search = json!({"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"q": "x"}});
    let spoken = json!({"id": "msg_1", "type": "message", "role": "assistant", "phase": "commentary",
        "content": [{"type": "output_text", "text": "Looking."}]});
    let saying = say()
        .block(AnswerBlock::Item(search.clone()))
        .block(AnswerBlock::Item(spoken))
        .text(["Done."]);
    let (_, reply) = answer(saying).await;
    let envelope = opaque(json!({"type": "message", "phase": "commentary"}));
    assert_eq!(
        reply.parts,
        [
            opaque(search.clone()),
            envelope,
            text("Looking."),
            text("Done.")
        ]
    );
    let messages = vec![user("Hi"), assistant("openai/m", reply.parts)];
    let (body, _) = asked(
        ThinkingSupport::Yes,
        ModelRequest {
            messages: messages.into(),
            ..request()
        },
    )
    .await;
    assert_eq!(body["input"][1], search);
    assert_eq!(
        body["input"][2],
        json!({"type": "message", "role": "assistant", "phase": "commentary", "content": "Looking."})
    );
    assert_eq!(
        body["input"][3],
        json!({"type": "message", "role": "assistant", "content": "Done."})
    );
}

#[tokio::test]
async fn parallel_calls_are_streamed_and_kept_apart() {
    let saying = say()
        .call("a", "Read", ["{\"path\":", "\"x\"}"])
        .call("a", "List", ["{\"oops"]);
    let (deltas, reply) = answer(saying).await;
    assert_eq!(reply.stop, StopReason::Calls);
    assert_eq!(
        calls(&reply),
        [
            ("Read".into(), json!({"path": "x"})),
            ("List".into(), json!("{\"oops"))
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
            piece(1, "", "{\"oops"),
        ]
    );
}

#[tokio::test]
async fn items_are_told_apart_by_id_alone_and_found_in_the_last_event_alone() {
    let frame = |event: Value| AnswerBlock::Frame(format!("data: {event}\n\n"));
    let item = |id: &str, name: &str, arguments: &str| json!({"type": "function_call", "id": id, "call_id": id, "name": name, "arguments": arguments});
    let added = |item: Value| frame(json!({"type": "response.output_item.added", "item": item}));
    let done = |item: Value| frame(json!({"type": "response.output_item.done", "item": item}));
    let delta = |id: &str, delta: &str| {
        frame(
            json!({"type": "response.function_call_arguments.delta", "item_id": id, "delta": delta}),
        )
    };
    let saying = say()
        .block(added(item("a", "Read", "")))
        .block(added(item("b", "List", "")))
        .block(delta("b", "{}"))
        .block(delta("a", "{}"))
        .block(done(item("b", "List", "{}")))
        .block(done(item("a", "Read", "{}")));
    let (deltas, reply) = answer(saying).await;
    assert_eq!(
        calls(&reply),
        [("Read".into(), json!({})), ("List".into(), json!({}))]
    );
    let order: Vec<usize> = inputs(&deltas)
        .into_iter()
        .map(|(index, ..)| index)
        .collect();
    assert_eq!(order, [0, 1, 1, 0]);
    let output = json!([item("a", "Read", "{\"path\":\"x\"}")]);
    let last = json!({"type": "response.completed", "response": {"status": "completed", "output": output}});
    let (_, reply) = answer(say().block(frame(last)).without_end()).await;
    assert_eq!(calls(&reply), [("Read".into(), json!({"path": "x"}))]);
}

#[tokio::test]
async fn results_say_how_they_ended_and_hold_their_images() {
    let blob = BlobId::from_digest(b"x");
    let image = Part::Image {
        blob: blob.clone(),
        media_type: "image/png".into(),
        bytes: 3,
    };
    let messages = vec![
        user("Hi"),
        assistant(
            "openai/m",
            vec![
                call(1, json!({"path": "x"})),
                call(2, json!({})),
                call(3, json!({})),
            ],
        ),
        results(vec![
            result(1, Outcome::Done, vec![Part::text("fine"), image.clone()]),
            result(
                2,
                Outcome::Failed(ErrorCode::ToolFailed),
                vec![Part::text("no such file")],
            ),
            result(3, Outcome::Cancelled, vec![]),
        ]),
        Arc::new(rooftree_providers::ModelMessage::User(vec![image])),
    ];
    let media = Arc::new(HashMap::from([(blob, Arc::from(*b"abc"))]));
    let (body, _) = asked(
        ThinkingSupport::Yes,
        ModelRequest {
            messages: messages.into(),
            media,
            ..request()
        },
    )
    .await;
    let id = call_id(1);
    let made = json!({"type": "function_call", "call_id": id, "name": "Read", "arguments": "{\"path\":\"x\"}"});
    assert_eq!(body["input"][1], made);
    let shown =
        json!({"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,YWJj"});
    let output = json!([{"type": "input_text", "text": "fine"}, shown]);
    assert_eq!(
        body["input"][4],
        json!({"type": "function_call_output", "call_id": id, "output": output})
    );
    assert_eq!(body["input"][5]["output"], "[failed] no such file");
    assert_eq!(body["input"][6]["output"], "[cancelled] (no output)");
    assert_eq!(body["input"][7]["content"], json!([shown]));
}

#[tokio::test]
async fn every_wish_has_its_field() {
    let schema =
        Arc::new(json!({"type": "object", "properties": {}, "additionalProperties": false}));
    let wish = ModelRequest {
        effort: Some(Effort::High),
        tools: tools(),
        tool_choice: ToolChoice::This("Read".into()),
        schema: Some(schema.clone()),
        max_output: Some(100),
        ..request()
    };
    let (body, dropped) = asked(ThinkingSupport::Yes, wish.clone()).await;
    assert_eq!(body["max_output_tokens"], 100);
    assert_eq!(
        body["reasoning"],
        json!({"effort": "high", "summary": "auto"})
    );
    assert_eq!(
        body["tool_choice"],
        json!({"type": "function", "name": "Read"})
    );
    assert_eq!(
        (&body["tools"][0]["name"], &body["tools"][0]["strict"]),
        (&json!("Read"), &json!(false))
    );
    let format = json!({"type": "json_schema", "name": "answer", "strict": true, "schema": schema});
    assert_eq!((&body["text"]["format"], dropped), (&format, vec![]));
    let (body, dropped) = asked(ThinkingSupport::No, wish.clone()).await;
    assert_eq!(
        (&body["reasoning"], &body["include"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(dropped, ["the effort"]);
    for (choice, word) in [
        (ToolChoice::Nothing, "none"),
        (ToolChoice::Something, "required"),
    ] {
        let (body, _) = asked(
            ThinkingSupport::Yes,
            ModelRequest {
                tool_choice: choice,
                ..wish.clone()
            },
        )
        .await;
        assert_eq!(body["tool_choice"], word);
    }
}

#[tokio::test]
async fn the_body_of_the_next_turn_begins_with_the_bytes_of_this_one() {
    let first = say()
        .thinking(["T"], "c==")
        .text(["x"])
        .call("a", "Read", ["{\"path\":\"ä\"}"]);
    let server = ModelServer::start(WIRE, [first, say().text(["b"]), say().text(["c"])]).await;
    let responses = responses(&server, ThinkingSupport::Yes);
    let base = || ModelRequest {
        tools: tools(),
        effort: Some(Effort::Low),
        ..request()
    };
    let mut messages = vec![user("Hi")];
    let reply = ask(
        &responses,
        ModelRequest {
            messages: messages.clone().into(),
            ..base()
        },
    )
    .await
    .1
    .unwrap();
    messages.extend([
        assistant("openai/m", reply.parts),
        results(vec![result(0, Outcome::Done, vec![])]),
    ]);
    let reply = ask(
        &responses,
        ModelRequest {
            messages: messages.clone().into(),
            attempt: 2,
            ..base()
        },
    )
    .await
    .1
    .unwrap();
    messages.extend([assistant("openai/m", reply.parts), user("Go on.")]);
    ask(
        &responses,
        ModelRequest {
            messages: messages.into(),
            ..base()
        },
    )
    .await
    .1
    .unwrap();
    for pair in server.requests().windows(2) {
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
    let refusal = json!({"type": "message", "id": "msg_0", "role": "assistant",
        "content": [{"type": "refusal", "refusal": "I will not."}]});
    let (_, reply) = answer(say().block(AnswerBlock::Item(refusal))).await;
    assert_eq!(
        (reply.parts, reply.stop),
        (vec![text("I will not.")], StopReason::Refused)
    );
}
