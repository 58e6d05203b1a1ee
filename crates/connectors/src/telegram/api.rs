//! Requests to the Telegram Bot API. The token is part of URLs and of nothing else: no error, log or debug output has it.

use std::{fmt, time::Duration};

use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};

use super::{failure, upload::TelegramUpload};
use crate::{
    FailureClass, InboundFile, SendError,
    http::{self, HttpAnswer},
};

/// How long a request may take; uploads and downloads get more.
const REQUEST: Duration = Duration::from_secs(30);
const TRANSFER: Duration = Duration::from_secs(300);

/// The token of a bot.
struct BotToken(String);

impl fmt::Debug for BotToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("BotToken(redacted)")
    }
}

/// The Bot API of one bot.
#[derive(Debug)]
pub(super) struct TelegramApi {
    client: Client,
    base: String,
    token: BotToken,
}

impl TelegramApi {
    pub(super) fn new(token: &str, base: &str) -> Result<Self, SendError> {
        let token = token.trim();
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || ":_-".contains(letter);
        if token.is_empty() || !token.chars().all(is_letter) {
            let words = "the bot token is empty or has characters that no token has; copy it again from BotFather";
            return Err(SendError::new(FailureClass::Auth, words));
        }
        Ok(Self {
            client: http::client(base)?,
            base: base.trim_end_matches('/').to_owned(),
            token: BotToken(token.to_owned()),
        })
    }

    /// Calls a method; returns its result.
    pub(super) async fn call(&self, method: &str, body: &Value) -> Result<Value, SendError> {
        self.call_within(method, body, REQUEST).await
    }

    /// The same with another time limit.
    pub(super) async fn call_within(
        &self,
        method: &str,
        body: &Value,
        limit: Duration,
    ) -> Result<Value, SendError> {
        let request = self.post(method).json(body).timeout(limit);
        self.result(method, http::exchange(request).await?)
    }

    /// Sends a file.
    pub(super) async fn upload(&self, upload: TelegramUpload) -> Result<Value, SendError> {
        let request = self
            .post(upload.method)
            .header("content-type", upload.content_type)
            .body(upload.body)
            .timeout(TRANSFER);
        self.result(upload.method, http::exchange(request).await?)
    }

    /// The bytes of a file, at most `limit`.
    pub(super) async fn download(
        &self,
        file: &InboundFile,
        limit: u64,
    ) -> Result<Vec<u8>, SendError> {
        let too_large = || {
            let words = format!("the file is larger than {limit} bytes");
            SendError::new(FailureClass::InvalidPayload, words)
        };
        if file.size.is_some_and(|size| size > limit) {
            return Err(too_large());
        }
        let found = self.call("getFile", &json!({"file_id": file.id})).await?;
        let size = found.get("file_size").and_then(Value::as_u64);
        if size.is_some_and(|size| size > limit) {
            return Err(too_large());
        }
        let path = found.get("file_path").and_then(Value::as_str);
        let path = path.filter(|path| !path.contains("..")).ok_or_else(|| {
            SendError::new(FailureClass::NotFound, "Telegram no longer has the file")
        })?;
        let url = format!("{}/file/bot{}/{path}", self.base, self.token.0);
        let request = self.client.get(url).timeout(TRANSFER);
        let answer = http::bounded(request, limit).await?;
        if answer.status.is_success() {
            return Ok(answer.body);
        }
        let words = format!("Telegram gave status {} for the file", answer.status);
        Err(SendError::new(FailureClass::NotFound, words))
    }

    fn post(&self, method: &str) -> RequestBuilder {
        let url = format!("{}/bot{}/{method}", self.base, self.token.0);
        self.client.post(url)
    }

    fn result(&self, method: &str, answer: HttpAnswer) -> Result<Value, SendError> {
        let status = answer.status.as_u16();
        let Ok(mut body) = serde_json::from_slice::<Value>(&answer.body) else {
            let mut error = failure::without_json(method, status);
            error.retry_after = answer.retry_after;
            return Err(error);
        };
        if body.get("ok") == Some(&Value::Bool(true)) {
            return Ok(body.get_mut("result").map(Value::take).unwrap_or_default());
        }
        let mut error = failure::of(method, status, &body);
        error.retry_after = error.retry_after.or(answer.retry_after);
        error.message = error.message.replace(&self.token.0, "[redacted]");
        Err(error)
    }
}
