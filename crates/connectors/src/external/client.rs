//! Requests to an external connector: messages with `Idempotency-Key`, edits, files, health.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use reqwest::{Method, Url};
use serde_json::{Value, json};

use super::{
    LARGEST_FILE,
    registration::{ExternalRegistration, ExternalToken},
};
use crate::{
    ChatPlace, FailureClass, InboundFile, OutboundPart, PartBody, Receipt, Reconciled, SendError,
    address_guard::GuardedUrl,
    http::{self, HttpAnswer},
};

const REQUEST: Duration = Duration::from_secs(30);
const TRANSFER: Duration = Duration::from_secs(300);
const LONGEST_ANSWER: u64 = 64 << 10;

/// The HTTP side of an external connector.
#[derive(Debug)]
pub(super) struct ExternalClient {
    target: GuardedUrl,
    token: ExternalToken,
}

impl ExternalClient {
    pub(super) fn new(
        registration: &ExternalRegistration,
        token: ExternalToken,
    ) -> Result<Self, SendError> {
        let target = GuardedUrl::new(&registration.url, registration.private)?;
        Ok(Self { target, token })
    }

    pub(super) fn token(&self) -> &ExternalToken {
        &self.token
    }

    /// Sends a part; the same key again is taken once.
    pub(super) async fn post(
        &self,
        to: &ChatPlace,
        part: &OutboundPart,
        key: &str,
    ) -> Result<Receipt, SendError> {
        let body = body(to, part)?;
        let request = self.request(Method::POST, &["messages"])?;
        let request = request
            .header("idempotency-key", key)
            .json(&body)
            .timeout(TRANSFER);
        let answer = accepted(http::bounded(request, LONGEST_ANSWER).await?)?;
        receipt(&answer).ok_or_else(|| {
            SendError::new(
                FailureClass::Unknown,
                "the external connector did not name the message",
            )
        })
    }

    /// Calls a path with a body; what it answers is not needed.
    pub(super) async fn call(
        &self,
        method: Method,
        path: &[&str],
        body: &Value,
    ) -> Result<(), SendError> {
        let request = self.request(method, path)?.json(body).timeout(REQUEST);
        accepted(http::bounded(request, LONGEST_ANSWER).await?).map(|_| ())
    }

    pub(super) async fn health(&self) -> Result<(), SendError> {
        let request = self.request(Method::GET, &["health"])?.timeout(REQUEST);
        accepted(http::bounded(request, LONGEST_ANSWER).await?).map(|_| ())
    }

    /// Asks whether a delivery arrived.
    pub(super) async fn delivery(&self, key: &str) -> Reconciled {
        let asked = async {
            let request = self
                .request(Method::GET, &["deliveries", key])?
                .timeout(REQUEST);
            http::bounded(request, LONGEST_ANSWER).await
        };
        match asked.await {
            Ok(answer) if answer.status.is_success() => {
                receipt(&answer).map_or(Reconciled::Unresolved, Reconciled::Sent)
            }
            Ok(answer) if answer.status.as_u16() == 404 => Reconciled::NotSent,
            _ => Reconciled::Unresolved,
        }
    }

    /// Fetches a file by its URL: with the token only from the connector itself, else from the public network.
    pub(super) async fn fetch(&self, file: &InboundFile, limit: u64) -> Result<Vec<u8>, SendError> {
        let limit = limit.min(LARGEST_FILE);
        let own = Url::parse(&file.id)
            .ok()
            .filter(|url| url.origin() == self.target.url.origin());
        let request = match own {
            Some(url) => self.target.client.get(url).bearer_auth(self.token.expose()),
            None => {
                let public = GuardedUrl::public(&file.id)?;
                public.client.get(public.url)
            }
        };
        let answer = http::bounded(request.timeout(TRANSFER), limit).await?;
        if answer.status.is_success() {
            return Ok(answer.body);
        }
        Err(SendError::new(
            FailureClass::NotFound,
            "the file of the external connector is not there",
        ))
    }

    fn request(&self, method: Method, path: &[&str]) -> Result<reqwest::RequestBuilder, SendError> {
        let mut url = self.target.url.clone();
        match url.path_segments_mut() {
            Ok(mut segments) => segments.pop_if_empty().extend(path),
            Err(()) => {
                return Err(SendError::new(
                    FailureClass::InvalidPayload,
                    "the URL has no path",
                ));
            }
        };
        Ok(self
            .target
            .client
            .request(method, url)
            .bearer_auth(self.token.expose()))
    }
}

fn accepted(answer: HttpAnswer) -> Result<HttpAnswer, SendError> {
    if answer.status.is_success() {
        return Ok(answer);
    }
    // The contract asks it to take a key once, so a lost answer may be asked for again.
    Err(http::refusal(&answer, true))
}

fn receipt(answer: &HttpAnswer) -> Option<Receipt> {
    let body: Value = serde_json::from_slice(&answer.body).ok()?;
    let message = body.get("message")?.as_str()?;
    Some(Receipt {
        message: message.chars().take(256).collect(),
    })
}

/// The body of `POST /messages`, as docs/connector-contract.md has it.
pub(super) fn body(to: &ChatPlace, part: &OutboundPart) -> Result<Value, SendError> {
    let mut body = json!({"chat": to.chat, "thread": to.thread, "reply_to": to.reply_to,
        "buttons": part.buttons, "silent": part.silent});
    let (name, value) = match &part.body {
        PartBody::Text { text, .. } => ("text", json!(text)),
        PartBody::File(file) if file.bytes.len() as u64 > LARGEST_FILE => {
            let words =
                "the file is larger than 20 MB, which is the most an external connector is sent";
            return Err(SendError::new(FailureClass::InvalidPayload, words));
        }
        PartBody::File(file) => (
            "file",
            json!({"name": file.name, "media_type": file.media_type, "caption": file.caption,
                "base64": STANDARD.encode(&file.bytes)}),
        ),
    };
    if let Some(fields) = body.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
    Ok(body)
}
