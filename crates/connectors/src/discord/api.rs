//! Requests to the Discord HTTP API: the bot's token, rate limits of routes (`X-RateLimit-*`), failure classes.

use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use reqwest::{Client, Method, RequestBuilder, Url, header::HeaderMap};
use serde_json::Value;
use tokio::time::Instant;

use crate::{FailureClass, InboundFile, OutboundFile, SendError, http, multipart::MultipartForm};

const REQUEST: Duration = Duration::from_secs(30);
const TRANSFER: Duration = Duration::from_secs(300);
const LONGEST_ANSWER: u64 = 16 << 20;
/// Where files of messages are.
const FILE_HOSTS: [&str; 2] = ["cdn.discordapp.com", "media.discordapp.net"];
/// No wait may be so long that the clock ends.
const LONGEST_WAIT: f64 = 86_400.0;

/// The API of one bot.
pub(super) struct DiscordApi {
    client: Client,
    base: String,
    token: String,
    limits: Mutex<RouteLimits>,
}

/// When routes may be used again.
#[derive(Debug, Default)]
struct RouteLimits {
    all: Option<Instant>,
    routes: HashMap<String, Instant>,
}

impl fmt::Debug for DiscordApi {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("DiscordApi")
    }
}

impl DiscordApi {
    pub(super) fn new(token: &str, base: &str) -> Result<Self, SendError> {
        let token = token.trim();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            let words = "the bot token is empty or has characters that no token has; copy it again from Discord";
            return Err(SendError::new(FailureClass::Auth, words));
        }
        Ok(Self {
            client: http::client(base)?,
            base: base.trim_end_matches('/').to_owned(),
            token: token.to_owned(),
            limits: Mutex::default(),
        })
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Calls a path; returns the JSON of the answer.
    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, SendError> {
        let route = route(&method, path);
        let mut request = self.request(method, path).timeout(REQUEST);
        if let Some(body) = body {
            request = request.json(body);
        }
        self.exchange(&route, request).await
    }

    /// Sends a message with a file.
    pub(super) async fn upload(
        &self,
        path: &str,
        body: &Value,
        file: &OutboundFile,
    ) -> Result<Value, SendError> {
        let form = MultipartForm::new(&[("payload_json", body.to_string())], "files[0]", file);
        let request = self.request(Method::POST, path);
        let request = request
            .header("content-type", form.content_type)
            .body(form.body)
            .timeout(TRANSFER);
        self.exchange(&route(&Method::POST, path), request).await
    }

