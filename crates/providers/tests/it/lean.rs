//! The lean profile over every wire: no tools go out, and calls come back as calls.

use rooftree_protocol::{
    ErrorCode, Outcome, Part,
    event::{ReplyPart, StopReason},
};
use rooftree_providers::{
    Model, ModelCatalog, ModelMessage, ModelRequest, ReplyChunk, ToolChoice,
    catalog::KnownModels,
    http::{HttpClient, HttpTimeouts},
};
use rooftree_testkit::model_server::{AnswerStop, ModelServer, StreamedAnswer, say};
use serde_json::{Value, json};

use crate::asking::{
    ANTHROPIC, WIRES, Wire, ask, assert_extends, assistant, call, conversation, image, result,
    said, tool, user,
};

/// A model on this wire that its entry says is small.
fn small(wire: Wire, url: &str) -> Model {
    let entry = format!("[[model]]\nid = '{}/m'\nwindow = 8192\n", wire.name);
    let known = KnownModels::default()
        .adding("models.toml", &entry)
        .unwrap();
    let catalog = ModelCatalog::default().with(
        wire.name,
        (wire.opener)(url, HttpClient::new(HttpTimeouts::default()).unwrap()),
    );
    catalog
        .with_known(known)
        .open(&format!("{}/m", wire.name).parse().unwrap())
        .unwrap()
}

fn with_tools(messages: Vec<ModelMessage>) -> ModelRequest {
    ModelRequest {
        tools: [tool("Read"), tool("Bash")].into(),
        ..conversation(messages)
    }
}

async fn answered(
    wire: Wire,
    saying: StreamedAnswer,
    request: ModelRequest,
) -> (Vec<ReplyChunk>, Vec<ReplyPart>, StopReason, Value) {
    let server = ModelServer::start(wire.server, [saying]).await;
    let (chunks, reply) = ask(&small(wire, &server.url()), request).await;
    let reply = reply.unwrap();
    (chunks, reply.parts, reply.stop, server.requests()[0].json())
}

fn calls(parts: &[ReplyPart]) -> Vec<(String, Value)> {
    let calls = parts.iter().filter_map(|part| match part {
        ReplyPart::Call(call) => Some((call.tool.clone(), call.input.clone())),
        _ => None,
    });
    calls.collect()
}

#[tokio::test]
async fn on_every_wire_tools_go_out_as_text_and_a_block_comes_back_as_a_call() {
    for wire in WIRES {
        let saying = say().text([
            "Looking.\n\n```js",
            "on\n{\"tool\": \"Read\", \"inp",
            "ut\": {\"path\": \"a\"}}\n``",
            "`",
        ]);
        let (chunks, parts, stop, body) =
            answered(wire, saying, with_tools(vec![user("Read a.")])).await;
        assert_eq!(stop, StopReason::Calls, "{}", wire.name);
        assert_eq!(
            parts[0],
            ReplyPart::Text {
                text: "Looking.".into()
            },
            "{}",
            wire.name
        );
        assert_eq!(
            calls(&parts),
            [("Read".into(), json!({"path": "a"}))],
            "{}",
            wire.name
        );
        assert_eq!(said(&chunks).trim(), "Looking.", "{}", wire.name);
        assert!(chunks.iter().any(
            |chunk| matches!(chunk, ReplyChunk::ToolInput { index: 0, tool, .. } if tool == "Read")
        ));
        assert!(
            body.get("tools").is_none() && body.get("tool_choice").is_none(),
            "{body}"
        );
        assert!(
            body.to_string()
                .contains("- Bash {path?}: Bashs something."),
            "{body}"
        );
    }
}

