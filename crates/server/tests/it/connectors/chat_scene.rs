//! A runtime whose connector `home` is an account of a platform in this process.

use std::{sync::Arc, time::Duration};

use rooftree_connectors::SharedConnector;
use rooftree_protocol::{ChatTarget, Principal, Session, Surface};
use rooftree_runtime::{ConnectorChange, NewPairing, OutboxQuery};
use rooftree_server::connectors::{
    ConnectorControl, ConnectorFactory, ConnectorRegistry, ConnectorServiceOptions,
    connector_service, delivery_service,
};
use rooftree_store::{ChatIdentity, ConnectorFields, Inquiry, OutboxBody, OutboxRow};
use rooftree_testkit::{TestRuntime, TestRuntimeBuilder};
use serde_json::{Map, Value, json};

use super::fake_platform::{FakeConnector, FakePlatform, press_on};
use crate::agent_server::open;

/// Timeout of a test in real time.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct ChatScene {
    pub runtime: TestRuntime,
    pub platform: Arc<FakePlatform>,
    pub control: Arc<ConnectorControl>,
}

pub fn owner() -> Principal {
    Principal::local_owner(Surface::Cli)
}

/// A plan with the agents of these tests.
pub fn plan(
    entries: impl IntoIterator<Item = rooftree_testkit::scripted::ScriptEntry>,
) -> TestRuntimeBuilder {
    let plan = TestRuntimeBuilder::new(entries);
    plan.agent(open("helper")).agent(open("other"))
}

/// Adds the service of connectors to a plan.
pub fn with_connectors(
    plan: TestRuntimeBuilder,
    platform: &Arc<FakePlatform>,
) -> (TestRuntimeBuilder, Arc<ConnectorControl>) {
    with_registry(plan, platform, Arc::default())
}

fn with_registry(
    mut plan: TestRuntimeBuilder,
    platform: &Arc<FakePlatform>,
    registry: Arc<ConnectorRegistry>,
) -> (TestRuntimeBuilder, Arc<ConnectorControl>) {
    let control = Arc::new(ConnectorControl::default());
    let fake = platform.clone();
    let factory: ConnectorFactory = Arc::new(move |row| {
        let connector: SharedConnector = match row.fields.platform.as_str() {
            "telegram" => Arc::new(FakeConnector::new(&fake, "telegram", row.cursor.clone())),
            "webhook" => Arc::new(FakeConnector::new(&fake, "webhook", row.cursor.clone())),
            other => return Err(format!("no token for {other}")),
        };
        Ok(connector)
    });
    plan.services
        .push(connector_service(ConnectorServiceOptions {
            factory,
            cwd: std::env::temp_dir(),
            registry,
            control: control.clone(),
        }));
    (plan, control)
}

impl ChatScene {
    /// A runtime whose connector `home` joins no messages.
    pub async fn start(plan: TestRuntimeBuilder) -> Self {
        Self::with_settings(plan, json!({"debounce_ms": 0})).await
    }

    pub async fn with_settings(plan: TestRuntimeBuilder, settings: Value) -> Self {
        let platform = Arc::new(FakePlatform::default());
        let (plan, control) = with_connectors(plan, &platform);
        let scene = Self {
            runtime: plan.build(),
            platform,
            control,
        };
        scene.add("home", "telegram", settings).await;
        scene
    }

    /// A runtime whose connector also sends what the outbox has.
    pub async fn delivering(mut plan: TestRuntimeBuilder, settings: Value) -> Self {
        let platform = Arc::new(FakePlatform::default());
        let registry = Arc::new(ConnectorRegistry::default());
        plan.services.push(delivery_service(registry.clone()));
        let (plan, control) = with_registry(plan, &platform, registry);
        let scene = Self {
            runtime: plan.build(),
            platform,
            control,
        };
        scene.add("home", "telegram", settings).await;
        scene
    }

    /// What is asked now.
    pub async fn asked(&self) -> Inquiry {
        let look = || async {
            let open = self.runtime.store().inquiries(None).await.unwrap();
            open.into_iter().find(|inquiry| inquiry.answer.is_none())
        };
        self.until("a request", look).await
    }

