//! The contract of every connector, one table of cases: redelivery, acknowledgement, receipts, failures, secrets,
//! dropped calls.

use std::sync::{
    Arc,
    atomic::{AtomicU16, Ordering},
};

use async_trait::async_trait;
use rooftree_connectors::{
    ChatPlace, FailureClass, OutboundPart, PlatformRequest, SharedConnector, SignatureStyle,
    TelegramConnector, TelegramOptions, WebhookConnector, WebhookOptions, WebhookOutbound,
    WebhookSecret,
};
use serde_json::{Value, json};

use crate::{
    external,
    loopback::{Arrived, Loopback, Reaction},
    telegram_poll, webhook,
};

/// A platform on loopback, with one account.
#[async_trait]
trait Platform: Send + Sync {
    /// A connector of the account, as after a restart.
    fn connector(&self) -> SharedConnector;

    /// Lets a message arrive, and again until the connector answered that it is stored.
    async fn say(&self, connector: &SharedConnector, number: i64);

    /// What a message is answered with from now on.
    fn set_status(&self, status: u16);

    /// Texts that no output may have.
    fn secrets(&self) -> Vec<&'static str>;
}

fn place() -> ChatPlace {
    ChatPlace {
        chat: "5".to_owned(),
        thread: None,
        reply_to: None,
        group: false,
    }
}

/// An API that answers messages with a status that can be set.
struct Api {
    server: Loopback,
    status: Arc<AtomicU16>,
}

impl Api {
    async fn start(mut other: impl FnMut(&Arrived) -> Option<Reaction> + Send + 'static) -> Self {
        let status = Arc::new(AtomicU16::new(200));
        let set = status.clone();
        let server = Loopback::start(move |request| {
            let body =
                json!({"ok": true, "message": "m1", "id": "31", "result": {"message_id": 31}});
            other(request).unwrap_or_else(|| match set.load(Ordering::Relaxed) {
                200 => Reaction::json(200, body),
                0 => Reaction::Cut,
                status => Reaction::refusal(status, "refused"),
            })
        });
        Self {
            server: server.await,
            status,
        }
    }
}

struct Telegram(Api);

impl Telegram {
    async fn start() -> Self {
        let updates: Vec<Value> = (1..=2)
            .map(|number| telegram_poll::update(number, "hello"))
            .collect();
        let api = Api::start(move |request| match request.method() {
            "getMe" => Some(telegram_poll::get_me()),
            "deleteWebhook" => Some(Reaction::ok(json!(true))),
            "getUpdates" => {
                let offset = request.json()["offset"].as_i64();
                let left = updates
                    .iter()
                    .filter(|update| update["update_id"].as_i64() >= offset);
                let left: Vec<Value> = left.cloned().collect();
                Some(if left.is_empty() {
                    Reaction::Hold
                } else {
                    Reaction::ok(json!(left))
                })
            }
            _ => None,
        });
        Self(api.await)
    }
}

#[async_trait]
impl Platform for Telegram {
    fn connector(&self) -> SharedConnector {
        let options = TelegramOptions {
            base_url: self.0.server.url.clone(),
            is_paced: false,
            ..TelegramOptions::default()
        };
        Arc::new(TelegramConnector::new(telegram_poll::TOKEN, options).unwrap())
    }

    async fn say(&self, _connector: &SharedConnector, _number: i64) {
        // Both messages wait at the server from the begin; polling tells it what is stored.
        std::future::pending().await
    }

    fn set_status(&self, status: u16) {
        self.0.status.store(status, Ordering::Relaxed);
    }

    fn secrets(&self) -> Vec<&'static str> {
        vec!["AAsecret", "http://"]
    }
}

/// Sends a request until it is stored, as platforms do.
async fn insist(connector: &SharedConnector, headers: &[(&str, &str)], body: &[u8]) {
    loop {
        let request = PlatformRequest {
            headers,
            body,
            at_ms: webhook::NOW * 1_000,
        };
        if connector.take_request(request).await.is_taken() {
            return;
        }
    }
}