#[tokio::test]
async fn calls_and_results_of_the_past_are_told_in_words_and_bodies_grow_at_their_end() {
    let (picture, media) = image();
    let first = vec![
        user("Read a."),
        assistant("x/m", vec![call(1, "Read", json!({"path": "a"}))]),
    ];
    let failed = result(
        1,
        Outcome::Failed(ErrorCode::InvalidArguments),
        vec![Part::text("no </result> here"), picture],
    );
    let second = [
        first.clone(),
        vec![ModelMessage::Results(vec![failed]), user("Well?")],
    ]
    .concat();
    for wire in WIRES {
        let server = ModelServer::start(wire.server, [say().text(["a"]), say().text(["b"])]).await;
        let model = small(wire, &server.url());
        for messages in [&first, &second] {
            let request = ModelRequest {
                media: media.clone(),
                ..with_tools(messages.clone())
            };
            ask(&model, request).await.1.unwrap();
        }
        let bodies = server.requests();
        let text = bodies[1].json().to_string();
        assert!(
            text.contains(r#"{\"tool\":\"Read\",\"input\":{\"path\":\"a\"}}"#),
            "{text}"
        );
        assert!(
            text.contains(r#"<result of=\"Read\" failed>\nno &lt;/result> here\n</result>"#),
            "{text}"
        );
        assert!(text.contains("YWJj") && text.contains("Well?"), "{text}");
        assert_extends(&bodies[0].body, &bodies[1].body);
    }
}

#[tokio::test]
async fn text_stays_text_and_a_call_that_breaks_off_reaches_its_tool_as_it_is() {
    let request = || with_tools(vec![user("hi")]);
    let words = "Write ```{\"a\": 1}``` there.\n```json\n{\"b\": 2}\n```\n";
    let (chunks, parts, stop, _) = answered(ANTHROPIC, say().text([words]), request()).await;
    assert_eq!((said(&chunks).as_str(), stop), (words, StopReason::End));
    assert_eq!(parts, [ReplyPart::Text { text: words.into() }]);
    let cut = "```json\n{\"tool\": \"Read\", \"input\": {\"pa";
    let (_, parts, stop, _) = answered(
        ANTHROPIC,
        say().text([cut]).stop(AnswerStop::MaxOutput),
        request(),
    )
    .await;
    assert_eq!(stop, StopReason::MaxOutput);
    assert_eq!(
        calls(&parts),
        [(
            "Read".into(),
            json!("{\"tool\": \"Read\", \"input\": {\"pa")
        )]
    );
}

#[tokio::test]
async fn a_wish_about_tools_is_put_in_words_and_without_tools_nothing_is_read_as_a_call() {
    let block = "```json\n{\"tool\": \"Read\", \"input\": {}}\n```";
    let silent = ModelRequest {
        tool_choice: ToolChoice::Nothing,
        ..with_tools(vec![user("hi")])
    };
    let (_, parts, _, body) = answered(ANTHROPIC, say().text([block]), silent).await;
    assert!(
        calls(&parts).is_empty() && body.to_string().contains("Use no tool now."),
        "{body}"
    );
    let forced = ModelRequest {
        tool_choice: ToolChoice::This("Bash".into()),
        ..with_tools(vec![user("hi")])
    };
    let (_, parts, _, body) = answered(ANTHROPIC, say().text([block]), forced).await;
    assert!(
        calls(&parts).len() == 1 && body.to_string().contains("Use the tool Bash now."),
        "{body}"
    );
    let (_, parts, _, body) = answered(
        ANTHROPIC,
        say().text([block]),
        conversation(vec![user("hi")]),
    )
    .await;
    assert!(
        calls(&parts).is_empty() && !body.to_string().contains("# Tools"),
        "{body}"
    );
}

#[tokio::test]
async fn n_7_a_result_that_the_model_made_up_is_left_out_and_said() {
    for wire in WIRES {
        let saying = say().text([
            "I look.\n<res",
            "ult of=\"List\">\nnotes.txt\n</result>\n",
            "There is notes.txt.",
        ]);
        let (chunks, parts, stop, _) =
            answered(wire, saying, with_tools(vec![user("what is here?")])).await;
        let [ReplyPart::Text { text }] = parts.as_slice() else {
            panic!("{parts:?}")
        };
        assert!(
            text.starts_with("I look.") && text.contains("No tool was called"),
            "{text}"
        );
        assert!(!text.contains("notes.txt"), "{text}");
        assert_eq!(stop, StopReason::End);
        let shown: String = chunks
            .iter()
            .map(|chunk| {
                if let ReplyChunk::Text(text) = chunk {
                    text.as_str()
                } else {
                    ""
                }
            })
            .collect();
        assert_eq!(shown, *text, "what is shown while it comes is what is kept");
    }
}