    /// Presses a button of a message; gives what who pressed is told.
    pub async fn pressed(&self, message: &str, key: &str, (from, data): (&str, &str)) -> String {
        self.platform.deliver(press_on(message, key, from, data));
        self.acknowledged(key).await;
        let presses = self.platform.presses();
        let own = presses.iter().find(|(id, _)| *id == format!("press-{key}"));
        own.unwrap().1.clone()
    }

    pub async fn add(&self, name: &str, platform: &str, settings: Value) {
        let fields = ConnectorFields {
            platform: platform.into(),
            agent: "helper".into(),
            settings: match settings {
                Value::Object(settings) => settings,
                _ => Map::new(),
            },
            enabled: true,
        };
        let change = ConnectorChange {
            name: name.into(),
            fields: Some(fields),
            expected: None,
        };
        let handle = &self.runtime.handle;
        handle.change_connector(&owner(), change).await.unwrap();
        self.control.note_change();
    }

    /// The same database and platform with another runtime.
    pub async fn restarted(self, plan: TestRuntimeBuilder) -> Self {
        let (plan, control) = with_connectors(plan, &self.platform);
        let runtime = self.runtime.restart(plan).await;
        Self {
            runtime,
            control,
            platform: self.platform,
        }
    }

    /// Pairs a sender with a person, as an approver or not.
    pub async fn pair(&self, sender: &str, person: &str, may_approve: bool) {
        let new = NewPairing {
            connector: "home".into(),
            person: Some(person.into()),
            may_approve,
        };
        let handle = &self.runtime.handle;
        let issued = handle.create_pairing(&owner(), new).await.unwrap();
        let us = Principal::local_owner(Surface::Connector);
        let from = (sender, "paired");
        let paired = self
            .runtime
            .handle
            .redeem_pairing(&us, "home", from, &issued.code);
        assert!(paired.await.unwrap().is_some());
    }

    pub async fn identities(&self) -> Vec<ChatIdentity> {
        let handle = &self.runtime.handle;
        handle.chat_identities(&owner(), "home").await.unwrap()
    }

    /// Waits until something holds.
    pub async fn until<T, F>(&self, what: &str, look: impl Fn() -> F) -> T
    where
        F: Future<Output = Option<T>>,
    {
        let search = async {
            loop {
                if let Some(found) = look().await {
                    return found;
                }
                tokio::task::yield_now().await;
            }
        };
        match tokio::time::timeout(PATIENCE, search).await {
            Ok(found) => found,
            Err(_) => panic!("never saw {what}; told: {:#?}", self.told().await),
        }
    }

    /// Waits until the platform was told that something is stored.
    pub async fn acknowledged(&self, key: &str) {
        let is_stored = || async {
            self.platform
                .acknowledged()
                .iter()
                .any(|known| known == key)
                .then_some(())
        };
        self.until(&format!("the acknowledgement of {key}"), is_stored)
            .await;
    }

    pub async fn outbox(&self) -> Vec<OutboxRow> {
        let query = OutboxQuery {
            limit: 100,
            ..OutboxQuery::default()
        };
        let page = self.runtime.handle.outbox(&owner(), query).await.unwrap();
        let mut rows = page.rows;
        rows.reverse();
        rows
    }

    /// What chats were told, oldest first: where and what.
    pub async fn told(&self) -> Vec<(ChatTarget, String)> {
        let rows = self.outbox().await.into_iter();
        rows.filter_map(|row| match row.post.body {
            OutboxBody::Text { text } => Some((row.post.target, text)),
            _ => None,
        })
        .collect()
    }

    /// Waits for a text to a chat that contains these words.
    pub async fn hears(&self, words: &str) -> (ChatTarget, String) {
        let look = || async {
            let told = self.told().await;
            told.into_iter().find(|(_, text)| text.contains(words))
        };
        self.until(words, look).await
    }

    /// The sessions of the chats, the oldest first.
    pub async fn sessions(&self) -> Vec<Session> {
        let sessions = self.runtime.store().sessions(Default::default());
        let mut sessions = sessions.await.unwrap();
        sessions.reverse();
        sessions
    }
}