struct Webhook(Api);

#[async_trait]
impl Platform for Webhook {
    fn connector(&self) -> SharedConnector {
        let options = WebhookOptions {
            inbound: Some(webhook::inbound_options(SignatureStyle::Timestamped)),
            outbound: Some(WebhookOutbound {
                url: format!("{}/hook", self.0.server.url),
                secret: WebhookSecret::new(webhook::SECRET).unwrap(),
                private: Default::default(),
                is_deduplicating: false,
            }),
        };
        Arc::new(WebhookConnector::new(options).unwrap())
    }

    async fn say(&self, connector: &SharedConnector, number: i64) {
        let body = json!({"text": "hello", "number": number}).to_string();
        let header = webhook::signed(webhook::NOW, body.as_bytes());
        insist(
            connector,
            &[("x-rooftree-signature", &header)],
            body.as_bytes(),
        )
        .await;
    }

    fn set_status(&self, status: u16) {
        self.0.status.store(status, Ordering::Relaxed);
    }

    fn secrets(&self) -> Vec<&'static str> {
        vec![webhook::SECRET, "http://"]
    }
}

struct External(Api);

#[async_trait]
impl Platform for External {
    fn connector(&self) -> SharedConnector {
        Arc::new(external::external(&self.0.server.url))
    }

    async fn say(&self, connector: &SharedConnector, number: i64) {
        let body =
            json!({"key": number.to_string(), "chat": "5", "from": {"id": "7"}, "text": "hello"});
        let bearer = format!("Bearer {}", external::TOKEN);
        insist(
            connector,
            &[("authorization", &bearer)],
            body.to_string().as_bytes(),
        )
        .await;
    }

    fn set_status(&self, status: u16) {
        self.0.status.store(status, Ordering::Relaxed);
    }

    fn secrets(&self) -> Vec<&'static str> {
        vec![external::TOKEN, "http://"]
    }
}

/// Only for what is sent: its gateway is tried in `discord_gateway.rs`, its restart against the emulator.
#[cfg(feature = "discord")]
struct Discord(Api);

#[cfg(feature = "discord")]
#[async_trait]
impl Platform for Discord {
    fn connector(&self) -> SharedConnector {
        let options = rooftree_connectors::DiscordOptions {
            base_url: self.0.server.url.clone(),
            cursor: None,
        };
        let token = crate::discord_gateway::TOKEN;
        Arc::new(rooftree_connectors::DiscordConnector::new(token, options).unwrap())
    }

    async fn say(&self, _connector: &SharedConnector, _number: i64) {
        std::future::pending().await
    }

    fn set_status(&self, status: u16) {
        self.0.status.store(status, Ordering::Relaxed);
    }

    fn secrets(&self) -> Vec<&'static str> {
        vec![crate::discord_gateway::TOKEN, "http://"]
    }
}

async fn senders() -> Vec<Box<dyn Platform>> {
    #[allow(unused_mut, reason = "without Discord nothing is added")]
    let mut platforms = platforms().await;
    #[cfg(feature = "discord")]
    platforms.push(Box::new(Discord(Api::start(|_| None).await)));
    platforms
}

async fn platforms() -> Vec<Box<dyn Platform>> {
    let healthy =
        |request: &Arrived| (request.method() == "health").then(|| Reaction::json(200, json!({})));
    vec![
        Box::new(Telegram::start().await),
        Box::new(Webhook(Api::start(|_| None).await)),
        Box::new(External(Api::start(healthy).await)),
    ]
}

/// Receives while two messages are said, and acknowledges the first `stored`; returns the keys.
async fn keys(platform: &dyn Platform, connector: &SharedConnector, stored: usize) -> Vec<String> {
    let receive = async {
        let mut keys = Vec::new();
        for number in 0..2 {
            let key = connector.receive().await.unwrap().key;
            if number < stored {
                connector.acknowledge(&key).await.unwrap();
            }
            keys.push(key);
        }
        keys
    };
    let said = async {
        tokio::join!(platform.say(connector, 1), platform.say(connector, 2));
        std::future::pending::<()>().await;
    };
    tokio::select! {
        keys = receive => keys,
        () = said => panic!("it waits for ever"),
    }
}

