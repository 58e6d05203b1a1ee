//! External connectors: programs of others that speak the HTTP contract of docs/connector-contract.md.
//!
//! They post what arrives to the server with a bearer token, and take messages by POST at their own URL.

mod client;
mod incoming;
mod registration;

use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use reqwest::Method;
use serde_json::json;
use tokio::sync::watch;

pub use registration::{ExternalCapabilities, ExternalRegistration, ExternalToken};

use crate::{
    Capabilities, ChatPlace, Connector, FailureClass, Health, Inbound, InboundFile, OutboundPart,
    PlatformAnswer, PlatformRequest, Receipt, Reconciled, SendError, plain_parts, random_id,
    request_queue::RequestQueue, signature::equal_secrets,
};
use client::ExternalClient;

/// The largest file in either direction.
const LARGEST_FILE: u64 = 20 << 20;
/// How often its health is asked for.
const HEALTH_EVERY: Duration = Duration::from_secs(30);

/// Bytes of files with their ids, by the key of their message.
type InlineFiles = HashMap<String, Vec<(String, Vec<u8>)>>;

/// One external connector.
pub struct ExternalConnector {
    client: ExternalClient,
    capabilities: ExternalCapabilities,
    requests: RequestQueue,
    /// Bytes of files that came inside requests, by the message's key, until it is acknowledged.
    files: Mutex<InlineFiles>,
    health: watch::Sender<Health>,
}

impl fmt::Debug for ExternalConnector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ExternalConnector")
    }
}

impl ExternalConnector {
    /// Fails if the URL may not be reached or a capability cannot be used.
    pub fn new(
        registration: ExternalRegistration,
        token: ExternalToken,
    ) -> Result<Self, SendError> {
        registration.capabilities.validate()?;
        Ok(Self {
            client: ExternalClient::new(&registration, token)?,
            capabilities: registration.capabilities,
            requests: RequestQueue::default(),
            files: Mutex::default(),
            health: watch::Sender::new(Health::Off),
        })
    }

    fn files(&self) -> MutexGuard<'_, InlineFiles> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn check_health(&self) {
        let health = match self.client.health().await {
            Ok(()) => Health::Up,
            Err(error) if error.class == FailureClass::Auth => Health::Degraded {
                reason: "the external connector refused our token; set the same one on both sides"
                    .to_owned(),
            },
            Err(error) => Health::Degraded {
                reason: format!("the external connector is not well: {error}"),
            },
        };
        self.health.send_if_modified(|current| {
            let is_new = *current != health;
            *current = health;
            is_new
        });
    }

    fn needs(&self, is_able: bool, what: &str) -> Result<(), SendError> {
        if is_able {
            return Ok(());
        }
        let words = format!("this external connector has no {what}");
        Err(SendError::new(FailureClass::InvalidPayload, words))
    }
}

fn is_authorised(request: &PlatformRequest<'_>, token: &ExternalToken) -> bool {
    let header = request.header("authorization").unwrap_or_default();
    let given = header
        .split_once(' ')
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    given.is_some_and(|(_, given)| equal_secrets(given.trim(), token.expose()))
}

#[async_trait]
impl Connector for ExternalConnector {
    fn platform(&self) -> &'static str {
        "external"
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities.to_capabilities()
    }

    async fn receive(&self) -> Result<Inbound, SendError> {
        let watch_health = async {
            loop {
                self.check_health().await;
                tokio::time::sleep(HEALTH_EVERY).await;
            }
        };
        tokio::select! {
            inbound = self.requests.next() => Ok(inbound),
            () = watch_health => Err(SendError::new(FailureClass::Transient, "the health check ended")),
        }
    }

    async fn take_request(&self, request: PlatformRequest<'_>) -> PlatformAnswer {
        if !is_authorised(&request, self.client.token()) {
            return PlatformAnswer::refused(401, "the bearer token is missing or wrong");
        }
        let message = match incoming::message(request) {
            Ok(message) => message,
            Err(refusal) => return refusal,
        };
        let key = message.inbound.key.clone();
        if !message.files.is_empty() {
            self.files().insert(key.clone(), message.files);
        }
        let submitted = self.requests.submit(message.inbound).await;
        if !self.requests.holds(&key) {
            self.files().remove(&key);
        }
        submitted
            .refusal()
            .unwrap_or_else(|| PlatformAnswer::taken(202, json!({"key": key})))
    }

    async fn acknowledge(&self, key: &str) -> Result<(), SendError> {
        for key in self.requests.acknowledge(key) {
            self.files().remove(&key);
        }
        Ok(())
    }

    fn split(&self, markdown: &str) -> Vec<OutboundPart> {
        plain_parts::split(markdown, self.capabilities.max_length)
    }

    async fn send(&self, to: &ChatPlace, part: &OutboundPart) -> Result<Receipt, SendError> {
        self.client.post(to, part, &random_id()?).await
    }

    async fn send_keyed(
        &self,
        to: &ChatPlace,
        part: &OutboundPart,
        key: &str,
    ) -> Result<Receipt, SendError> {
        self.client.post(to, part, key).await
    }

    async fn edit(
        &self,
        to: &ChatPlace,
        message: &str,
        part: &OutboundPart,
    ) -> Result<(), SendError> {
        self.needs(self.capabilities.edit, "messages that can be edited")?;
        let body = client::body(to, part)?;
        self.client
            .call(Method::PUT, &["messages", message], &body)
            .await
    }

    async fn answer_button(&self, press: &str, text: &str) -> Result<(), SendError> {
        self.needs(self.capabilities.buttons, "buttons")?;
        self.client
            .call(Method::POST, &["buttons", press], &json!({"text": text}))
            .await
    }

    async fn typing(&self, to: &ChatPlace) -> Result<(), SendError> {
        if !self.capabilities.typing {
            return Ok(());
        }
        let body = json!({"chat": to.chat, "thread": to.thread});
        self.client.call(Method::POST, &["typing"], &body).await
    }

    async fn download(&self, file: &InboundFile, limit: u64) -> Result<Vec<u8>, SendError> {
        let inside = self
            .files()
            .values()
            .flatten()
            .find(|(id, _)| *id == file.id)
            .map(|(_, bytes)| bytes.clone());
        match inside {
            Some(bytes) if bytes.len() as u64 <= limit => Ok(bytes),
            Some(_) => Err(SendError::new(
                FailureClass::InvalidPayload,
                "the file is larger than the limit",
            )),
            None => self.client.fetch(file, limit).await,
        }
    }

    async fn reconcile(&self, _to: &ChatPlace, _part: &OutboundPart) -> Reconciled {
        // Without its key a delivery cannot be told from another.
        Reconciled::Unresolved
    }

    async fn reconcile_keyed(
        &self,
        _to: &ChatPlace,
        _part: &OutboundPart,
        key: &str,
    ) -> Reconciled {
        if !self.capabilities.deliveries {
            return Reconciled::Unresolved;
        }
        self.client.delivery(key).await
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.health.subscribe()
    }
}
