//! Sending to Telegram: failure classes of what happens on the wire, buttons, edits, files.

use std::time::Duration;

use rooftree_connectors::{
    Button, ChatPlace, Connector, FailureClass, InboundFile, OutboundFile, OutboundPart, PartBody,
    Reconciled, TelegramConnector, TelegramOptions,
};
use serde_json::json;

use crate::{
    loopback::{Arrived, Loopback, Reaction},
    telegram_poll::{TOKEN, connector},
};

fn chat() -> ChatPlace {
    ChatPlace {
        chat: "5".to_owned(),
        thread: None,
        reply_to: None,
        group: false,
    }
}

async fn class_of(reaction: fn() -> Reaction) -> (FailureClass, Option<Duration>) {
    let server = Loopback::start(move |_| reaction()).await;
    let sent = connector(&server)
        .send(&chat(), &OutboundPart::text("a"))
        .await;
    let error = sent.unwrap_err();
    assert!(!error.message.contains("AAsecret"), "{}", error.message);
    (error.class, error.retry_after)
}

#[tokio::test]
async fn a_failed_request_has_the_class_that_says_what_can_be_done() {
    use FailureClass::{Auth, InvalidPayload, Permission, RateLimit, Transient, Unknown};
    let flood = || {
        Reaction::json(
            429,
            json!({"ok": false, "error_code": 429, "description": "Too Many Requests: retry after 9",
            "parameters": {"retry_after": 9}}),
        )
    };
    assert_eq!(
        class_of(flood).await,
        (RateLimit, Some(Duration::from_secs(9)))
    );
    assert_eq!(
        class_of(|| Reaction::refusal(401, "Unauthorized")).await.0,
        Auth
    );
    let blocked = || Reaction::refusal(403, "Forbidden: bot was blocked by the user");
    assert_eq!(class_of(blocked).await.0, Permission);
    assert_eq!(
        class_of(|| Reaction::refusal(400, "Bad Request: x"))
            .await
            .0,
        InvalidPayload
    );
    assert_eq!(
        class_of(|| Reaction::refusal(500, "Internal")).await.0,
        Transient
    );
    assert_eq!(
        class_of(|| Reaction::Answer(504, b"<html>".to_vec()))
            .await
            .0,
        Unknown
    );
    // The request was sent and no answer came: it may have arrived.
    assert_eq!(class_of(|| Reaction::Cut).await.0, Unknown);
    assert_eq!(
        class_of(|| Reaction::Answer(200, b"{\"ok\":tr".to_vec()))
            .await
            .0,
        Unknown
    );
}

#[tokio::test]
async fn a_server_that_is_not_reached_got_nothing() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let options = TelegramOptions {
        base_url,
        ..TelegramOptions::default()
    };
    let connector = TelegramConnector::new(TOKEN, options).unwrap();
    let error = connector
        .send(&chat(), &OutboundPart::text("a"))
        .await
        .unwrap_err();
    assert_eq!(error.class, FailureClass::Transient);
}

#[tokio::test]
async fn text_buttons_edits_presses_and_typing_are_sent_as_telegram_wants_them() {
    let server = Loopback::start(|_| Reaction::ok(json!({"message_id": 31}))).await;
    let connector = connector(&server);
    let mut part = connector.split("**Run** `rm x`?").remove(0);
    let (label, data) = ("Yes".to_owned(), "p:abc:y".to_owned());
    part.buttons = vec![vec![Button { label, data }]];
    part.silent = true;
    let receipt = connector.send(&chat(), &part).await.unwrap();
    assert_eq!(receipt.message, "31");
    connector
        .edit(&chat(), "31", &OutboundPart::text("done"))
        .await
        .unwrap();
    connector.answer_button("77", "thanks").await.unwrap();
    connector.typing(&chat()).await.unwrap();
    let expected = json!({"chat_id": 5, "disable_notification": true,
        "reply_markup": {"inline_keyboard": [[{"text": "Yes", "callback_data": "p:abc:y"}]]},
        "text": "Run rm x?", "entities": [{"type": "bold", "offset": 0, "length": 3}, {"type": "code", "offset": 4, "length": 4}],
        "link_preview_options": {"is_disabled": true}});
    assert_eq!(server.calls("sendMessage"), [expected]);
    let edits = server.calls("editMessageText");
    assert_eq!(edits[0]["message_id"], 31);
    assert_eq!(
        server.calls("answerCallbackQuery")[0]["callback_query_id"],
        "77"
    );
    assert_eq!(server.calls("sendChatAction")[0]["action"], "typing");
    let unresolved = connector.reconcile(&chat(), &part).await;
    assert_eq!(unresolved, Reconciled::Unresolved);
}

