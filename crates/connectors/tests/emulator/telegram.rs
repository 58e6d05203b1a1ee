//! Telegram against the emulator: identity, messages, limits, entities of 300 texts, a second poller, topics, files.

use rooftree_connectors::{
    Button, ChatPlace, Connector, FailureClass, Health, Inbound, InboundBody, OutboundFile,
    OutboundPart, PartBody, PlatformRequest, TelegramConnector, TelegramMode, TelegramOptions,
};
use serde_json::json;

use crate::{
    emulator::{BOT_TOKEN, Emulator},
    loopback::{Loopback, Reaction},
    texts,
};

fn connector(emulator: &Emulator) -> TelegramConnector {
    let options = TelegramOptions {
        base_url: emulator.url.clone(),
        // The emulator has no rate limits.
        is_paced: false,
        ..TelegramOptions::default()
    };
    TelegramConnector::new(BOT_TOKEN, options).unwrap()
}

fn place(chat: &str, thread: Option<&str>) -> ChatPlace {
    ChatPlace {
        chat: chat.to_owned(),
        thread: thread.map(str::to_owned),
        reply_to: None,
        group: false,
    }
}

#[tokio::test]
async fn a_message_arrives_and_its_answer_is_sent_and_edited() {
    let emulator = Emulator::start("telegram").await;
    let connector = connector(&emulator);
    assert_eq!(connector.identity().await.unwrap().username, "rooftree_bot");
    let said = json!({"chatId": 5, "text": "hello 👍", "fromId": 5, "fromName": "Ada", "chatType": "private"});
    assert_eq!(emulator.inbound("telegram", &said).await.0, 200);
    let found = connector.receive().await.unwrap();
    connector.acknowledge(&found.key).await.unwrap();
    let InboundBody::Message {
        text,
        addressed,
        message,
        ..
    } = found.body
    else {
        panic!("a message")
    };
    assert_eq!(
        (text.as_str(), addressed, found.from.id.as_str()),
        ("hello 👍", true, "5")
    );
    let to = ChatPlace {
        reply_to: Some(message),
        ..found.place
    };
    let mut part = connector.split("**Yes**").remove(0);
    part.buttons = vec![vec![Button {
        label: "ok".to_owned(),
        data: "p:1:y".to_owned(),
    }]];
    let receipt = connector.send(&to, &part).await.unwrap();
    connector
        .edit(&to, &receipt.message, &OutboundPart::text("Done"))
        .await
        .unwrap();
    connector.typing(&to).await.unwrap();
    connector.answer_button("1", "ok").await.unwrap();
    assert_eq!(
        emulator.accepted("sendMessage")[0]["entities"][0]["type"],
        "bold"
    );
    assert_eq!(emulator.accepted("editMessageText")[0]["text"], "Done");
    assert_eq!(emulator.accepted("answerCallbackQuery").len(), 1);
    assert_eq!(*connector.health().borrow(), Health::Up);
}

#[tokio::test]
async fn a_text_over_the_limit_is_refused_as_invalid() {
    let emulator = Emulator::start("telegram").await;
    let connector = connector(&emulator);
    let fits = OutboundPart::text("x".repeat(4_096));
    connector.send(&place("5", None), &fits).await.unwrap();
    let long = OutboundPart::text("x".repeat(4_097));
    let error = connector.send(&place("5", None), &long).await.unwrap_err();
    assert_eq!(error.class, FailureClass::InvalidPayload);
}

