//! Requests of platforms and the API of connectors, over HTTP.

use std::sync::Arc;

use rooftree_connectors::sign_body;
use rooftree_protocol::AccessScope;
use rooftree_server::{
    CallbackOutcome, HttpServer,
    connectors::{
        ConnectorControl, ConnectorRegistry, ConnectorRoutes, ConnectorSecretFn,
        ConnectorServiceOptions, connector_service, platform_factory,
    },
};
use rooftree_testkit::{owner, scripted::say};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    chat_scene::{ChatScene, plan},
    fake_platform::FakePlatform,
};
use crate::{
    agent_server::JSON,
    api_scene::token,
    callback_server::{Said, hear, options, sent},
};

const SECRET: &str = "0123456789abcdef-secret";

/// A server in front of a runtime with real clients of platforms.
struct HookServer {
    scene: ChatScene,
    address: std::net::SocketAddr,
    stop: CancellationToken,
}

impl HookServer {
    async fn start(platform: &str, settings: serde_json::Value) -> Self {
        let control = Arc::new(ConnectorControl::default());
        let mut plan = plan([say("noted").times(99)]);
        let definitions = plan.definitions.clone();
        let registry = Arc::new(ConnectorRegistry::default());
        let secret: ConnectorSecretFn = Arc::new(|_| Some(SECRET.to_owned()));
        plan.services
            .push(connector_service(ConnectorServiceOptions {
                factory: platform_factory(secret),
                cwd: std::env::temp_dir(),
                registry: registry.clone(),
                control: control.clone(),
            }));
        let runtime = plan.build();
        let server = HttpServer::listen(options("127.0.0.1:0", None, CallbackOutcome::Taken).0);
        let server = server.await.unwrap();
        let (address, stop) = (server.address(), CancellationToken::new());
        let server = server
            .with_connectors(ConnectorRoutes {
                registry: registry.clone(),
                control: control.clone(),
                clock: runtime.clock.clone(),
            })
            .with_api(rooftree_server::ApiOptions {
                handle: runtime.handle.clone(),
                definitions,
                clock: runtime.clock.clone(),
                cwd: runtime.path().into(),
                catalog: Arc::new(rooftree_server::EmptyCatalog),
            });
        tokio::spawn(server.run(stop.clone()));
        let scene = ChatScene {
            runtime,
            platform: Arc::new(FakePlatform::default()),
            control,
        };
        scene.add("home", platform, settings).await;
        let started = || async { (registry.names() == ["home"]).then_some(()) };
        scene.until("the connector", started).await;
        Self {
            scene,
            address,
            stop,
        }
    }

    async fn post(&self, headers: &[&str], body: &str) -> Said {
        let usual = ["host: localhost", JSON];
        let headers: Vec<&str> = usual.iter().chain(headers).copied().collect();
        let sent = sent(self.address, "POST /hooks/home", &headers, body.as_bytes());
        hear(sent.await).await
    }

    fn signature(&self, body: &str, seconds: i64) -> String {
        use rooftree_runtime::Clock;
        let now = self.scene.runtime.clock.now().0 / 1000 + seconds;
        let signature = sign_body(SECRET, now, body.as_bytes());
        format!("x-rooftree-signature: t={now},{signature}")
    }

    async fn api(&self, scope: AccessScope, line: &str, body: Option<serde_json::Value>) -> Said {
        let token = token(&self.scene.runtime, scope, None).await;
        let (method, path) = line.split_once(' ').unwrap();
        let bearer = format!("authorization: Bearer {token}");
        let bytes = body.map(|body| body.to_string()).unwrap_or_default();
        let line = format!("{method} /api/v1{path}");
        let headers = ["host: localhost", &bearer, JSON];
        hear(sent(self.address, &line, &headers, bytes.as_bytes()).await).await
    }
}

impl Drop for HookServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