#[tokio::test]
async fn an_edit_that_changes_nothing_is_no_failure() {
    let refusal = || Reaction::refusal(400, "Bad Request: message is not modified: x");
    let server = Loopback::start(move |_| refusal()).await;
    connector(&server)
        .edit(&chat(), "3", &OutboundPart::text("a"))
        .await
        .unwrap();
}

#[tokio::test]
async fn files_are_sent_whole_and_fetched_up_to_the_limit() {
    let server = Loopback::start(|request| match request.method() {
        "getFile" => Reaction::ok(json!({"file_id": "f", "file_path": "photos/a.jpg"})),
        "a.jpg" => Reaction::Answer(200, vec![9; 1_000]),
        _ => Reaction::ok(json!({"message_id": 4})),
    });
    let server = server.await;
    let connector = connector(&server);
    let file = OutboundFile {
        name: "report.pdf".to_owned(),
        media_type: "application/pdf".to_owned(),
        caption: "here".to_owned(),
        bytes: vec![b'x'; 3 << 20],
        blob: String::new(),
    };
    let part = OutboundPart {
        body: PartBody::File(file),
        ..OutboundPart::text("")
    };
    assert_eq!(connector.send(&chat(), &part).await.unwrap().message, "4");
    let sent = server.arrived();
    assert!(sent[0].path.ends_with("/sendDocument") && sent[0].body.len() > 3 << 20);
    let form = sent[0].header("content-type").unwrap();
    assert_eq!(sent[0].verb, "POST");
    assert!(form.starts_with("multipart/form-data; boundary="));
    let mut file = InboundFile {
        id: "f".to_owned(),
        name: "a.jpg".to_owned(),
        media_type: None,
        size: None,
    };
    assert_eq!(connector.download(&file, 1_000).await.unwrap().len(), 1_000);
    let error = connector.download(&file, 999).await.unwrap_err();
    assert_eq!(error.class, FailureClass::InvalidPayload);
    file.size = Some(21 << 20);
    let requests = server.arrived().len();
    let error = connector.download(&file, u64::MAX).await.unwrap_err();
    assert_eq!(error.class, FailureClass::InvalidPayload);
    assert_eq!(
        server.arrived().len(),
        requests,
        "a file that is too large is not asked for"
    );
}

#[tokio::test]
async fn a_file_of_twenty_megabytes_arrives_whole_and_not_one_byte_more() {
    const MOST: usize = 20 << 20;
    for (size, arrives) in [(MOST, true), (MOST + 1, false)] {
        let server = Loopback::start(move |request| match request.method() {
            "getFile" => Reaction::ok(json!({"file_id": "f", "file_path": "documents/large.bin"})),
            _ => Reaction::Answer(200, vec![7; size]),
        });
        let server = server.await;
        let connector = connector(&server);
        let file = InboundFile {
            id: "f".to_owned(),
            name: "large.bin".to_owned(),
            media_type: None,
            size: None,
        };
        let most = connector.capabilities().download;
        assert_eq!(most, MOST as u64);
        match connector.download(&file, most).await {
            Ok(bytes) => {
                assert!(arrives && bytes.len() == size && bytes.iter().all(|byte| *byte == 7))
            }
            Err(error) => assert!(!arrives && error.class == FailureClass::InvalidPayload),
        }
    }
}

