//! Tool names a vendor would refuse: spelled for it, and understood again.

use rooftree_protocol::{
    Outcome, Part,
    event::{ReplyPart, StopReason},
};
use rooftree_providers::{ModelMessage, ModelRequest, ReplyChunk, ToolChoice};
use rooftree_testkit::model_server::{ModelServer, say};
use serde_json::{Value, json};

use crate::asking::{GEMINI, WIRES, ask, assistant, call, conversation, result, tool, user};

const ODD: &str = "mcp:größe/list things that have a name which is far too long for anybody at all";

/// Every value below these keys, wherever they are.
fn names(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(name) if key == "name" => found.push(name.clone()),
                    _ => names(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| names(item, found)),
        _ => {}
    }
}

#[tokio::test]
async fn on_every_wire_an_odd_name_is_spelled_alike_everywhere_and_comes_back_as_ours() {
    for wire in WIRES {
        let history = vec![
            user("go"),
            assistant(
                "x/m",
                vec![call(1, ODD, json!({})), call(2, "Read", json!({}))],
            ),
            ModelMessage::Results(vec![
                result(1, Outcome::Done, vec![Part::text("a")]),
                result(2, Outcome::Done, vec![Part::text("b")]),
            ]),
        ];
        let (tools, tool_choice) = ([tool(ODD), tool("Read")], ToolChoice::This(ODD.into()));
        let request = ModelRequest {
            tools: tools.into(),
            tool_choice,
            ..conversation(history)
        };
        // The server calls whatever the first tool was called in the question.
        let server = ModelServer::start_with(wire.server, |asked| {
            let mut found = Vec::new();
            names(&asked.json(), &mut found);
            let odd = found
                .iter()
                .find(|name| name.starts_with("mcp_"))
                .cloned()
                .unwrap_or_default();
            say().call("id_1", &odd, ["{}"]).into()
        })
        .await;
        let (chunks, reply) = ask(&wire.model(&server.url()), request).await;
        let reply = reply.unwrap();
        assert!(
            matches!(&reply.parts[0], ReplyPart::Call(call) if call.tool == ODD),
            "{}: {reply:?}",
            wire.name
        );
        assert_eq!(reply.stop, StopReason::Calls);
        assert!(
            chunks
                .iter()
                .any(|chunk| matches!(chunk, ReplyChunk::ToolInput { tool, .. } if tool == ODD)),
            "{}: {chunks:?}",
            wire.name
        );
        let body = server.requests()[0].json();
        let text = body.to_string();
        let mut found = Vec::new();
        names(&body, &mut found);
        let odd: Vec<&String> = found
            .iter()
            .filter(|name| name.starts_with("mcp_"))
            .collect();
        let is_plain = |name: &str| {
            name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        assert!(
            odd.len() >= 2 && odd.iter().all(|name| *name == odd[0] && is_plain(name)),
            "{}: {text}",
            wire.name
        );
        assert!(
            !text.contains("größe")
                || text.contains(
                    "größe/list things that have a name which is far too long for anybody at alls something"
                ),
            "{text}"
        );
        assert!(
            found.iter().any(|name| name == "Read"),
            "a good name stays: {text}"
        );
    }
}

#[tokio::test]
async fn gemini_takes_no_name_that_begins_with_a_digit() {
    let server = ModelServer::start(GEMINI.server, [say().text(["ok"])]).await;
    let request = ModelRequest {
        tools: [tool("7zip")].into(),
        ..conversation(vec![user("go")])
    };
    ask(&GEMINI.model(&server.url()), request).await.1.unwrap();
    let body = server.requests()[0].json();
    let name = body["tools"][0]["functionDeclarations"][0]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(name.starts_with("_7zip_"), "{name}");
}
