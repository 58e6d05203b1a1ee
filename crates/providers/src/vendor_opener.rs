//! Opens the models of any vendor reached over HTTP: the one place that maps an API to its opener.

use std::sync::Arc;

use crate::{
    anthropic::{self, AnthropicOptions, KeyScheme},
    catalog::{KnownModels, ModelOpener},
    gemini::{self, GeminiOptions},
    http::{HttpClient, Secret},
    openai::{OpenAiEndpoint, chat, responses},
    vendors::VendorWire,
};

/// Where a vendor's API is, and with which key it is used.
#[derive(Clone, Debug)]
pub struct VendorAccess {
    /// The name before the slash.
    pub provider: String,
    /// Its API.
    pub wire: VendorWire,
    /// Its base URL.
    pub base_url: String,
    /// Its key, if there is one.
    pub key: Secret,
    /// The header that the key is sent in; Anthropic's has two.
    pub scheme: KeyScheme,
    /// The variable its key is usually in, if an OpenAI-compatible API cannot be used without one.
    pub required: Option<String>,
}

/// How the catalog opens the models of this vendor.
pub fn opener(access: VendorAccess, client: HttpClient, known: Arc<KnownModels>) -> ModelOpener {
    let VendorAccess {
        provider,
        wire,
        base_url,
        key,
        scheme,
        required,
    } = access;
    let endpoint = |key| OpenAiEndpoint {
        key,
        variable: required,
        ..OpenAiEndpoint::new(&provider, &base_url)
    };
    match wire {
        VendorWire::Responses => responses::opener(client, endpoint(key), known),
        VendorWire::Chat(dialect) => chat::opener(client, endpoint(key), dialect),
        VendorWire::Anthropic => anthropic::opener(AnthropicOptions {
            base_url,
            scheme,
            ..AnthropicOptions::new(client, key)
        }),
        VendorWire::Gemini => gemini::opener(GeminiOptions {
            base_url,
            ..GeminiOptions::new(client, key)
        }),
    }
}
