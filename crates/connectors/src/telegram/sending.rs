//! Sends and edits Telegram messages within the rate limits, with two second attempts that cannot double a message: as
//! plain text after a refusal of the content (400), and in the new chat after a group became a supergroup.

use std::{
    sync::{MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::Value;
use tokio::time::Instant;

use super::{
    TelegramConnector,
    outgoing::{self, Formatting},
    send_pacer::{PacedRequest, SendPacer},
    upload,
};
use crate::{ChatPlace, FailureClass, OutboundPart, PartBody, Receipt, SendError};

impl TelegramConnector {
    /// Sends a part; a refused attempt was surely not carried out, so each second attempt is safe.
    pub(super) async fn deliver(
        &self,
        to: &ChatPlace,
        part: &OutboundPart,
    ) -> Result<Receipt, SendError> {
        let mut to = to.clone();
        let mut result = self.deliver_once(&to, part, Formatting::Kept).await;
        if let Some(chat) = result
            .as_ref()
            .err()
            .and_then(|error| error.moved_to.clone())
        {
            to.chat = chat;
            // The message replied to stayed behind.
            to.reply_to = None;
            result = self.deliver_once(&to, part, Formatting::Kept).await;
        }
        match result {
            Err(error) if is_refused_formatting(&error, part) => {
                self.deliver_once(&to, part, Formatting::Dropped).await
            }
            result => result,
        }
    }

    async fn deliver_once(
        &self,
        to: &ChatPlace,
        part: &OutboundPart,
        formatting: Formatting,
    ) -> Result<Receipt, SendError> {
        let answer = match &part.body {
            PartBody::Text { .. } => {
                let body = outgoing::message(to, part, formatting)?;
                self.pace(&to.chat, PacedRequest::Message).await;
                self.api.call("sendMessage", &body).await
            }
            PartBody::File(file) => {
                let upload = upload::multipart(to, part, file, formatting)?;
                self.pace(&to.chat, PacedRequest::Message).await;
                self.api.upload(upload).await
            }
        };
        let answer = self.note_flood(&to.chat, answer)?;
        let id = answer.get("message_id").and_then(Value::as_i64);
        id.map(|id| Receipt {
            message: id.to_string(),
        })
        .ok_or_else(|| SendError::new(FailureClass::Unknown, "the answer names no message"))
    }

    /// Replaces a message; one that is so already is no failure.
    pub(super) async fn replace(
        &self,
        to: &ChatPlace,
        message: &str,
        part: &OutboundPart,
    ) -> Result<(), SendError> {
        let body = outgoing::edit(to, message, part, Formatting::Kept)?;
        match self.replace_once(to, &body).await {
            Err(error) if is_refused_formatting(&error, part) => {
                let body = outgoing::edit(to, message, part, Formatting::Dropped)?;
                self.replace_once(to, &body).await
            }
            result => result,
        }
    }

    async fn replace_once(&self, to: &ChatPlace, body: &Value) -> Result<(), SendError> {
        self.pace(&to.chat, PacedRequest::Edit).await;
        let answer = self.api.call("editMessageText", body).await;
        match self.note_flood(&to.chat, answer) {
            Err(error) if error.message.contains("message is not modified") => Ok(()),
            result => result.map(|_| ()),
        }
    }

    async fn pace(&self, chat: &str, request: PacedRequest) {
        if !self.options.is_paced {
            return;
        }
        let wait = self.pacer().wait_for_chat(chat, request, Instant::now());
        sleep(wait).await;
        let wait = self.pacer().wait_for_all(Instant::now());
        sleep(wait).await;
    }

    /// Keeps quiet in a chat where Telegram asked for it.
    fn note_flood(&self, chat: &str, answer: Result<Value, SendError>) -> Result<Value, SendError> {
        if let Err(SendError {
            retry_after: Some(wait),
            ..
        }) = &answer
        {
            // No wait may be so long that the clock ends.
            let wait = (*wait).min(Duration::from_secs(24 * 3_600));
            self.pacer().hold(chat, Instant::now() + wait);
        }
        answer
    }

    fn pacer(&self) -> MutexGuard<'_, SendPacer> {
        self.pacer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn sleep(wait: Duration) {
    if !wait.is_zero() {
        tokio::time::sleep(wait).await;
    }
}

/// Whether plain text may be taken where formatted text was refused.
fn is_refused_formatting(error: &SendError, part: &OutboundPart) -> bool {
    let has_formatting = match &part.body {
        PartBody::Text { format, .. } => !format.is_empty(),
        PartBody::File(file) => !rooftree_markdown::to_entities(&file.caption)
            .entities
            .is_empty(),
    };
    has_formatting && error.class == FailureClass::InvalidPayload
}
