//! The Telegram connector against a Bot API on loopback: updates in, answers and buttons out.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    extract::{Path, State},
    routing::post,
};
use rooftree_protocol::{Effect, PermissionMode};
use rooftree_server::connectors::{
    ConnectorControl, ConnectorRegistry, ConnectorSecretFn, ConnectorServiceOptions,
    connector_service, delivery_service, platform_factory,
};
use rooftree_testkit::{
    ProbeTool, TestRuntimeBuilder, Toolset,
    scripted::{call, say},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Notify};

use super::{
    chat_scene::{ChatScene, plan},
    fake_platform::FakePlatform,
};

#[derive(Default)]
struct BotApi {
    updates: Mutex<VecDeque<Value>>,
    arrived: Notify,
    calls: Mutex<Vec<(String, Value)>>,
}

impl BotApi {
    fn deliver(&self, update: Value) {
        self.updates.lock().unwrap().push_back(update);
        self.arrived.notify_waiters();
    }

    /// Bodies of the calls of a method.
    fn called(&self, method: &str) -> Vec<Value> {
        let calls = self.calls.lock().unwrap();
        let own = calls.iter().filter(|(name, _)| name == method);
        own.map(|(_, body)| body.clone()).collect()
    }

    async fn poll(&self, offset: i64) -> Value {
        loop {
            let arrived = self.arrived.notified();
            tokio::pin!(arrived);
            arrived.as_mut().enable();
            if let Some(found) = self.waiting(offset) {
                return found;
            }
            arrived.await;
        }
    }

    fn waiting(&self, offset: i64) -> Option<Value> {
        let mut updates = self.updates.lock().unwrap();
        updates.retain(|update| update["update_id"].as_i64().unwrap() >= offset);
        let found: Vec<Value> = updates.iter().cloned().collect();
        (!found.is_empty()).then(|| json!(found))
    }
}

async fn answer(
    State(api): State<Arc<BotApi>>,
    Path((_, method)): Path<(String, String)>,
    body: String,
) -> Json<Value> {
    let body: Value = serde_json::from_str(&body).unwrap_or_default();
    let result = match method.as_str() {
        "getMe" => json!({"id": 1, "is_bot": true, "first_name": "Home", "username": "home_bot"}),
        "getUpdates" => api.poll(body["offset"].as_i64().unwrap_or(0)).await,
        "sendMessage" => json!({"message_id": 500 + api.called("sendMessage").len()}),
        _ => json!(true),
    };
    api.calls.lock().unwrap().push((method, body));
    Json(json!({"ok": true, "result": result}))
}

async fn started(entries: TestRuntimeBuilder) -> (ChatScene, Arc<BotApi>) {
    let api = Arc::new(BotApi::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let routes = Router::new()
        .route("/{token}/{method}", post(answer))
        .with_state(api.clone());
    tokio::spawn(axum::serve(listener, routes).into_future());
    let (registry, control) = (
        Arc::new(ConnectorRegistry::default()),
        Arc::new(ConnectorControl::default()),
    );
    let secret: ConnectorSecretFn = Arc::new(|_| Some("123456:test-token-of-the-bot".to_owned()));
    let mut plan = entries;
    plan.services.push(delivery_service(registry.clone()));
    plan.services
        .push(connector_service(ConnectorServiceOptions {
            factory: platform_factory(secret),
            cwd: std::env::temp_dir(),
            registry,
            control: control.clone(),
        }));
    let scene = ChatScene {
        runtime: plan.build(),
        platform: Arc::new(FakePlatform::default()),
        control,
    };
    let settings =
        json!({"base_url": format!("http://{address}"), "unpaced": true, "debounce_ms": 0});
    scene.add("home", "telegram", settings).await;
    (scene, api)
}

fn message(id: i64, from: i64, text: &str) -> Value {
    json!({"update_id": id, "message": {
        "message_id": id, "date": 1_700_000_000, "text": text,
        "from": {"id": from, "is_bot": false, "first_name": "Ann"},
        "chat": {"id": from, "type": "private", "first_name": "Ann"},
    }})
}

#[tokio::test]
async fn a_telegram_chat_pairs_talks_and_approves_with_a_button() {
    let changes = say("I change it.").calls([call("Change", json!({"say": "x"}))]);
    let tools = Toolset::new([ProbeTool::open("Change", Effect::LocalMutation)]);
    let plan = plan([changes, say("All **done**.")])
        .with_delegation(tools)
        .asking(PermissionMode::Ask);
    let (scene, api) = started(plan).await;
    scene.pair("77", "owner", true).await;
    api.deliver(message(10, 77, "change it"));
    let prompt = || async {
        let sent = api.called("sendMessage").into_iter();
        let mut prompts = sent.filter(|sent| sent["reply_markup"].is_object());
        prompts.next()
    };
    let prompt = scene.until("the buttons", prompt).await;
    assert_eq!(prompt["chat_id"], json!(77));
    let data = prompt["reply_markup"]["inline_keyboard"][0][0]["callback_data"].clone();
    api.deliver(json!({"update_id": 11, "callback_query": {
        "id": "press1", "data": data,
        "from": {"id": 77, "is_bot": false, "first_name": "Ann"},
        "message": {"message_id": 500, "date": 1_700_000_000, "chat": {"id": 77, "type": "private"}},
    }}));
    let done = || async {
        let sent = api.called("sendMessage");
        sent.into_iter().find(|sent| sent["text"] == "All done.")
    };
    let done = scene.until("the answer", done).await;
    assert_eq!(done["chat_id"], json!(77));
    let pressed = api.called("answerCallbackQuery");
    assert_eq!(pressed[0]["text"], "Allowed.", "{pressed:?}");
    let edited = || async { api.called("editMessageText").pop() };
    let edited = scene.until("the prompt is changed", edited).await;
    assert!(
        edited["text"]
            .as_str()
            .unwrap()
            .contains("Allowed by Ann (77)"),
        "{edited}"
    );
    let commands = api.called("setMyCommands");
    assert!(commands[0].to_string().contains("approve"), "{commands:?}");
}

#[tokio::test]
async fn a_command_typed_at_telegram_is_one_and_its_answer_arrives() {
    let (scene, api) = started(plan([say("ok").times(9)])).await;
    scene.pair("77", "owner", false).await;
    api.deliver(message(20, 77, "/agent other_agent"));
    api.deliver(message(21, 77, "/status"));
    let told = |words: &'static str| {
        let api = &api;
        move || async move {
            let sent = api.called("sendMessage").into_iter();
            let mut sent = sent.map(|sent| sent["text"].as_str().unwrap_or_default().to_owned());
            sent.find(|text| text.contains(words))
        }
    };
    scene.until("a refusal", told("other_agent")).await;
    scene.until("the status", told("No conversation yet")).await;
}
