//! Permission requests whose receipt was lost: the message that is pressed is the one that is changed.

use std::time::Duration;

use rooftree_server::connectors::ButtonChoice;
use rooftree_store::{OutboxPost, OutboxState};
use serde_json::{Value, json};

use super::{
    chat_scene::ChatScene,
    fake_platform::direct,
    requests::{button, changing},
};

/// A scene whose permission request arrived, and whose receipt did not.
async fn lost(settings: Value) -> ChatScene {
    let scene = ChatScene::delivering(changing(), settings).await;
    scene.pair("7", "owner", true).await;
    scene.platform.lose_receipts(1);
    scene.platform.deliver(direct("1", "7", "change it"));
    scene
}

/// Waits for a change of a message to a text with these words.
async fn changed_to(scene: &ChatScene, message: &str, words: &str) {
    let look = || async {
        let edits = scene.platform.edits();
        let mut found = edits.iter();
        found
            .any(|(id, text)| id == message && text.contains(words))
            .then_some(())
    };
    scene.until(words, look).await;
}

#[tokio::test]
async fn a_pressed_message_without_a_receipt_is_changed_to_the_outcome() {
    let scene = lost(json!({"debounce_ms": 0, "unknown_delivery": "ask"})).await;
    let inquiry = scene.asked().await;
    let key = OutboxPost::ask_key(&inquiry.id);
    let is_unknown = || async {
        let row = scene.runtime.store().outbox_by_key(&key).await.unwrap()?;
        (row.state == OutboxState::Unknown).then_some(())
    };
    scene.until("the lost receipt", is_unknown).await;
    let yes = button(&inquiry, ButtonChoice::Allow);
    let said = scene.pressed("sent-1", "2", ("7", &yes)).await;
    assert_eq!(said, "Allowed.");
    changed_to(&scene, "sent-1", "Allowed by name of 7 (7)").await;
    let row = scene.runtime.store().outbox_by_key(&key).await.unwrap();
    assert_eq!(row.unwrap().state, OutboxState::Sent);
    let sent = scene.platform.sent();
    let outcomes = sent.iter().filter(|(_, text)| text.contains("Allowed by"));
    assert_eq!(outcomes.count(), 0, "no second message tells it: {sent:?}");
}

#[tokio::test]
async fn both_copies_of_a_request_are_changed_when_the_one_without_a_receipt_is_pressed() {
    let scene = lost(json!({"debounce_ms": 0})).await;
    let inquiry = scene.asked().await;
    let sent_again = || async {
        scene.runtime.clock.advance(Duration::from_millis(250));
        let key = OutboxPost::ask_key(&inquiry.id);
        let row = scene.runtime.store().outbox_by_key(&key).await.unwrap()?;
        (row.state == OutboxState::Sent).then_some(())
    };
    scene.until("the second copy", sent_again).await;
    let second = &scene.platform.sent()[1].1;
    assert!(second.contains("(may be a duplicate)"), "{second}");
    let yes = button(&inquiry, ButtonChoice::Allow);
    let said = scene.pressed("sent-1", "2", ("7", &yes)).await;
    assert_eq!(said, "Allowed.");
    changed_to(&scene, "sent-1", "Allowed.").await;
    changed_to(&scene, "sent-2", "Allowed by name of 7 (7)").await;
    let late = scene.pressed("sent-1", "3", ("7", &yes)).await;
    assert!(late.contains("Not counted"), "{late}");
}

#[tokio::test]
async fn a_button_of_another_chat_is_no_receipt() {
    let scene = lost(json!({"debounce_ms": 0, "unknown_delivery": "ask"})).await;
    scene.pair("8", "owner", true).await;
    let inquiry = scene.asked().await;
    let yes = button(&inquiry, ButtonChoice::Allow);
    let said = scene.pressed("sent-1", "2", ("8", &yes)).await;
    assert_eq!(said, "Allowed.");
    scene.hears("Done.").await;
    let edits = scene.platform.edits();
    assert!(edits.is_empty(), "{edits:?}");
}
