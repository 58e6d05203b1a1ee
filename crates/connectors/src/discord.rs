//! The Discord connector: gateway for what arrives, HTTP API for what is sent; buttons, threads, files, rate limits.

mod api;
mod channel_kind;
mod event;
mod event_queue;
mod gateway;
mod outgoing;
mod receiving;

use std::{fmt, sync::Mutex};

use async_trait::async_trait;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::{
    Capabilities, ChatPlace, Connector, FailureClass, Health, Inbound, InboundFile, LengthUnit,
    OutboundPart, PartBody, Receipt, Reconciled, SendError, http::ReconnectBackoff, plain_parts,
};
use api::DiscordApi;
use event::text;
use event_queue::EventQueue;
use gateway::GatewaySocket;

/// What Discord takes from bots.
const LONGEST_TEXT: usize = 2_000;
const LARGEST_UPLOAD: u64 = 10 << 20;
const LARGEST_DOWNLOAD: u64 = 25 << 20;
/// How many messages of a channel are looked at for one that may have arrived.
const LOOKED_AT: usize = 100;

/// How one bot is connected. The token is given apart, because it is a secret.
#[derive(Clone, Debug)]
pub struct DiscordOptions {
    /// Where the API is, with its version.
    pub base_url: String,
    /// What `cursor` gave before a restart.
    pub cursor: Option<String>,
}

impl Default for DiscordOptions {
    fn default() -> Self {
        Self {
            base_url: "https://discord.com/api/v10".to_owned(),
            cursor: None,
        }
    }
}

/// One bot of Discord.
pub struct DiscordConnector {
    api: DiscordApi,
    options: DiscordOptions,
    turn: tokio::sync::Mutex<GatewayTurn>,
    queue: Mutex<EventQueue>,
    health: watch::Sender<Health>,
}

/// Held by the one call of `receive` that reads.
#[derive(Debug, Default)]
struct GatewayTurn {
    socket: Option<GatewaySocket>,
    backoff: ReconnectBackoff,
}

impl fmt::Debug for DiscordConnector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("DiscordConnector")
    }
}

impl DiscordConnector {
    /// A connector that is not connected yet.
    pub fn new(token: &str, options: DiscordOptions) -> Result<Self, SendError> {
        // A cursor that cannot be read is of another version: messages since then are not fetched.
        let cursor = options
            .cursor
            .as_deref()
            .and_then(|text| serde_json::from_str(text).ok());
        Ok(Self {
            api: DiscordApi::new(token, &options.base_url)?,
            options,
            turn: tokio::sync::Mutex::default(),
            queue: Mutex::new(EventQueue::new(cursor.unwrap_or_default())),
            health: watch::Sender::new(Health::Off),
        })
    }

    async fn post(
        &self,
        to: &ChatPlace,
        part: &OutboundPart,
        key: Option<&str>,
    ) -> Result<Receipt, SendError> {
        let path = format!("/channels/{}/messages", outgoing::channel(to)?);
        let body = outgoing::message(to, part, key)?;
        let answer = match &part.body {
            PartBody::Text { .. } => self.api.call(Method::POST, &path, Some(&body)).await?,
            PartBody::File(file) => self.api.upload(&path, &body, file).await?,
        };
        let id = text(&answer, "id").map(str::to_owned);
        id.map(|message| Receipt { message })
            .ok_or_else(|| SendError::new(FailureClass::Unknown, "the answer names no message"))
    }

    /// Looks for a message among the last ones of its channel.
    async fn look_for(
        &self,
        to: &ChatPlace,
        part: &OutboundPart,
        key: &str,
    ) -> Result<Reconciled, SendError> {
        let path = format!(
            "/channels/{}/messages?limit={LOOKED_AT}",
            outgoing::channel(to)?
        );
        let answer = self.api.call(Method::GET, &path, None).await?;
        let messages = answer.as_array().map(Vec::as_slice).unwrap_or_default();
        let nonce = outgoing::nonce(key);
        let sent = messages
            .iter()
            .find(|message| text(message, "nonce") == Some(&nonce));
        if let Some(id) = sent.and_then(|message| text(message, "id")) {
            return Ok(Reconciled::Sent(Receipt {
                message: id.to_owned(),
            }));
        }
        let content = outgoing::content(part)?;
        let is_same = |message: &&Value| text(message, "content") == text(&content, "content");
        // An equal message may be this one or an earlier one.
        let is_open =
            messages.len() >= LOOKED_AT || messages.iter().any(|message| is_same(&message));
        Ok(if is_open {
            Reconciled::Unresolved
        } else {
            Reconciled::NotSent
        })
    }
}