#[tokio::test]
async fn a_signed_request_is_a_message_and_its_replay_changes_nothing() {
    let server = HookServer::start("webhook", json!({"session_from": "{{repo}}"})).await;
    let body = json!({"text": "a build failed", "repo": "site"}).to_string();
    let signature = server.signature(&body, 0);
    let taken = server.post(&[&signature], &body).await;
    assert!((200..300).contains(&taken.status), "{taken:?}");
    server.scene.hears("noted").await;
    let replayed = server.post(&[&signature], &body).await;
    assert!((200..300).contains(&replayed.status), "{replayed:?}");
    let other = json!({"text": "a build passed", "repo": "api"}).to_string();
    let other_signature = server.signature(&other, 1);
    let taken = server.post(&[&other_signature], &other).await;
    assert!((200..300).contains(&taken.status), "{taken:?}");
    let both = || async { (server.scene.told().await.len() == 2).then_some(()) };
    server.scene.until("two answers", both).await;
    assert_eq!(
        server.scene.sessions().await.len(),
        2,
        "one for each repository"
    );
}

#[tokio::test]
async fn a_request_makes_the_schedules_due_that_wait_for_it() {
    let server = HookServer::start("webhook", json!({})).await;
    let runtime = &server.scene.runtime;
    let draft = rooftree_protocol::ScheduleDraft {
        name: Some("on build".into()),
        on: Some("webhook:home".into()),
        prompt: Some("Look at the build.".into()),
        ..Default::default()
    };
    let defaults = rooftree_runtime::ScheduleDefaults {
        agent: "lead".into(),
        cwd: runtime.path().into(),
        zone: "UTC".into(),
    };
    let added = runtime
        .handle
        .add_schedule(&owner(), &draft, defaults)
        .await
        .unwrap();
    assert_eq!(added.next_due, None);
    let body = json!({"text": "a build failed"}).to_string();
    let forged = server
        .post(&["x-rooftree-signature: t=1,v1=00"], &body)
        .await;
    assert!(forged.status >= 400, "{forged:?}");
    let due = || async {
        let found = runtime.handle.schedule(&owner(), &added.id).await.unwrap();
        found.next_due
    };
    assert_eq!(due().await, None, "a forged request makes nothing due");
    let signature = server.signature(&body, 0);
    let taken = server.post(&[&signature], &body).await;
    assert!((200..300).contains(&taken.status), "{taken:?}");
    server.scene.until("it is due", due).await;
}

#[tokio::test]
async fn a_bad_signature_is_refused_and_too_many_lock_the_address_out() {
    let server = HookServer::start("webhook", json!({})).await;
    let body = json!({"text": "trust me"}).to_string();
    let late = server.signature(&body, -3600);
    let right_for_another = server.signature("{}", 0);
    for headers in [
        vec![],
        vec![late.as_str()],
        vec![right_for_another.as_str()],
    ] {
        let refused = server.post(&headers, &body).await;
        assert_eq!(refused.status, 401, "{refused:?}");
    }
    for _ in 0..20 {
        server.post(&[], &body).await;
    }
    let right = server.signature(&body, 0);
    let locked = server.post(&[&right], &body).await;
    assert_eq!(locked.status, 429, "{locked:?}");
    assert!(server.scene.sessions().await.is_empty());
}

#[tokio::test]
async fn an_external_connector_presents_its_own_token_which_is_no_wrong_login() {
    let settings = json!({"url": "http://127.0.0.1:9", "debounce_ms": 0});
    let server = HookServer::start("external", settings).await;
    server.scene.pair("u-7", "owner", false).await;
    let said = |key: u32| {
        json!({"key": key.to_string(), "chat": "room", "from": {"id": "u-7", "name": "Ada"}, "text": "hello"})
            .to_string()
    };
    let bearer = format!("authorization: Bearer {SECRET}");
    for key in 0..25 {
        let taken = server.post(&[&bearer], &said(key)).await;
        assert_eq!(taken.status, 202, "{taken:?}");
    }
    let wrong = server
        .post(&["authorization: Bearer wrong"], &said(99))
        .await;
    assert_eq!(wrong.status, 401);
    assert_eq!(server.scene.sessions().await.len(), 1);
}

