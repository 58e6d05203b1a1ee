//! What Telegram's updates become: messages, topics, mentions, files, presses; and the webhook's secret.

use std::{
    cell::RefCell,
    sync::atomic::{AtomicI64, Ordering},
};

use rooftree_connectors::{
    ChatPlace, Connector, Inbound, InboundBody, PlatformRequest, TelegramConnector, TelegramMode,
    TelegramOptions,
};
use serde_json::{Value, json};

use crate::{
    loopback::Loopback,
    telegram_poll::{TOKEN, connector as connector_of, get_me},
};

const SECRET: &str = "0123456789abcdef";

async fn webhook() -> TelegramConnector {
    let server = Loopback::start(|_| get_me()).await;
    let options = TelegramOptions {
        base_url: server.url.clone(),
        mode: TelegramMode::Webhook {
            url: "https://bot.example/telegram".to_owned(),
            secret: SECRET.to_owned(),
        },
        ..TelegramOptions::default()
    };
    let connector = TelegramConnector::new(TOKEN, options).unwrap();
    connector.identity().await.unwrap();
    connector
}

async fn inbound(connector: &TelegramConnector, fields: Value) -> Option<Inbound> {
    let mut message = json!({"message_id": 9, "date": 1_700_000_000, "chat": {"id": -100, "type": "supergroup"},
        "from": {"id": 5, "is_bot": false, "first_name": "Ada", "last_name": "L", "username": "rooftree_bot"}});
    for (name, value) in fields.as_object().unwrap() {
        message[name] = value.clone();
    }
    // What has a known number is not given out again.
    static NUMBER: AtomicI64 = AtomicI64::new(70);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let body = json!({"update_id": number, "message": message}).to_string();
    let (status, found) = post(connector, Some(SECRET), body.as_bytes()).await;
    assert_eq!(status, 200);
    found
}

/// Sends a request to the webhook while its updates are received and acknowledged.
async fn post(
    connector: &TelegramConnector,
    secret: Option<&str>,
    body: &[u8],
) -> (u16, Option<Inbound>) {
    let header = secret.map(|secret| ("X-Telegram-Bot-Api-Secret-Token", secret));
    let headers: Vec<(&str, &str)> = header.into_iter().collect();
    let request = PlatformRequest {
        headers: &headers,
        body,
        at_ms: 0,
    };
    let found = RefCell::new(None);
    let store = async {
        loop {
            let inbound = connector.receive().await.unwrap();
            connector.acknowledge(&inbound.key).await.unwrap();
            found.replace(Some(inbound));
        }
    };
    let answer = tokio::select! {
        answer = connector.take_request(request) => answer,
        () = store => panic!("it receives for ever"),
    };
    (answer.status, found.take())
}

#[tokio::test]
async fn a_webhook_request_needs_the_secret() {
    let connector = webhook().await;
    for secret in [
        None,
        Some(""),
        Some("0123456789abcdeF"),
        Some("0123456789abcde"),
    ] {
        assert_eq!(post(&connector, secret, b"{}").await, (401, None));
    }
    assert_eq!(post(&connector, Some(SECRET), b"{}").await, (200, None));
    assert_eq!(post(&connector, Some(SECRET), b"{").await, (400, None));
    let server = Loopback::start(|_| get_me()).await;
    let polled = connector_of(&server);
    let body = br#"{"update_id": 1}"#;
    let headers = [("x-telegram-bot-api-secret-token", SECRET)];
    let request = PlatformRequest {
        headers: &headers,
        body,
        at_ms: 0,
    };
    assert_eq!(polled.take_request(request).await.status, 409);
}

