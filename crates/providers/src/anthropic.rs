//! Anthropic's Messages wire: `POST /v1/messages` with a stream of events.
//!
//! The way of a question: `encode` makes blocks of the conversation, `body` puts them behind
//! everything that does not change, `decode` reads the answer, `refuse` classes what is none.

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

/// Where the vendor serves it.
pub const BASE_URL: &str = "https://api.anthropic.com";

/// The version of the wire that is spoken here.
const VERSION: &str = "2023-06-01";

/// What the vendor takes.
const BOUNDS: VendorLimits = VendorLimits {
    names: ToolNameRule::USUAL,
    bytes: 32_000_000,
};

/// How to reach the wire.
#[derive(Clone, Debug)]
pub struct AnthropicOptions {
    /// The key.
    pub key: Secret,
    /// Which header it goes into.
    pub scheme: KeyScheme,
    /// Where it is served, with or without `/v1`.
    pub base_url: String,
    /// Connections and waits.
    pub client: HttpClient,
}

impl AnthropicOptions {
    /// The vendor's own place.
    pub fn new(client: HttpClient, key: Secret) -> Self {
        Self {
            key,
            scheme: KeyScheme::ApiKey,
            base_url: BASE_URL.to_owned(),
            client,
        }
    }
}

/// How a key is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyScheme {
    /// `x-api-key`.
    ApiKey,
    /// `authorization: Bearer`, for tokens and for most proxies.
    Bearer,
}

/// How the catalog finds models on this wire.
pub fn opener(options: AnthropicOptions) -> ModelOpener {
    Arc::new(move |choice| {
        // Whoever else speaks this wire may not want a key.
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

/// A model behind this wire.
struct AnthropicProvider {
    /// What the catalog calls the provider: marks whose thinking is whose.
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