    /// The bytes of a file, without the token: it is not needed there.
    pub(super) async fn download(
        &self,
        file: &InboundFile,
        limit: u64,
    ) -> Result<Vec<u8>, SendError> {
        let refuse = |words: &str| SendError::new(FailureClass::InvalidPayload, words);
        if file.size.is_some_and(|size| size > limit) {
            return Err(refuse("the file is larger than the limit"));
        }
        let url = Url::parse(&file.id).map_err(|_| refuse("the file has no URL"))?;
        let own = Url::parse(&self.base).map(|base| base.origin());
        let is_public = url.scheme() == "https"
            && url
                .host_str()
                .is_some_and(|host| FILE_HOSTS.contains(&host));
        if !is_public && own != Ok(url.origin()) {
            return Err(refuse("the file is not on a host of Discord"));
        }
        let answer = http::bounded(self.client.get(url).timeout(TRANSFER), limit).await?;
        if answer.status.is_success() {
            return Ok(answer.body);
        }
        Err(SendError::new(
            FailureClass::NotFound,
            "Discord no longer has the file",
        ))
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.base));
        request.header("authorization", format!("Bot {}", self.token))
    }

    async fn exchange(&self, route: &str, request: RequestBuilder) -> Result<Value, SendError> {
        let wait = self.limits().wait(route, Instant::now());
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        let (answer, headers) = http::with_headers(request, LONGEST_ANSWER).await?;
        self.limits().note(route, &headers, Instant::now());
        let status = answer.status.as_u16();
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        if answer.status.is_success() {
            return Ok(body);
        }
        let mut error = failure(status, &body);
        let seconds = body.get("retry_after").and_then(Value::as_f64);
        error.retry_after = seconds.map(duration).or(answer.retry_after);
        if let (429, Some(wait)) = (status, error.retry_after) {
            let is_global = body.get("global") == Some(&Value::Bool(true));
            self.limits().hold(route, is_global, Instant::now() + wait);
        }
        Err(error)
    }

    fn limits(&self) -> MutexGuard<'_, RouteLimits> {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RouteLimits {
    fn wait(&mut self, route: &str, now: Instant) -> Duration {
        self.routes.retain(|_, free| *free > now);
        let free = self.routes.get(route).copied().max(self.all);
        free.map_or(Duration::ZERO, |free| free.saturating_duration_since(now))
    }

    /// Notes that a route is used up, before Discord has to refuse.
    fn note(&mut self, route: &str, headers: &HeaderMap, now: Instant) {
        let value = |name: &str| {
            headers
                .get(name)
                .and_then(|value| value.to_str().ok()?.parse::<f64>().ok())
        };
        if let (Some(0.0), Some(seconds)) = (
            value("x-ratelimit-remaining"),
            value("x-ratelimit-reset-after"),
        ) {
            self.hold(route, false, now + duration(seconds));
        }
    }

    fn hold(&mut self, route: &str, is_global: bool, until: Instant) {
        if is_global {
            self.all = self.all.max(Some(until));
        } else {
            self.routes.insert(route.to_owned(), until);
        }
    }
}

fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.clamp(0.0, LONGEST_WAIT)).unwrap_or_default()
}

/// Routes share a limit by method and channel; ids of messages do not count.
fn route(method: &Method, path: &str) -> String {
    let parts: Vec<&str> = path.split(['/', '?']).take(4).collect();
    format!("{method} {}", parts.join("/"))
}

fn failure(status: u16, body: &Value) -> SendError {
    let code = body.get("code").and_then(Value::as_i64).unwrap_or_default();
    let class = match status {
        401 => FailureClass::Auth,
        403 => FailureClass::Permission,
        404 => FailureClass::NotFound,
        429 => FailureClass::RateLimit,
        503 => FailureClass::Transient,
        500.. => FailureClass::Unknown,
        _ => FailureClass::InvalidPayload,
    };
    let words = body
        .get("message")
        .and_then(Value::as_str)
        .unwrap_or("no description");
    let words: String = words.chars().take(200).collect();
    SendError::new(
        class,
        format!("Discord refused it ({status}, code {code}): {words}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_that_is_used_up_waits_and_a_global_limit_holds_all() {
        let mut limits = RouteLimits::default();
        let now = Instant::now();
        let mut headers = HeaderMap::new();
        headers.insert("x-ratelimit-remaining", "1".parse().unwrap());
        headers.insert("x-ratelimit-reset-after", "2.5".parse().unwrap());
        let (first, second) = (
            route(&Method::POST, "/channels/1/messages"),
            route(&Method::POST, "/channels/2/messages"),
        );
        limits.note(&first, &headers, now);
        assert_eq!(limits.wait(&first, now), Duration::ZERO);
        headers.insert("x-ratelimit-remaining", "0".parse().unwrap());
        limits.note(&first, &headers, now);
        assert_eq!(limits.wait(&first, now), Duration::from_millis(2_500));
        assert_eq!(limits.wait(&second, now), Duration::ZERO);
        limits.hold(&first, true, now + Duration::from_secs(9));
        assert_eq!(limits.wait(&second, now), Duration::from_secs(9));
    }

    #[test]
    fn messages_of_a_channel_are_one_route() {
        let patch =
            |message: &str| route(&Method::PATCH, &format!("/channels/1/messages/{message}"));
        assert_eq!(patch("2"), patch("3"));
    }
}
