//! Google's Gemini API: `POST /v1beta/models/MODEL:streamGenerateContent?alt=sse`.
//!
//! The version is `v1beta`, where all of the API is served, unless the base URL names another one.
//!
//! The vendor signs parts of any kind, and requires the signatures back where they were. A signed
//! thought keeps its signature itself; any other signed part is preceded by an opaque item with
//! nothing but the signature (`signature.rs`).

mod errors;
mod events;
mod generation;
mod messages;
mod request;
mod signature;
mod stream;

use std::sync::Arc;

use crate::{
    Error, Model, ModelRequest, Provider, ReplyStream,
    catalog::ModelOpener,
    http::{HttpClient, HttpPost, Secret, event_stream, missing_key},
    tool_names::ToolNameRule,
    vendor_limits::VendorLimits,
};

/// The vendor's base URL.
pub const BASE_URL: &str = "https://generativelanguage.googleapis.com";

/// API version if the base URL names none.
const VERSION: &str = "v1beta";

/// The vendor's limits.
const BOUNDS: VendorLimits = VendorLimits {
    names: ToolNameRule {
        begins_with_any: false,
        ..ToolNameRule::USUAL
    },
    bytes: 20_000_000,
};

/// Connection options of this API.
#[derive(Clone, Debug)]
pub struct GeminiOptions {
    /// The API key.
    pub key: Secret,
    /// Base URL, with or without a version such as `/v1beta`.
    pub base_url: String,
    /// HTTP client with its timeouts.
    pub client: HttpClient,
}

impl GeminiOptions {
    /// Options for the vendor's own server.
    pub fn new(client: HttpClient, key: Secret) -> Self {
        Self {
            key,
            base_url: BASE_URL.to_owned(),
            client,
        }
    }
}

/// Opener for models of this API.
pub fn opener(options: GeminiOptions) -> ModelOpener {
    Arc::new(move |choice| {
        // A compatible server at another base URL may not need a key.
        if options.key.reveal().is_none() && options.base_url == BASE_URL {
            return Err(missing_key(&choice.provider, "GEMINI_API_KEY"));
        }
        let provider = Arc::new(GeminiProvider {
            name: choice.provider.as_str().into(),
            options: options.clone(),
        });
        Ok(Model::new(choice, provider))
    })
}

/// Provider for one model of this API.
struct GeminiProvider {
    /// The provider's name in the catalog: tells which provider wrote which thinking.
    name: Arc<str>,
    options: GeminiOptions,
}

impl Provider for GeminiProvider {
    fn stream(&self, request: ModelRequest) -> ReplyStream {
        let GeminiOptions {
            key,
            base_url,
            client,
        } = &self.options;
        let key = key.reveal();
        if key.is_none() && base_url == BASE_URL {
            return event_stream::failed(Error::Unauthorized("there is no key any more".into()));
        }
        let post = HttpPost::to(url(base_url, &request.model));
        let post = match key {
            // In a header, not in the query: URLs end up in logs.
            Some(key) => post.secret("x-goog-api-key", key),
            None => post,
        };
        let spell = |request: &ModelRequest| request::encode_request(request, &self.name);
        BOUNDS.send_within_limits(request, spell, |(body, dropped)| {
            let answer = stream::GeminiStream::new(self.name.clone(), dropped);
            event_stream::stream(client.clone(), post.body(body), answer)
        })
    }
}

/// The URL of a model. A name with a slash includes its resource kind.
fn url(base_url: &str, model: &str) -> String {
    let plain: String = model
        .chars()
        .map(|letter| match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' | '/' => letter,
            _ => '-',
        })
        .collect();
    let kind = if plain.contains('/') { "" } else { "models/" };
    let base = base_url.trim().trim_end_matches('/');
    let base = match base.rsplit('/').next().is_some_and(is_version) {
        true => base.to_owned(),
        false => format!("{base}/{VERSION}"),
    };
    format!("{base}/{kind}{plain}:streamGenerateContent?alt=sse")
}

/// Whether the last part of a base URL is a version: `v1`, `v1beta`, `v1alpha`.
fn is_version(segment: &str) -> bool {
    let behind = segment
        .strip_prefix('v')
        .map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    behind
        .is_some_and(|rest| rest.len() + 1 < segment.len() && ["", "alpha", "beta"].contains(&rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_name_cannot_leave_its_path() {
        let end = ":streamGenerateContent?alt=sse";
        for (model, place) in [
            ("gemini-3-pro", "models/gemini-3-pro"),
            ("tunedModels/mine", "tunedModels/mine"),
            ("a?b#c", "models/a-b-c"),
        ] {
            assert_eq!(
                url("https://a.test", model),
                format!("https://a.test/v1beta/{place}{end}")
            );
        }
    }

    #[test]
    fn the_base_url_may_name_the_version() {
        for (base, place) in [
            ("https://a.test", "https://a.test/v1beta"),
            (" https://a.test/ ", "https://a.test/v1beta"),
            ("https://a.test/v1", "https://a.test/v1"),
            ("https://a.test/v1beta/", "https://a.test/v1beta"),
            ("https://a.test/v1alpha", "https://a.test/v1alpha"),
            ("https://a.test/v", "https://a.test/v/v1beta"),
            ("https://a.test/video", "https://a.test/video/v1beta"),
        ] {
            assert!(
                url(base, "m").starts_with(&format!("{place}/models/m:")),
                "{base}: {}",
                url(base, "m")
            );
        }
    }
}
