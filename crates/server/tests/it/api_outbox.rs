//! The outbox over the API: lists messages to chats, retries and drops them, and shows each person only own ones.

use rooftree_protocol::{AccessScope, Account, SessionId};
use rooftree_runtime::Clock;
use rooftree_store::{OutboxBody, OutboxKind, OutboxPost, OutboxState};
use rooftree_testkit::{TestRuntime, TestRuntimeBuilder};
use serde_json::{Value, json};

use crate::api_scene::{ApiScene, token};

async fn put(runtime: &TestRuntime, text: &str, session: Option<SessionId>) {
    let post = OutboxPost {
        id: format!("out_{text}"),
        key: text.into(),
        account: Account::default(),
        session,
        run: None,
        kind: OutboxKind::Notice,
        target: "telegram:1/2".parse().unwrap(),
        body: OutboxBody::Text { text: text.into() },
        at: runtime.clock.now(),
    };
    let access = runtime.handle.connector_access();
    assert!(access.post(post, None).await.unwrap());
}

fn ids(page: &Value) -> Vec<&str> {
    let messages = page["messages"].as_array().unwrap();
    messages
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn messages_to_chats_are_listed_dropped_and_retried() {
    let api = ApiScene::start(TestRuntimeBuilder::new([])).await;
    for text in ["a", "b", "c"] {
        put(&api.runtime, text, None).await;
    }
    let page = api.told(200, "GET /outbox?limit=2", None).await;
    assert_eq!(ids(&page), ["out_c", "out_b"]);
    let first = &page["messages"][0];
    let told = (&first["state"], &first["target"], &first["text"]);
    assert_eq!(
        told,
        (&json!("planned"), &json!("telegram:1/2"), &json!("c"))
    );
    let cursor = page["next"].as_str().unwrap();
    let rest = format!("GET /outbox?limit=2&cursor={cursor}");
    assert_eq!(ids(&api.told(200, &rest, None).await), ["out_a"]);
    let dropped = api.told(200, "POST /outbox/out_b/drop", None).await;
    assert_eq!(dropped["state"], "superseded");
    api.told(409, "POST /outbox/out_b/retry", None).await;
    api.told(404, "POST /outbox/out_x/drop", None).await;
    let left = api.told(200, "GET /outbox?state=planned", None).await;
    assert_eq!(ids(&left), ["out_c", "out_a"]);
    let row = api.runtime.store().outbox_row("out_b").await.unwrap();
    assert_eq!(row.unwrap().state, OutboxState::Superseded);
}

#[tokio::test]
async fn an_invited_person_sees_and_drops_only_own_messages() {
    let api = ApiScene::start(TestRuntimeBuilder::new([])).await;
    put(&api.runtime, "a", None).await;
    let guest = token(&api.runtime, AccessScope::Read, Some("Ann")).await;
    let seen = api.send(&guest, "GET /outbox", &[], b"").await;
    assert_eq!(seen.status, 200);
    let seen: Value = serde_json::from_str(&seen.body).unwrap();
    assert!(ids(&seen).is_empty());
    let guest = token(&api.runtime, AccessScope::Chat, Some("Bob")).await;
    let refused = api.send(&guest, "POST /outbox/out_a/drop", &[], b"").await;
    assert_eq!(refused.status, 404);
}