#[tokio::test]
async fn of_three_hundred_texts_no_part_is_refused_and_no_character_lost() {
    let emulator = Emulator::start("telegram").await;
    let connector = connector(&emulator);
    let mut sent = 0;
    let mut last = String::new();
    let mut whole = String::new();
    for seed in 0..300 {
        let markdown = texts::markdown(seed);
        whole.push_str(&rooftree_markdown::to_entities(&markdown).text);
        for part in connector.split(&markdown) {
            connector.send(&place("5", None), &part).await.unwrap();
            sent += 1;
            let PartBody::Text { text, format } = part.body else {
                panic!("a text")
            };
            // Entities of what is sent are not checked by the emulator, those of what arrives are.
            let said = json!({"chatId": 5, "text": text, "entities": format.0});
            let mut answer = emulator.inbound("telegram", &said).await;
            if answer.0 == 429 {
                // Its queue is bounded: it is read up to the last that was taken.
                drain(&connector, &last).await;
                answer = emulator.inbound("telegram", &said).await;
            }
            assert_eq!(answer.0, 200, "text {seed} is refused: {answer:?}");
            last = answer.1["update"]["update_id"].to_string();
        }
    }
    let accepted = emulator.accepted("sendMessage");
    assert_eq!(accepted.len(), sent);
    let texts: Vec<&str> = accepted
        .iter()
        .filter_map(|body| body["text"].as_str())
        .collect();
    assert!(
        texts
            .iter()
            .all(|text| text.encode_utf16().count() <= 4_096)
    );
    let visible = |text: &str| text.split_whitespace().collect::<String>();
    assert!(
        visible(&texts.concat()) == visible(&whole),
        "a character is lost"
    );
    assert!(sent > 400, "{sent} parts were sent");
    assert!(drain(&connector, &last).await > 0);
}

/// Receives up to an update; returns how many there were.
async fn drain(connector: &TelegramConnector, last: &str) -> usize {
    for count in 1.. {
        let found = connector.receive().await.unwrap();
        connector.acknowledge(&found.key).await.unwrap();
        if found.key == last {
            return count;
        }
    }
    0
}

#[tokio::test]
async fn of_two_pollers_one_is_stopped() {
    let emulator = Emulator::start("telegram").await;
    let (first, second) = (connector(&emulator), connector(&emulator));
    let error = tokio::select! {
        error = first.receive() => error.unwrap_err(),
        error = second.receive() => error.unwrap_err(),
    };
    assert_eq!(error.class, FailureClass::Conflict);
    let stopped = [first.health(), second.health()];
    let is_stopped = |health: &tokio::sync::watch::Receiver<Health>| {
        matches!(*health.borrow(), Health::Stopped { .. })
    };
    assert_eq!(
        stopped.iter().filter(|health| is_stopped(health)).count(),
        1
    );
}

#[tokio::test]
async fn a_wrong_token_stops_the_connector() {
    let emulator = Emulator::start("telegram").await;
    let options = TelegramOptions {
        base_url: emulator.url.clone(),
        ..TelegramOptions::default()
    };
    let connector = TelegramConnector::new("1:wrong", options).unwrap();
    let error = connector.receive().await.unwrap_err();
    assert_eq!(error.class, FailureClass::Auth);
}

#[tokio::test]
async fn topics_are_kept_apart_and_the_general_topic_is_not_named() {
    let emulator = Emulator::start("telegram").await;
    let connector = connector(&emulator);
    let forum = json!({"chatId": -1001, "chatType": "supergroup", "isForum": true, "fromId": 5});
    for (text, thread) in [("in a topic", Some(7)), ("in general", None)] {
        let mut said = forum.clone();
        said["text"] = json!(text);
        if let Some(thread) = thread {
            said["messageThreadId"] = json!(thread);
        }
        assert_eq!(emulator.inbound("telegram", &said).await.0, 200);
    }
    for thread in ["7", "1"] {
        let found = connector.receive().await.unwrap();
        connector.acknowledge(&found.key).await.unwrap();
        assert_eq!(found.place.thread.as_deref(), Some(thread));
        connector.typing(&found.place).await.unwrap();
        connector
            .send(&found.place, &OutboundPart::text("answer"))
            .await
            .unwrap();
    }
    let sent = emulator.accepted("sendMessage");
    assert_eq!(sent[0]["message_thread_id"], 7);
    assert_eq!(sent[1].get("message_thread_id"), None);
    let typed = emulator.accepted("sendChatAction");
    assert_eq!(typed[1]["message_thread_id"], 1);
}

#[tokio::test]
async fn files_of_twenty_megabytes_are_taken() {
    let emulator = Emulator::start("telegram").await;
    let connector = connector(&emulator);
    for (media_type, size) in [
        ("application/zip", 20 << 20),
        ("image/png", 1_000),
        ("video/mp4", 5_000),
    ] {
        let file = OutboundFile {
            name: "größe.bin".to_owned(),
            media_type: media_type.to_owned(),
            caption: "here 👍".to_owned(),
            bytes: vec![b'z'; size],
            blob: String::new(),
        };
        let part = OutboundPart {
            body: PartBody::File(file),
            ..OutboundPart::text("")
        };
        connector.send(&place("5", None), &part).await.unwrap();
    }
    for method in ["sendDocument", "sendPhoto", "sendVideo"] {
        assert_eq!(emulator.accepted(method)[0]["caption"], "here 👍");
    }
}