#[tokio::test]
async fn a_message_in_a_group_is_addressed_by_name_command_or_reply() {
    let connector = webhook().await;
    let entity = |kind: &str, offset: usize, length: usize| json!([{"type": kind, "offset": offset, "length": length}]);
    let cases = [
        (json!({"text": "hello"}), false, "hello"),
        (
            json!({"text": "👍 @Rooftree_Bot hi", "entities": entity("mention", 3, 13)}),
            true,
            "👍 @Rooftree_Bot hi",
        ),
        (
            json!({"text": "@other_bot hi", "entities": entity("mention", 0, 10)}),
            false,
            "@other_bot hi",
        ),
        (
            json!({"text": "/new@rooftree_bot x", "entities": entity("bot_command", 0, 17)}),
            true,
            "/new x",
        ),
        (
            json!({"text": "/new@other_bot", "entities": entity("bot_command", 0, 14)}),
            false,
            "/new@other_bot",
        ),
        (
            json!({"text": "/new", "entities": entity("bot_command", 0, 4)}),
            true,
            "/new",
        ),
        (
            json!({"text": "yes", "reply_to_message": {"message_id": 3, "from": {"id": 777}}}),
            true,
            "yes",
        ),
        (
            json!({"text": "yes", "reply_to_message": {"message_id": 3, "from": {"id": 8}}}),
            false,
            "yes",
        ),
        (
            json!({"text": "hi", "chat": {"id": 5, "type": "private"}}),
            true,
            "hi",
        ),
        (
            json!({"text": "a bold", "entities": entity("bold", 2, 4)}),
            false,
            "a **bold**",
        ),
        (
            json!({"caption": "look", "photo": [{"file_id": "s"}, {"file_id": "l"}]}),
            false,
            "look",
        ),
        (
            json!({"text": "x", "entities": entity("bold", 5, 90)}),
            false,
            "x",
        ),
    ];
    for (fields, is_addressed, expected) in cases {
        let found = inbound(&connector, fields.clone()).await.unwrap();
        let InboundBody::Message {
            text, addressed, ..
        } = found.body
        else {
            panic!("a message")
        };
        assert_eq!(
            (addressed, text.as_str()),
            (is_addressed, expected),
            "{fields}"
        );
    }
}

#[tokio::test]
async fn a_thread_counts_only_where_it_is_a_topic() {
    let connector = webhook().await;
    let forum = json!({"id": -100, "type": "supergroup", "is_forum": true});
    let made = json!({"message_id": 7, "forum_topic_created": {"name": "x"}});
    let cases = [
        (json!({"text": "a"}), None, None),
        (
            json!({"text": "a", "message_thread_id": 3, "reply_to_message": {"message_id": 3}}),
            None,
            Some("3"),
        ),
        (
            json!({"text": "a", "message_thread_id": 7, "is_topic_message": true, "chat": forum, "reply_to_message": made}),
            Some("7"),
            None,
        ),
        (json!({"text": "a", "chat": forum}), Some("1"), None),
    ];
    for (fields, topic, reply) in cases {
        let found = inbound(&connector, fields.clone()).await.unwrap();
        let ChatPlace {
            chat,
            thread,
            group,
            ..
        } = found.place;
        assert_eq!((chat.as_str(), group), ("-100", true));
        assert_eq!(thread.as_deref(), topic, "{fields}");
        let InboundBody::Message { reply_to, .. } = found.body else {
            panic!("a message")
        };
        assert_eq!(reply_to.as_deref(), reply, "{fields}");
    }
}

#[tokio::test]
async fn a_sender_is_a_number_and_bots_are_not_listened_to() {
    let connector = webhook().await;
    let found = inbound(&connector, json!({"text": "a"})).await.unwrap();
    assert_eq!(
        (found.from.id.as_str(), found.from.name.as_str()),
        ("5", "Ada L")
    );
    assert!(found.key.parse::<i64>().unwrap() >= 70);
    assert_eq!(found.at_ms, 1_700_000_000_000);
    let bot = json!({"text": "a", "from": {"id": 8, "is_bot": true, "first_name": "B"}});
    assert_eq!(inbound(&connector, bot).await, None);
    let anonymous = json!({"text": "a", "from": {"id": 1087968824, "is_bot": true, "first_name": "Group"},
        "sender_chat": {"id": -100, "title": "Team"}});
    assert_eq!(
        inbound(&connector, anonymous).await.unwrap().from.id,
        "-100"
    );
}

