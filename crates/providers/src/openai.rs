//! OpenAI's two wires: Responses, and Chat Completions with all who imitate them.
//!
//! `openai/…` speaks Responses, `openai-chat/…` Chat Completions. Requests are stateless on both:
//! nothing is kept by the vendor, the whole conversation is sent, with the vendor's own thinking in it.

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

/// What OpenAI takes.
const BOUNDS: VendorLimits = VendorLimits {
    names: ToolNameRule::USUAL,
    bytes: 50_000_000,
};

/// Where OpenAI itself is.
pub const BASE_URL: &str = "https://api.openai.com/v1";

/// Where to ask and as whom.
#[derive(Clone, Debug)]
pub struct OpenAiEndpoint {
    /// What it is called before the slash; its thinking is replayed only to this name.
    pub provider: String,
    /// Where, with the version: `https://api.openai.com/v1`.
    pub base_url: String,
    /// The key.
    pub key: Secret,
    /// The variable its key is usually in; none if it needs no key.
    pub variable: Option<String>,
    /// Whatever else it wants to be told.
    pub headers: Vec<(String, String)>,
}

impl OpenAiEndpoint {
    /// An endpoint that needs no key and no headers of its own.
    pub fn new(provider: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self {
            provider: provider.into(),
            base_url: base_url.into(),
            key: Secret::none(),
            variable: None,
            headers: Vec::new(),
        }
    }

    /// The same with a key that is needed, and usually in this variable.
    pub fn keyed(mut self, key: Secret, variable: impl Into<String>) -> Self {
        (self.key, self.variable) = (key, Some(variable.into()));
        self
    }

    /// The same with one more header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The same for a choice of one of its models; refused without the key it needs.
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
