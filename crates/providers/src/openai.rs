//! OpenAI's two APIs: Responses, and Chat Completions with all compatible vendors.
//!
//! `openai/…` uses Responses, `openai-chat/…` Chat Completions. Requests are stateless on both:
//! the vendor stores nothing, the whole conversation is sent, including the vendor's own thinking.

pub mod chat;
mod errors;
mod request;
pub mod responses;

use rooftree_protocol::{ModelChoice, Problem};

use crate::{
    http::{HttpPost, Secret, missing_key},
    tool_names::ToolNameRule,
    vendor_limits::VendorLimits,
};

pub use chat::{ChatDialect, ChatProvider};
pub use responses::ResponsesProvider;

/// OpenAI's limits.
const BOUNDS: VendorLimits = VendorLimits {
    names: ToolNameRule::USUAL,
    bytes: 50_000_000,
};

/// OpenAI's own base URL.
pub const BASE_URL: &str = "https://api.openai.com/v1";

/// An endpoint: base URL, key and headers.
#[derive(Clone, Debug)]
pub struct OpenAiEndpoint {
    /// The provider's name before the slash; its thinking is replayed only to this name.
    pub provider: String,
    /// Base URL with the version: `https://api.openai.com/v1`.
    pub base_url: String,
    /// The API key.
    pub key: Secret,
    /// The environment variable its key is usually in; none if it needs no key.
    pub variable: Option<String>,
    /// Additional headers.
    pub headers: Vec<(String, String)>,
}

impl OpenAiEndpoint {
    /// An endpoint that needs no key and no additional headers.
    pub fn new(provider: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self {
            provider: provider.into(),
            base_url: base_url.into(),
            key: Secret::none(),
            variable: None,
            headers: Vec::new(),
        }
    }

    /// Sets a required key, and the variable it is usually in.
    pub fn keyed(mut self, key: Secret, variable: impl Into<String>) -> Self {
        (self.key, self.variable) = (key, Some(variable.into()));
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The endpoint for a chosen model; an error if its required key is missing.
    fn serving(&self, choice: &ModelChoice) -> Result<Self, Problem> {
        match &self.variable {
            Some(variable) if self.key.reveal().is_none() => {
                Err(missing_key(&choice.provider, variable))
            }
            _ => Ok(Self {
                provider: choice.provider.clone(),
                ..self.clone()
            }),
        }
    }

    fn sign(&self, mut post: HttpPost) -> HttpPost {
        for (name, value) in &self.headers {
            post = post.header(name, value);
        }
        match self.key.reveal() {
            Some(key) => post.secret("authorization", format!("Bearer {key}")),
            None => post,
        }
    }
}