#[tokio::test]
async fn what_was_not_acknowledged_comes_again_after_a_restart_under_the_same_key() {
    for platform in platforms().await {
        let connector = platform.connector();
        let name = connector.platform();
        let first = keys(&*platform, &connector, 0).await;
        assert_ne!(first[0], first[1], "{name}");
        drop(connector);
        let again = keys(&*platform, &platform.connector(), 2).await;
        assert_eq!(first, again, "{name}");
    }
}

#[tokio::test]
async fn what_was_acknowledged_does_not_come_again() {
    for platform in platforms().await {
        let connector = platform.connector();
        keys(&*platform, &connector, 2).await;
        // Said again, it is taken and not given out, while twenty other requests are made.
        let said = async {
            platform.say(&connector, 1).await;
            std::future::pending::<()>().await;
        };
        let others = async {
            for _ in 0..20 {
                let sent = connector.send(&place(), &OutboundPart::text("a")).await;
                sent.unwrap();
            }
        };
        tokio::select! {
            again = connector.receive() => panic!("{}: {again:?}", connector.platform()),
            () = said => panic!("it waits for ever"),
            () = others => {}
        }
    }
}

#[tokio::test]
async fn a_part_has_a_receipt_or_the_class_of_its_failure() {
    use FailureClass::{Auth, InvalidPayload, Permission, RateLimit, Transient, Unknown};
    for platform in senders().await {
        let connector = platform.connector();
        let name = connector.platform();
        let part = connector.split("hello").remove(0);
        let receipt = connector.send(&place(), &part).await.unwrap();
        assert!(!receipt.message.is_empty(), "{name}");
        for (status, class) in [
            (400, InvalidPayload),
            (401, Auth),
            (403, Permission),
            (429, RateLimit),
            (503, Transient),
            (0, Unknown),
        ] {
            platform.set_status(status);
            let error = connector
                .send_keyed(&place(), &part, "k")
                .await
                .unwrap_err();
            assert_eq!(error.class, class, "{name} {status}");
        }
    }
}

#[tokio::test]
async fn no_output_has_a_secret() {
    for platform in senders().await {
        let connector = platform.connector();
        let part = OutboundPart::text("a");
        let mut shown = String::new();
        for status in [0, 400, 401, 404, 500] {
            platform.set_status(status);
            let sent = connector.send(&place(), &part).await;
            let typed = connector.typing(&place()).await;
            let edited = connector.edit(&place(), "1", &part).await;
            let health = connector.health();
            shown.push_str(&format!(
                "{sent:?} {typed:?} {edited:?} {:?}",
                *health.borrow()
            ));
            for error in [sent.err(), typed.err(), edited.err()]
                .into_iter()
                .flatten()
            {
                shown.push_str(&error.to_string());
            }
        }
        for secret in platform.secrets() {
            assert!(!shown.contains(secret), "{}: {shown}", connector.platform());
        }
    }
}

#[tokio::test]
async fn a_dropped_call_loses_nothing() {
    for platform in platforms().await {
        let connector = platform.connector();
        // Dropped at its first await, and a send too.
        for _ in 0..3 {
            tokio::select! {
                biased;
                _ = connector.receive() => panic!("nothing is there at once"),
                () = std::future::ready(()) => {}
            }
            let part = OutboundPart::text("a");
            let to = place();
            tokio::select! {
                biased;
                _ = connector.send(&to, &part) => panic!("nothing is sent at once"),
                () = std::future::ready(()) => {}
            }
        }
        assert_eq!(keys(&*platform, &connector, 2).await.len(), 2);
        connector
            .send(&place(), &OutboundPart::text("a"))
            .await
            .unwrap();
    }
}
