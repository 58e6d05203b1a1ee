//! Sends messages to a webhook: signed JSON with a delivery id, and the failure class of its answer.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::options::WebhookOutbound;
use crate::{
    ChatPlace, FailureClass, OutboundPart, PartBody, Receipt, SendError,
    address_guard::GuardedUrl,
    http::{self, HttpAnswer},
    signature::sign_body,
};

const REQUEST: Duration = Duration::from_secs(30);
/// The largest file that is sent inside a request.
pub(super) const LARGEST_FILE: u64 = 10 << 20;
/// The longest answer that is read.
const LONGEST_ANSWER: u64 = 64 << 10;

/// The receiver of messages.
#[derive(Clone, Debug)]
pub(super) struct WebhookTarget {
    target: GuardedUrl,
    pub(super) options: WebhookOutbound,
}

impl WebhookTarget {
    pub(super) fn new(options: WebhookOutbound) -> Result<Self, SendError> {
        let target = GuardedUrl::new(&options.url, options.private)?;
        Ok(Self { target, options })
    }

    /// Sends a part under an id that is the same when it is sent again.
    pub(super) async fn post(
        &self,
        to: &ChatPlace,
        part: &OutboundPart,
        id: &str,
    ) -> Result<Receipt, SendError> {
        let body = body(to, part, id)?.to_string();
        let time = seconds();
        let signature = sign_body(self.options.secret.expose(), time, body.as_bytes());
        let request = self.target.client.post(self.target.url.clone());
        let request = request
            .header("content-type", "application/json")
            .header("x-rooftree-delivery", id)
            .header("x-rooftree-signature", format!("t={time},{signature}"))
            .body(body)
            .timeout(REQUEST);
        let answer = http::bounded(request, LONGEST_ANSWER).await?;
        if answer.status.is_success() {
            return Ok(receipt(&answer, id));
        }
        Err(http::refusal(&answer, self.options.is_deduplicating))
    }
}

fn body(to: &ChatPlace, part: &OutboundPart, id: &str) -> Result<Value, SendError> {
    let mut body =
        json!({"id": id, "chat": to.chat, "buttons": part.buttons, "silent": part.silent});
    let mut set = |name: &str, value: Value| {
        if let Some(fields) = body.as_object_mut() {
            fields.insert(name.to_owned(), value);
        }
    };
    if let Some(thread) = &to.thread {
        set("thread", json!(thread));
    }
    if let Some(message) = &to.reply_to {
        set("reply_to", json!(message));
    }
    match &part.body {
        PartBody::Text { text, .. } => set("text", json!(text)),
        PartBody::File(file) if file.bytes.len() as u64 > LARGEST_FILE => {
            let words = "the file is larger than 10 MB, which is the most a webhook is sent";
            return Err(SendError::new(FailureClass::InvalidPayload, words));
        }
        PartBody::File(file) => set(
            "file",
            json!({"name": file.name, "media_type": file.media_type, "caption": file.caption,
                "base64": STANDARD.encode(&file.bytes)}),
        ),
    }
    Ok(body)
}

/// The receiver may name the message; else the delivery id does.
fn receipt(answer: &HttpAnswer, id: &str) -> Receipt {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let message = body.get("message").and_then(Value::as_str);
    Receipt {
        message: message.unwrap_or(id).chars().take(256).collect(),
    }
}

fn seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_secs()).unwrap_or_default()
    })
}