#[tokio::test]
async fn the_api_lists_pairs_changes_and_removes_connectors_for_the_owner() {
    let server = HookServer::start("external", json!({"url": "http://127.0.0.1:9"})).await;
    let admin = AccessScope::Admin;
    let refused = server
        .api(AccessScope::Approve, "GET /connectors", None)
        .await;
    assert_eq!(refused.status, 403);
    let listed = server.api(admin, "GET /connectors", None).await.json();
    let home = &listed["connectors"][0];
    assert_eq!(
        (&home["id"], &home["platform"]),
        (&json!("home"), &json!("external"))
    );
    assert_eq!(home["outbox"], json!({"queued": 0, "failed": 0, "dead": 0}));
    let code = server
        .api(
            admin,
            "POST /connectors/home/pair",
            Some(json!({"may_approve": true})),
        )
        .await;
    assert_eq!(code.status, 201, "{code:?}");
    assert_eq!(code.json()["code"].as_str().unwrap().len(), 8);
    server.scene.pair("7", "owner", false).await;
    let changed = json!({"may_approve": true});
    let changed = server
        .api(admin, "PATCH /connectors/home/people/7", Some(changed))
        .await;
    assert_eq!(changed.json()["may_approve"], json!(true), "{changed:?}");
    let test = server.api(admin, "POST /connectors/home/test", None).await;
    assert_eq!(test.status, 202, "{test:?}");
    server.scene.hears("This is a test message").await;
    let stale = json!({"rev": 7, "agent": "other"});
    let stale = server
        .api(admin, "PATCH /connectors/home", Some(stale))
        .await;
    assert_eq!(stale.status, 409, "{stale:?}");
    let misspelt = json!({"rev": 1, "settings": {"per_usr": true}});
    let misspelt = server
        .api(admin, "PATCH /connectors/home", Some(misspelt))
        .await;
    assert_eq!(misspelt.status, 422, "{misspelt:?}");
    assert!(misspelt.body.contains("write `per_user`"), "{misspelt:?}");
    let change = json!({"rev": 1, "agent": "other", "settings": {"per_user": true}});
    let change = server
        .api(admin, "PATCH /connectors/home", Some(change))
        .await;
    assert_eq!(change.json()["agent"], json!("other"), "{change:?}");
    let unpaired = server
        .api(admin, "DELETE /connectors/home/people/7", None)
        .await;
    assert_eq!(unpaired.status, 204);
    let removed = server.api(admin, "DELETE /connectors/home", None).await;
    assert_eq!(removed.status, 204);
    let gone = server.api(admin, "GET /connectors/home", None).await;
    assert_eq!(gone.status, 404);
}

#[tokio::test]
async fn a_code_of_an_unknown_sender_is_confirmed_and_a_connector_switched_off_over_the_api() {
    let server = HookServer::start("external", json!({"url": "http://127.0.0.1:9"})).await;
    let admin = AccessScope::Admin;
    let bearer = format!("authorization: Bearer {SECRET}");
    let said =
        json!({"key": "1", "chat": "u-7", "from": {"id": "u-7", "name": "Ada"}, "text": "hi"});
    let taken = server.post(&[&bearer], &said.to_string()).await;
    assert_eq!(taken.status, 202, "{taken:?}");
    let (_, told) = server.scene.hears("Give its owner this code").await;
    let code = told.split('`').nth(1).unwrap();
    let listed = server.api(admin, "GET /connectors/home", None).await.json();
    assert_eq!(listed["pending_pairing"][0]["name"], "Ada", "{listed}");
    let body = json!({"code": code, "may_approve": true});
    let line = "POST /connectors/home/confirm";
    let refused = server
        .api(AccessScope::Approve, line, Some(body.clone()))
        .await;
    assert_eq!(refused.status, 403);
    let paired = server.api(admin, line, Some(body)).await;
    assert_eq!(paired.status, 200, "{paired:?}");
    let paired = paired.json();
    assert_eq!(
        (&paired["sender"], &paired["may_approve"]),
        (&json!("u-7"), &json!(true))
    );
    let off = json!({"rev": 1, "enabled": false});
    let off = server.api(admin, "PATCH /connectors/home", Some(off)).await;
    assert_eq!(off.json()["enabled"], json!(false), "{off:?}");
    let is_off = || async {
        let handle = &server.scene.runtime.handle;
        let row = handle.connector(&owner(), "home").await.unwrap();
        let health = row.health?;
        (health.state == "off").then_some(())
    };
    server.scene.until("it is off", is_off).await;
    let audit = server.scene.runtime.store().audit("default", 0, 100).await;
    let actions: Vec<String> = audit
        .unwrap()
        .into_iter()
        .map(|row| row.entry.action)
        .collect();
    for action in ["connector.pair", "connector.change"] {
        assert!(actions.iter().any(|known| known == action), "{actions:?}");
    }
}
