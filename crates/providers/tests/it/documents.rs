//! Files in messages: as documents where a wire takes them, else as their words or a sentence.

use std::{collections::HashMap, sync::Arc};

use rooftree_protocol::{BlobId, ModelChoice, Part};
use rooftree_providers::{
    MediaBytes, Model, ModelMessage, ModelRequest,
    http::{HttpClient, HttpTimeouts},
    openai::{ChatDialect, OpenAiEndpoint, chat},
};
use rooftree_testkit::model_server::{ModelServer, say};
use serde_json::{Value, json};

use crate::asking::{ANTHROPIC, CHAT, GEMINI, RESPONSES, WIRES, Wire, ask, conversation};

fn file(name: &str, media_type: &str, content: &'static [u8]) -> (Part, MediaBytes) {
    let blob = BlobId::from_digest(name.as_bytes());
    let part = Part::File {
        blob: blob.clone(),
        name: name.into(),
        media_type: media_type.into(),
        bytes: content.len() as u64,
    };
    (part, Arc::new(HashMap::from([(blob, Arc::from(content))])))
}

/// The content of the first message, as it went over the wire.
async fn sent(
    wire: Wire,
    model: impl FnOnce(&str) -> Model,
    (part, media): (Part, MediaBytes),
) -> Value {
    let server = ModelServer::start(wire.server, [say().text(["ok"])]).await;
    let request = ModelRequest {
        media,
        system: "".into(),
        ..conversation(vec![ModelMessage::User(vec![Part::text("See."), part])])
    };
    ask(&model(&server.url()), request).await.1.unwrap();
    let body = server.requests()[0].json();
    let messages = ["messages", "input", "contents"]
        .iter()
        .find_map(|key| body.get(key))
        .unwrap();
    ["content", "parts"]
        .iter()
        .find_map(|key| messages[0].get(key))
        .unwrap()
        .clone()
}

const PDF: &[u8] = b"%PDF-\xff\xfe";

#[tokio::test]
async fn a_pdf_is_a_document_on_every_wire_that_takes_one() {
    let data = "data:application/pdf;base64,JVBERi3//g==";
    let source = json!({"type": "base64", "media_type": "application/pdf", "data": "JVBERi3//g=="});
    let table = [
        (
            ANTHROPIC,
            json!({"type": "document", "source": source, "title": "a.pdf"}),
        ),
        (
            RESPONSES,
            json!({"type": "input_file", "filename": "a.pdf", "file_data": data}),
        ),
        (
            CHAT,
            json!({"type": "file", "file": {"filename": "a.pdf", "file_data": data}}),
        ),
        (
            GEMINI,
            json!({"inlineData": {"mimeType": "application/pdf", "data": "JVBERi3//g=="}}),
        ),
    ];
    for (wire, expected) in table {
        let content = sent(
            wire,
            |url| wire.model(url),
            file("a.pdf", "application/pdf", PDF),
        )
        .await;
        assert_eq!(content[1], expected, "{}", wire.name);
    }
}

#[tokio::test]
async fn a_server_that_only_imitates_gets_a_sentence_instead() {
    let model = |url: &str| {
        let choice = ModelChoice {
            provider: "mine".into(),
            model: "m".into(),
            effort: None,
        };
        let client = HttpClient::new(HttpTimeouts::default()).unwrap();
        chat::opener(client, OpenAiEndpoint::new("mine", url), ChatDialect::PLAIN)(&choice).unwrap()
    };
    let content = sent(CHAT, model, file("a.pdf", "application/pdf", PDF)).await;
    assert_eq!(
        content,
        "See.\n\n[file a.pdf, application/pdf, 7 bytes: not a kind you can see]"
    );
}

#[tokio::test]
async fn a_text_file_is_given_as_text_on_every_wire() {
    for wire in WIRES {
        let content = sent(
            wire,
            |url| wire.model(url),
            file("a.toml", "text/plain", b"x = 1\n"),
        )
        .await;
        let text = content.to_string();
        assert!(
            text.contains(r#"<file name=\"a.toml\">\nx = 1\n</file>"#),
            "{}: {text}",
            wire.name
        );
    }
}
