//! Requests that are too large are made smaller or not sent at all.

use std::{collections::HashMap, sync::Arc};

use rooftree_protocol::{BlobId, Part};
use rooftree_providers::{Error, ModelMessage, ModelRequest};
use rooftree_testkit::model_server::{ModelServer, say};

use crate::asking::{GEMINI, WIRES, ask, conversation, user};

#[tokio::test]
async fn on_every_wire_a_request_that_is_too_large_is_too_long_before_it_is_sent() {
    // More than any vendor takes: each of these characters has six bytes on the wire.
    let system: Arc<str> = "\u{1}".repeat(8_400_000).into();
    for wire in WIRES {
        let server = ModelServer::start(wire.server, [say().text(["ok"])]).await;
        let request = ModelRequest {
            system: system.clone(),
            ..conversation(vec![user("hi")])
        };
        let (_, reply) = ask(&wire.model(&server.url()), request).await;
        assert_eq!(
            reply.unwrap_err(),
            Error::TooLong { limit: None },
            "{}",
            wire.name
        );
        assert!(server.requests().is_empty(), "{}", wire.name);
    }
}

#[tokio::test]
async fn the_oldest_images_go_first_and_the_newest_stays() {
    let server = ModelServer::start(GEMINI.server, [say().text(["ok"])]).await;
    let bytes: Arc<[u8]> = vec![7; 9_000_000].into();
    let blobs = [b"1", b"2"].map(|name| BlobId::from_digest(name));
    let image = |blob: &BlobId| Part::Image {
        blob: blob.clone(),
        media_type: "image/png".into(),
        bytes: 9_000_000,
    };
    let messages = blobs
        .iter()
        .map(|blob| ModelMessage::User(vec![image(blob)]))
        .collect();
    let media: HashMap<BlobId, Arc<[u8]>> = blobs
        .iter()
        .map(|blob| (blob.clone(), bytes.clone()))
        .collect();
    let request = ModelRequest {
        media: Arc::new(media),
        ..conversation(messages)
    };
    let reply = ask(&GEMINI.model(&server.url()), request).await.1.unwrap();
    assert!(
        reply
            .dropped
            .iter()
            .any(|words| words.starts_with("1 of the older images")),
        "{:?}",
        reply.dropped
    );
    let contents = server.requests()[0].json()["contents"].clone();
    assert!(
        contents[0]["parts"][0]["text"]
            .as_str()
            .unwrap()
            .starts_with("[image, image/png"),
        "the old one"
    );
    assert!(
        contents[1]["parts"][0]["inlineData"].is_object(),
        "the new one"
    );
}