#[async_trait]
impl Connector for DiscordConnector {
    fn platform(&self) -> &'static str {
        "discord"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            edit: true,
            buttons: true,
            threads: true,
            files: true,
            typing: true,
            groups: true,
            max_length: LONGEST_TEXT,
            caption_length: LONGEST_TEXT,
            button_data: 100,
            upload: LARGEST_UPLOAD,
            download: LARGEST_DOWNLOAD,
            unit: LengthUnit::Utf16,
        }
    }

    async fn receive(&self) -> Result<Inbound, SendError> {
        self.receive_next().await
    }

    async fn acknowledge(&self, key: &str) -> Result<(), SendError> {
        self.queue().acknowledge(key);
        Ok(())
    }

    fn cursor(&self) -> Option<String> {
        serde_json::to_string(&self.queue().cursor).ok()
    }

    fn split(&self, markdown: &str) -> Vec<OutboundPart> {
        plain_parts::split(markdown, LONGEST_TEXT)
    }

    async fn send(&self, to: &ChatPlace, part: &OutboundPart) -> Result<Receipt, SendError> {
        self.post(to, part, None).await
    }

    async fn send_keyed(
        &self,
        to: &ChatPlace,
        part: &OutboundPart,
        key: &str,
    ) -> Result<Receipt, SendError> {
        self.post(to, part, Some(key)).await
    }

    async fn edit(
        &self,
        to: &ChatPlace,
        message: &str,
        part: &OutboundPart,
    ) -> Result<(), SendError> {
        let message = outgoing::number(message, "message")?;
        let path = format!("/channels/{}/messages/{message}", outgoing::channel(to)?);
        let body = outgoing::content(part)?;
        self.api
            .call(Method::PATCH, &path, Some(&body))
            .await
            .map(|_| ())
    }

    async fn answer_button(&self, press: &str, said: &str) -> Result<(), SendError> {
        let (token, application) = {
            let queue = self.queue();
            (queue.press(press), queue.application.clone())
        };
        let Some(token) = token else {
            return Err(SendError::new(
                FailureClass::NotFound,
                "the press is too old to be answered",
            ));
        };
        if said.is_empty() {
            return Ok(());
        }
        let said: String = said.chars().take(LONGEST_TEXT / 2).collect();
        // Only the person who pressed sees it.
        let body = json!({"content": said, "flags": 64, "allowed_mentions": {"parse": []}});
        let path = format!("/webhooks/{application}/{token}");
        self.api
            .call(Method::POST, &path, Some(&body))
            .await
            .map(|_| ())
    }

    async fn typing(&self, to: &ChatPlace) -> Result<(), SendError> {
        let path = format!("/channels/{}/typing", outgoing::channel(to)?);
        self.api.call(Method::POST, &path, None).await.map(|_| ())
    }

    async fn download(&self, file: &InboundFile, limit: u64) -> Result<Vec<u8>, SendError> {
        self.api.download(file, limit.min(LARGEST_DOWNLOAD)).await
    }

    async fn reconcile(&self, _to: &ChatPlace, _part: &OutboundPart) -> Reconciled {
        // Without its key a message cannot be told from an equal one.
        Reconciled::Unresolved
    }

    async fn reconcile_keyed(&self, to: &ChatPlace, part: &OutboundPart, key: &str) -> Reconciled {
        self.look_for(to, part, key)
            .await
            .unwrap_or(Reconciled::Unresolved)
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.health.subscribe()
    }
}
