//! The Telegram connector: Bot API over long poll or webhook; text with entities, buttons, topics, files.
//!
//! Formatting is sent as entities, never as `parse_mode`, so no text is refused for its syntax. Where a message came from
//! is identified by numbers only: names and user names are chosen freely.

mod api;
mod bot_identity;
mod entity_json;
mod failure;
mod incoming_text;
mod options;
mod outgoing;
mod poll;
mod send_pacer;
mod sending;
mod update;
mod upload;

use std::{fmt, sync::Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::{OnceCell, watch};

pub use bot_identity::BotIdentity;
pub use options::{BotCommand, TelegramMode, TelegramOptions};

use crate::{
    Capabilities, ChatPlace, Connector, FailureClass, Health, Inbound, InboundFile, LengthUnit,
    OutboundPart, PlatformAnswer, PlatformRequest, Receipt, Reconciled, SendError,
    request_queue::RequestQueue, signature::equal_secrets,
};
use api::TelegramApi;
use poll::UpdateQueue;
use send_pacer::SendPacer;

/// Updates that are asked for; all others are not sent to us. An edited message is none of them on purpose: what was said
/// is answered already, and saying it again would run it twice.
const ALLOWED_UPDATES: [&str; 2] = ["message", "callback_query"];
/// What Telegram takes and gives (Bot API).
const LONGEST_CAPTION: usize = 1_024;
const LARGEST_UPLOAD: u64 = 50 << 20;
const LARGEST_DOWNLOAD: u64 = 20 << 20;
const LONGEST_BUTTON_DATA: usize = 64;

/// One bot of Telegram.
pub struct TelegramConnector {
    api: TelegramApi,
    options: TelegramOptions,
    bot: OnceCell<BotIdentity>,
    queue: UpdateQueue,
    requests: RequestQueue,
    pacer: Mutex<SendPacer>,
    health: watch::Sender<Health>,
}

impl fmt::Debug for TelegramConnector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TelegramConnector")
    }
}

impl TelegramConnector {
    /// A connector that is not connected yet. Fails if the token or an option cannot be right.
    pub fn new(token: &str, options: TelegramOptions) -> Result<Self, SendError> {
        options.validate()?;
        Ok(Self {
            api: TelegramApi::new(token, &options.base_url)?,
            options,
            bot: OnceCell::new(),
            queue: UpdateQueue::default(),
            requests: RequestQueue::default(),
            pacer: Mutex::default(),
            health: watch::Sender::new(Health::Off),
        })
    }

    /// Who the bot is. Asked once; connecting does it too.
    pub async fn identity(&self) -> Result<&BotIdentity, SendError> {
        let ask = || async {
            let answer = self.api.call("getMe", &json!({})).await?;
            BotIdentity::of(&answer)
                .ok_or_else(|| SendError::new(FailureClass::Unknown, "getMe gave no bot"))
        };
        self.bot.get_or_try_init(ask).await
    }

    /// What a request to the webhook holds; none if it is nothing for us.
    async fn take_webhook(
        &self,
        secret: Option<&str>,
        body: &[u8],
    ) -> Result<Option<Inbound>, SendError> {
        let TelegramMode::Webhook { secret: own, .. } = &self.options.mode else {
            let words = "this bot is polled; set its mode to webhook";
            return Err(SendError::new(FailureClass::Conflict, words));
        };
        if !secret.is_some_and(|secret| equal_secrets(secret, own)) {
            let words = "the header X-Telegram-Bot-Api-Secret-Token is missing or wrong";
            return Err(SendError::new(FailureClass::Auth, words));
        }
        let update: Value = serde_json::from_slice(body).map_err(|_| {
            SendError::new(
                FailureClass::InvalidPayload,
                "the body is not a JSON update",
            )
        })?;
        Ok(update::inbound(&update, self.identity().await?))
    }

    /// Removes the webhook, so that the bot can be polled.
    pub async fn remove_webhook(&self) -> Result<(), SendError> {
        let answer = self.api.call("deleteWebhook", &json!({})).await;
        answer.map(|_| ())
    }
}

#[async_trait]
impl Connector for TelegramConnector {
    fn platform(&self) -> &'static str {
        "telegram"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            edit: true,
            buttons: true,
            threads: true,
            files: true,
            typing: true,
            groups: true,
            max_length: 4_096,
            caption_length: LONGEST_CAPTION,
            button_data: LONGEST_BUTTON_DATA,
            upload: LARGEST_UPLOAD,
            download: LARGEST_DOWNLOAD,
            unit: LengthUnit::Utf16,
        }
    }

    async fn receive(&self) -> Result<Inbound, SendError> {
        self.receive_next().await
    }

    async fn take_request(&self, request: PlatformRequest<'_>) -> PlatformAnswer {
        let secret = request.header("x-telegram-bot-api-secret-token");
        let inbound = match self.take_webhook(secret, request.body).await {
            Ok(Some(inbound)) => inbound,
            Ok(None) => return PlatformAnswer::taken(200, json!({"ignored": true})),
            Err(error) => return PlatformAnswer::refused(status_of(error.class), &error.message),
        };
        let submitted = self.requests.submit(inbound).await;
        submitted
            .refusal()
            .unwrap_or_else(|| PlatformAnswer::taken(200, json!({})))
    }

    async fn acknowledge(&self, key: &str) -> Result<(), SendError> {
        self.queue.acknowledge(key);
        self.requests.acknowledge(key);
        Ok(())
    }

    fn split(&self, markdown: &str) -> Vec<OutboundPart> {
        entity_json::split(markdown)
    }

    async fn send(&self, to: &ChatPlace, part: &OutboundPart) -> Result<Receipt, SendError> {
        self.deliver(to, part).await
    }

    async fn edit(
        &self,
        to: &ChatPlace,
        message: &str,
        part: &OutboundPart,
    ) -> Result<(), SendError> {
        self.replace(to, message, part).await
    }

    async fn answer_button(&self, press: &str, text: &str) -> Result<(), SendError> {
        let body = json!({"callback_query_id": press, "text": outgoing::shortened(text, 200)});
        let answer = self.api.call("answerCallbackQuery", &body).await;
        answer.map(|_| ())
    }

    async fn typing(&self, to: &ChatPlace) -> Result<(), SendError> {
        let answer = self
            .api
            .call("sendChatAction", &outgoing::typing(to)?)
            .await;
        answer.map(|_| ())
    }

    async fn download(&self, file: &InboundFile, limit: u64) -> Result<Vec<u8>, SendError> {
        self.api.download(file, limit.min(LARGEST_DOWNLOAD)).await
    }

    async fn reconcile(&self, _to: &ChatPlace, _part: &OutboundPart) -> Reconciled {
        // Bots cannot read what they sent.
        Reconciled::Unresolved
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.health.subscribe()
    }
}

/// How a request to the webhook is refused; after anything but a success Telegram sends it again.
fn status_of(class: FailureClass) -> u16 {
    match class {
        FailureClass::Auth => 401,
        FailureClass::InvalidPayload => 400,
        FailureClass::Conflict => 409,
        _ => 503,
    }
}
