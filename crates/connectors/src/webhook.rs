//! The webhook connector: signed requests become messages, and messages are sent as signed requests.
//!
//! A request is answered with 202 only after the server stored what it holds. A client with the secret may say anything, so
//! all requests have one sender, `webhook`; a name in the body is only shown.

mod incoming;
mod options;
mod outgoing;
mod template;

use std::fmt;

use async_trait::async_trait;
use serde_json::json;
use tokio::sync::watch;

pub use options::{
    SignatureStyle, WebhookInbound, WebhookOptions, WebhookOutbound, WebhookSecret,
    WebhookTemplates,
};
pub use template::WebhookTemplate;

use crate::{
    Capabilities, ChatPlace, Connector, FailureClass, Health, Inbound, InboundFile, LengthUnit,
    OutboundPart, PlatformAnswer, PlatformRequest, Receipt, Reconciled, SendError, plain_parts,
    random_id, request_queue::RequestQueue,
};
use outgoing::WebhookTarget;

/// The longest text of a message, in characters.
const LONGEST_TEXT: usize = 64 << 10;

/// One webhook.
pub struct WebhookConnector {
    inbound: Option<WebhookInbound>,
    outbound: Option<WebhookTarget>,
    requests: RequestQueue,
    health: watch::Sender<Health>,
}

impl fmt::Debug for WebhookConnector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WebhookConnector")
    }
}

impl WebhookConnector {
    /// Fails if the URL may not be reached.
    pub fn new(options: WebhookOptions) -> Result<Self, SendError> {
        Ok(Self {
            inbound: options.inbound,
            outbound: options.outbound.map(WebhookTarget::new).transpose()?,
            requests: RequestQueue::default(),
            health: watch::Sender::new(Health::Off),
        })
    }

    fn target(&self) -> Result<&WebhookTarget, SendError> {
        self.outbound
            .as_ref()
            .ok_or_else(|| not_there("this webhook sends nothing; set its URL"))
    }
}

fn not_there(words: &str) -> SendError {
    SendError::new(FailureClass::NotFound, words)
}

#[async_trait]
impl Connector for WebhookConnector {
    fn platform(&self) -> &'static str {
        "webhook"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            edit: false,
            buttons: false,
            threads: false,
            files: self.outbound.is_some(),
            typing: false,
            groups: false,
            max_length: LONGEST_TEXT,
            caption_length: LONGEST_TEXT,
            button_data: 0,
            upload: outgoing::LARGEST_FILE,
            download: 0,
            unit: LengthUnit::Chars,
        }
    }

    async fn receive(&self) -> Result<Inbound, SendError> {
        self.health.send_replace(Health::Up);
        Ok(self.requests.next().await)
    }

    async fn take_request(&self, request: PlatformRequest<'_>) -> PlatformAnswer {
        let Some(options) = &self.inbound else {
            return PlatformAnswer::refused(404, "this webhook takes no requests");
        };
        let message = match incoming::message(options, request) {
            Ok(message) => message,
            Err(refusal) => return refusal,
        };
        let key = message.inbound.key.clone();
        let submitted = self.requests.submit(message.inbound).await;
        let taken =
            || PlatformAnswer::taken(202, json!({"key": key, "diagnostics": message.diagnostics}));
        submitted.refusal().unwrap_or_else(taken)
    }

    async fn acknowledge(&self, key: &str) -> Result<(), SendError> {
        self.requests.acknowledge(key);
        Ok(())
    }

    fn split(&self, markdown: &str) -> Vec<OutboundPart> {
        plain_parts::split(markdown, LONGEST_TEXT)
    }

    async fn send(&self, to: &ChatPlace, part: &OutboundPart) -> Result<Receipt, SendError> {
        let id = random_id()?;
        self.target()?.post(to, part, &id).await
    }

    async fn send_keyed(
        &self,
        to: &ChatPlace,
        part: &OutboundPart,
        key: &str,
    ) -> Result<Receipt, SendError> {
        self.target()?.post(to, part, key).await
    }

    async fn edit(
        &self,
        _to: &ChatPlace,
        _message: &str,
        _part: &OutboundPart,
    ) -> Result<(), SendError> {
        Err(not_there("a webhook has no messages that could be edited"))
    }

    async fn answer_button(&self, _press: &str, _text: &str) -> Result<(), SendError> {
        Err(not_there("a webhook has no buttons"))
    }

    async fn typing(&self, _to: &ChatPlace) -> Result<(), SendError> {
        Ok(())
    }

    async fn download(&self, _file: &InboundFile, _limit: u64) -> Result<Vec<u8>, SendError> {
        Err(not_there("a webhook has no files"))
    }

    async fn reconcile(&self, _to: &ChatPlace, _part: &OutboundPart) -> Reconciled {
        // Without its id a delivery cannot be told from another.
        Reconciled::Unresolved
    }

    async fn reconcile_keyed(
        &self,
        _to: &ChatPlace,
        _part: &OutboundPart,
        _key: &str,
    ) -> Reconciled {
        match &self.outbound {
            // If it arrived, the receiver knows its id and drops the second: the same as if it had not.
            Some(target) if target.options.is_deduplicating => Reconciled::NotSent,
            _ => Reconciled::Unresolved,
        }
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.health.subscribe()
    }
}
