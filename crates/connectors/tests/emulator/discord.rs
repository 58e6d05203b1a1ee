//! Discord against the emulator: gateway, messages, threads, files, edits, limits, what was missed while it was off.

use rooftree_connectors::{
    Button, ChatPlace, Connector, DiscordConnector, DiscordOptions, FailureClass, Health, Inbound,
    InboundBody, OutboundFile, OutboundPart, PartBody, Reconciled,
};
use serde_json::{Value, json};

use crate::{
    emulator::{BOT_TOKEN, Emulator},
    texts,
};

const CHANNEL: &str = "112233445566778899";
const GUILD: &str = "223344556677889900";
const ADA: &str = "334455667788990011";

fn connector(emulator: &Emulator, cursor: Option<String>) -> DiscordConnector {
    let options = DiscordOptions {
        base_url: format!("{}/api/v10", emulator.url),
        cursor,
    };
    DiscordConnector::new(BOT_TOKEN, options).unwrap()
}

/// Receives until it is connected.
async fn connected(connector: &DiscordConnector) {
    let mut health = connector.health();
    tokio::select! {
        found = connector.receive() => panic!("{found:?}"),
        up = health.wait_for(|health| *health == Health::Up) => { up.unwrap(); }
    }
}

async fn say(emulator: &Emulator, fields: Value) {
    let mut said = json!({"channelId": CHANNEL, "guildId": GUILD, "senderId": ADA, "senderName": "Ada", "content": "hello"});
    for (name, value) in fields.as_object().unwrap() {
        said[name] = value.clone();
    }
    let answer = emulator.inbound("discord", &said).await;
    assert_eq!(answer.0, 200, "{answer:?}");
}

async fn received(connector: &DiscordConnector) -> Inbound {
    let found = connector.receive().await.unwrap();
    connector.acknowledge(&found.key).await.unwrap();
    found
}

fn said(inbound: &Inbound) -> &str {
    match &inbound.body {
        InboundBody::Message { text, .. } => text,
        _ => panic!("a message"),
    }
}

#[tokio::test]
async fn a_message_arrives_and_its_answer_is_sent_and_edited() {
    let emulator = Emulator::start("discord").await;
    let connector = connector(&emulator, None);
    connected(&connector).await;
    say(&emulator, json!({})).await;
    let found = received(&connector).await;
    assert_eq!(
        (said(&found), found.from.id.as_str(), found.place.group),
        ("hello", ADA, true)
    );
    let InboundBody::Message { message, .. } = &found.body else {
        panic!("a message")
    };
    let to = ChatPlace {
        reply_to: Some(message.clone()),
        ..found.place.clone()
    };
    let mut part = connector.split("**Yes** @everyone").remove(0);
    part.buttons = vec![vec![Button {
        label: "ok".to_owned(),
        data: "p:1:y".to_owned(),
    }]];
    let receipt = connector.send_keyed(&to, &part, "k1").await.unwrap();
    connector
        .edit(&to, &receipt.message, &OutboundPart::text("Done"))
        .await
        .unwrap();
    connector.typing(&to).await.unwrap();
    let file = OutboundFile {
        name: "größe.bin".to_owned(),
        media_type: "application/zip".to_owned(),
        caption: "here 👍".to_owned(),
        // The emulator takes less than Discord.
        bytes: vec![b'z'; 500_000],
        blob: String::new(),
    };
    let file = OutboundPart {
        body: PartBody::File(file),
        ..OutboundPart::text("")
    };
    connector.send(&to, &file).await.unwrap();
    let sent = emulator.accepted("messages");
    assert_eq!(sent[0]["allowed_mentions"], json!({"parse": []}));
    let missing = connector
        .reconcile_keyed(&to, &OutboundPart::text("never sent"), "k2")
        .await;
    assert_eq!(missing, Reconciled::NotSent);
}

#[tokio::test]
async fn a_thread_is_kept_apart_and_no_part_of_a_text_is_refused() {
    let emulator = Emulator::start("discord").await;
    let connector = connector(&emulator, None);
    connected(&connector).await;
    let thread = "445566778899001122";
    say(&emulator, json!({})).await;
    received(&connector).await;
    say(
        &emulator,
        json!({"channelId": thread, "parentChannelId": CHANNEL, "content": "in a thread"}),
    )
    .await;
    let found = received(&connector).await;
    assert_eq!(
        (found.place.chat.as_str(), found.place.thread.as_deref()),
        (CHANNEL, Some(thread))
    );
    let mut sent = 0;
    for seed in [7, 8, 10, 20, 30] {
        for part in connector.split(&texts::markdown(seed)) {
            connector.send(&found.place, &part).await.unwrap();
            sent += 1;
        }
    }
    assert!(sent > 20, "{sent} parts were sent");
}

#[tokio::test]
async fn what_was_not_acknowledged_or_said_meanwhile_comes_after_a_restart() {
    let emulator = Emulator::start("discord").await;
    let first = connector(&emulator, None);
    connected(&first).await;
    for text in ["one", "two", "three"] {
        say(&emulator, json!({"content": text})).await;
    }
    let found = received(&first).await;
    assert_eq!(said(&found), "one");
    assert_eq!(said(&first.receive().await.unwrap()), "two");
    let cursor = first.cursor();
    drop(first);
    say(&emulator, json!({"content": "four"})).await;
    let second = connector(&emulator, cursor);
    for text in ["two", "three", "four"] {
        assert_eq!(said(&received(&second).await), text);
    }
}

#[tokio::test]
async fn a_wrong_token_stops_the_connector() {
    let emulator = Emulator::start("discord").await;
    let options = DiscordOptions {
        base_url: format!("{}/api/v10", emulator.url),
        cursor: None,
    };
    let connector = DiscordConnector::new("wrong-token", options).unwrap();
    let error = connector.receive().await.unwrap_err();
    assert_eq!(error.class, FailureClass::Auth);
    assert!(matches!(
        *connector.health().borrow(),
        Health::Stopped { .. }
    ));
}
