//! Anthropic's Messages API: `POST /v1/messages` with a stream of events.
//!
//! `messages` encodes the conversation, `request` puts it behind everything that does not change,
//! `stream` decodes the answer, `errors` classifies failures.

mod errors;
mod events;
mod messages;
mod request;
mod stream;
mod thinking;

use std::sync::Arc;

use crate::{
    Error, Model, ModelRequest, Provider, ReplyStream,
    catalog::ModelOpener,
    http::{self, HttpClient, HttpPost, Secret, event_stream},
    tool_names::ToolNameRule,
    vendor_limits::VendorLimits,
};

/// The vendor's base URL.
pub const BASE_URL: &str = "https://api.anthropic.com";

/// The API version sent with each request.
const VERSION: &str = "2023-06-01";

/// The vendor's limits.
const BOUNDS: VendorLimits = VendorLimits {
    names: ToolNameRule::USUAL,
    bytes: 32_000_000,
};

/// Connection options of this API.
#[derive(Clone, Debug)]
pub struct AnthropicOptions {
    /// The API key.
    pub key: Secret,
    /// The header that carries it.
    pub scheme: KeyScheme,
    /// Base URL, with or without `/v1`.
    pub base_url: String,
    /// HTTP client with its timeouts.
    pub client: HttpClient,
}

impl AnthropicOptions {
    /// Options for the vendor's own server.
    pub fn new(client: HttpClient, key: Secret) -> Self {
        Self {
            key,
            scheme: KeyScheme::ApiKey,
            base_url: BASE_URL.to_owned(),
            client,
        }
    }
}

/// The header scheme of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyScheme {
    /// `x-api-key`.
    ApiKey,
    /// `authorization: Bearer`, for tokens and for most proxies.
    Bearer,
}

/// Opener for models of this API.
pub fn opener(options: AnthropicOptions) -> ModelOpener {
    Arc::new(move |choice| {
        // A compatible server at another base URL may not need a key.
        if options.key.reveal().is_none() && options.base_url == BASE_URL {
            return Err(http::missing_key(&choice.provider, "ANTHROPIC_API_KEY"));
        }
        let provider = Arc::new(AnthropicProvider {
            name: choice.provider.as_str().into(),
            options: options.clone(),
        });
        Ok(Model::new(choice, provider))
    })
}

/// Provider for one model of this API.
struct AnthropicProvider {
    /// The provider's name in the catalog: tells which provider wrote which thinking.
    name: Arc<str>,
    options: AnthropicOptions,
}

impl Provider for AnthropicProvider {
    fn stream(&self, request: ModelRequest) -> ReplyStream {
        let AnthropicOptions {
            key,
            scheme,
            base_url,
            client,
        } = &self.options;
        let key = key.reveal();
        if key.is_none() && base_url == BASE_URL {
            return event_stream::failed(Error::Unauthorized("there is no key any more".into()));
        }
        let post =
            HttpPost::to(http::join(base_url, "/v1/messages")).header("anthropic-version", VERSION);
        let post = match (key, scheme) {
            (None, _) => post,
            (Some(key), KeyScheme::ApiKey) => post.secret("x-api-key", key),
            (Some(key), KeyScheme::Bearer) => post.secret("authorization", format!("Bearer {key}")),
        };
        let spell = |request: &ModelRequest| request::encode_request(request, &self.name);
        BOUNDS.send_within_limits(request, spell, |(body, dropped)| {
            let answer = stream::AnthropicStream::new(self.name.clone(), dropped);
            event_stream::stream(client.clone(), post.body(body), answer)
        })
    }
}