#[tokio::test]
async fn files_have_names_without_folders() {
    let connector = webhook().await;
    let cases = [
        (
            json!({"photo": [{"file_id": "s"}, {"file_id": "l", "file_size": 9}]}),
            "l",
            "photo.jpg",
            Some("image/jpeg"),
        ),
        (
            json!({"document": {"file_id": "d", "file_name": "../../etc/a.pdf", "mime_type": "application/pdf"}}),
            "d",
            "a.pdf",
            Some("application/pdf"),
        ),
        (
            json!({"document": {"file_id": "d", "file_name": "x/.bashrc"}}),
            "d",
            "document",
            None,
        ),
        (
            json!({"voice": {"file_id": "v"}}),
            "v",
            "voice.ogg",
            Some("audio/ogg"),
        ),
        (
            json!({"video": {"file_id": "v", "mime_type": "video/webm"}}),
            "v",
            "video.mp4",
            Some("video/webm"),
        ),
    ];
    for (fields, id, name, media_type) in cases {
        let found = inbound(&connector, fields.clone()).await.unwrap();
        let InboundBody::Message { files, .. } = found.body else {
            panic!("a message")
        };
        assert_eq!(files.len(), 1, "{fields}");
        assert_eq!((files[0].id.as_str(), files[0].name.as_str()), (id, name));
        assert_eq!(files[0].media_type.as_deref(), media_type);
    }
}

#[tokio::test]
async fn a_pressed_button_has_its_data_its_press_and_its_message() {
    let connector = webhook().await;
    let query = json!({"id": "991", "from": {"id": 5, "is_bot": false, "first_name": "Ada"}, "data": "p:abc:y",
        "message": {"message_id": 31, "date": 0, "chat": {"id": -100, "type": "supergroup", "is_forum": true},
            "message_thread_id": 4, "is_topic_message": true}});
    let body = json!({"update_id": 71, "callback_query": query}).to_string();
    let (_, found) = post(&connector, Some(SECRET), body.as_bytes()).await;
    let found = found.unwrap();
    assert_eq!(found.place.thread.as_deref(), Some("4"));
    let InboundBody::Button {
        data,
        press,
        message,
    } = found.body
    else {
        panic!("a press")
    };
    assert_eq!(
        (data.as_str(), press.as_str(), message.as_str()),
        ("p:abc:y", "991", "31")
    );
}

#[tokio::test]
async fn a_group_that_moves_says_where_and_an_edited_message_is_nothing_for_us() {
    let connector = webhook().await;
    let moved = inbound(&connector, json!({"migrate_to_chat_id": -100_500})).await;
    let moved = moved.unwrap();
    assert_eq!(moved.place.chat, "-100");
    let chat = "-100500".to_owned();
    assert_eq!(moved.body, InboundBody::Moved { chat });
    let edited = json!({"update_id": 5, "edited_message": {"message_id": 1, "text": "x",
        "chat": {"id": 5, "type": "private"}, "from": {"id": 5, "is_bot": false, "first_name": "A"}}});
    let (status, found) = post(&connector, Some(SECRET), edited.to_string().as_bytes()).await;
    assert_eq!((status, found), (200, None));
}

#[tokio::test]
async fn a_webhook_request_that_was_not_stored_is_no_success() {
    let connector = webhook().await;
    let body = json!({"update_id": 70, "message": {"message_id": 9, "date": 0, "text": "a",
        "chat": {"id": 5, "type": "private"}, "from": {"id": 5, "is_bot": false, "first_name": "A"}}});
    let body = body.to_string();
    let headers = [("x-telegram-bot-api-secret-token", SECRET)];
    let request = PlatformRequest {
        headers: &headers,
        body: body.as_bytes(),
        at_ms: 0,
    };
    tokio::time::pause();
    // It is not acknowledged: Telegram has to send it again.
    assert_eq!(connector.take_request(request).await.status, 503);
}