#[tokio::test]
async fn a_refused_text_is_sent_once_more_without_formatting() {
    let refuse = |request: &Arrived| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        if body.contains("entities") {
            Reaction::refusal(400, "Bad Request: can't parse entities")
        } else {
            Reaction::ok(json!({"message_id": 8}))
        }
    };
    let server = Loopback::start(refuse).await;
    let connector = connector(&server);
    let part = connector.split("**bold**").remove(0);
    assert_eq!(connector.send(&chat(), &part).await.unwrap().message, "8");
    connector.edit(&chat(), "8", &part).await.unwrap();
    let file = OutboundFile {
        name: "a.txt".to_owned(),
        media_type: "text/plain".to_owned(),
        caption: "see `this`".to_owned(),
        bytes: vec![b'x'],
        blob: String::new(),
    };
    let file = OutboundPart {
        body: PartBody::File(file),
        ..OutboundPart::text("")
    };
    connector.send(&chat(), &file).await.unwrap();
    for method in ["sendMessage", "editMessageText", "sendDocument"] {
        let arrived = server.arrived();
        let sent = arrived.iter().filter(|request| request.method() == method);
        assert_eq!(sent.count(), 2, "{method}");
    }
    let last = server.arrived().pop().unwrap();
    assert!(String::from_utf8_lossy(&last.body).contains("\r\n\r\nsee this\r\n"));
    // Text without formatting is not tried twice.
    let server = Loopback::start(|_| Reaction::refusal(400, "Bad Request: x")).await;
    let connector = self::connector(&server);
    let refused = connector.send(&chat(), &OutboundPart::text("a")).await;
    assert_eq!(refused.unwrap_err().class, FailureClass::InvalidPayload);
    assert_eq!(server.arrived().len(), 1);
}

#[tokio::test]
async fn a_message_follows_a_group_that_became_a_supergroup() {
    let server = Loopback::start(|request| {
        if request.json()["chat_id"] == -5 {
            Reaction::json(
                400,
                json!({"ok": false, "error_code": 400, "parameters": {"migrate_to_chat_id": -1005},
                    "description": "Bad Request: group chat was upgraded to a supergroup chat"}),
            )
        } else {
            Reaction::ok(json!({"message_id": 8}))
        }
    });
    let server = server.await;
    let group = ChatPlace {
        chat: "-5".to_owned(),
        reply_to: Some("3".to_owned()),
        ..chat()
    };
    let connector = connector(&server);
    connector
        .send(&group, &OutboundPart::text("a"))
        .await
        .unwrap();
    let sent = server.calls("sendMessage");
    assert_eq!(sent[1]["chat_id"], -1005);
    assert_eq!(sent[1].get("reply_parameters"), None);
}

/// Whether a send waits while twenty other requests are made and answered.
async fn waits(connector: &TelegramConnector, to: &ChatPlace) -> bool {
    let others = async {
        for _ in 0..20 {
            connector.typing(&chat()).await.unwrap();
        }
    };
    let part = OutboundPart::text("a");
    tokio::select! {
        sent = connector.send(to, &part) => sent.is_err(),
        () = others => true,
    }
}

#[tokio::test]
async fn a_chat_is_left_alone_for_a_second_and_longer_after_a_flood() {
    let flood = json!({"ok": false, "error_code": 429, "parameters": {"retry_after": 30}});
    let server = Loopback::start(move |request| match request.json()["chat_id"].as_i64() {
        Some(7) => Reaction::json(429, flood.clone()),
        _ => Reaction::ok(json!({"message_id": 8})),
    });
    let server = server.await;
    let connector = connector(&server);
    let place = |chat: &str| ChatPlace {
        chat: chat.to_owned(),
        ..self::chat()
    };
    connector
        .send(&place("5"), &OutboundPart::text("a"))
        .await
        .unwrap();
    assert!(waits(&connector, &place("5")).await);
    assert!(!waits(&connector, &place("6")).await);
    let part = OutboundPart::text("a");
    let refused = connector.edit(&place("7"), "1", &part).await;
    assert_eq!(refused.unwrap_err().class, FailureClass::RateLimit);
    let calls = server.calls("sendMessage").len();
    assert!(waits(&connector, &place("7")).await);
    assert_eq!(server.calls("sendMessage").len(), calls);
}