const SECRET: &str = "0123456789abcdef";

fn by_webhook(emulator: &Emulator, url: &str) -> TelegramConnector {
    let options = TelegramOptions {
        base_url: emulator.url.clone(),
        mode: TelegramMode::Webhook {
            url: url.to_owned(),
            secret: SECRET.to_owned(),
        },
        ..TelegramOptions::default()
    };
    TelegramConnector::new(BOT_TOKEN, options).unwrap()
}

/// Passes a request on to the connector and acknowledges what it holds.
async fn pass(connector: &TelegramConnector, headers: &[(&str, &str)], body: &[u8]) -> Inbound {
    let request = PlatformRequest {
        headers,
        body,
        at_ms: 0,
    };
    let store = async {
        let found = connector.receive().await.unwrap();
        connector.acknowledge(&found.key).await.unwrap();
        found
    };
    let (answer, found) = tokio::join!(connector.take_request(request), store);
    assert_eq!(answer.status, 200);
    found
}

#[tokio::test]
async fn what_the_emulator_sends_to_a_webhook_is_taken_until_a_poller_removes_it() {
    let emulator = Emulator::start("telegram").await;
    let server = Loopback::start(|_| Reaction::ok(json!(true))).await;
    let webhook = by_webhook(&emulator, &format!("{}/hook", server.url));
    let mut health = webhook.health();
    tokio::select! {
        error = webhook.receive() => panic!("{error:?}"),
        up = health.wait_for(|health| *health == Health::Up) => { up.unwrap(); }
    }
    let said = json!({"chatId": 5, "text": "a", "fromId": 5, "chatType": "private"});
    emulator.inbound("telegram", &said).await;
    server.until("hook", 1).await;
    let arrived = server.arrived().remove(0);
    let secret = arrived.header("x-telegram-bot-api-secret-token");
    assert_eq!(secret, Some(SECRET));
    let headers = [("X-Telegram-Bot-Api-Secret-Token", SECRET)];
    let found = pass(&webhook, &headers, &arrived.body).await;
    assert_eq!(found.from.id, "5");
    let poller = connector(&emulator);
    let polled = async {
        emulator.inbound("telegram", &said).await;
        let mut health = poller.health();
        health
            .wait_for(|health| *health == Health::Up)
            .await
            .unwrap();
        emulator.inbound("telegram", &said).await;
    };
    let (received, ()) = tokio::join!(poller.receive(), polled);
    received.expect("connecting removes the webhook");
}

#[tokio::test]
async fn a_pressed_button_is_answered_and_its_message_edited() {
    let emulator = Emulator::start("telegram").await;
    let connector = by_webhook(&emulator, &format!("{}/hook", emulator.url));
    // The emulator takes presses and passes none on.
    let query = json!({"update_id": 70, "callback_query": {"id": "991", "chat_instance": "1", "data": "p:abc:y",
        "from": {"id": 5, "is_bot": false, "first_name": "Ada"},
        "message": {"message_id": 31, "date": 1, "chat": {"id": 5, "type": "private", "first_name": "Ada"}}}});
    let headers = [("X-Telegram-Bot-Api-Secret-Token", SECRET)];
    let found = pass(&connector, &headers, query.to_string().as_bytes()).await;
    let InboundBody::Button {
        data,
        press,
        message,
    } = found.body
    else {
        panic!("a press")
    };
    assert_eq!((data.as_str(), message.as_str()), ("p:abc:y", "31"));
    connector.answer_button(&press, "Allowed").await.unwrap();
    let edited = OutboundPart::text("Run? Allowed by Ada");
    let edit = connector.edit(&found.place, &message, &edited).await;
    edit.unwrap();
    let answered = emulator.accepted("answerCallbackQuery");
    assert_eq!(answered[0]["callback_query_id"], "991");
    assert_eq!(emulator.accepted("editMessageText").len(), 1);
}
