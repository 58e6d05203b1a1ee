//! Google's Gemini wire: `POST /v1beta/models/MODEL:streamGenerateContent?alt=sse`.
//!
//! The vendor signs parts of any kind, and wants the signatures back where they were. A signed
//! thought keeps its signature itself; before any other signed part stands an opaque item with
//! nothing but the signature (`signature.rs`).

mod body;
mod decode;
mod encode;
mod events;
mod generation;
mod refuse;
mod signature;

use std::sync::Arc;

use crate::{
    Error, Model, Provider, ReplyStream, Request,
    catalog::Opener,
    http::{self, Client, Post, Secret, exchange},
};

/// Where the vendor serves it.
pub const BASE_URL: &str = "https://generativelanguage.googleapis.com";

/// How to reach the wire.
#[derive(Clone, Debug)]
pub struct Options {
    /// The key.
    pub key: Secret,
    /// Where it is served, with or without `/v1beta`.
    pub base_url: String,
    /// Connections and waits.
    pub client: Client,
}

impl Options {
    /// The vendor's own place.
    pub fn new(client: Client, key: Secret) -> Self {
        Self { key, base_url: BASE_URL.to_owned(), client }
    }
}

/// How the catalog finds models on this wire.
pub fn opener(options: Options) -> Opener {
    Arc::new(move |choice| {
        if options.key.reveal().is_none() {
            return Err(http::missing_key(&choice.provider, "GEMINI_API_KEY"));
        }
        let provider = Arc::new(Gemini { name: choice.provider.as_str().into(), options: options.clone() });
        Ok(Model::new(choice, provider))
    })
}

/// A model behind this wire.
struct Gemini {
    /// What the catalog calls the provider: marks whose thinking is whose.
    name: Arc<str>,
    options: Options,
}

impl Provider for Gemini {
    fn stream(&self, request: Request) -> ReplyStream {
        let Options { key, base_url, client } = &self.options;
        let Some(key) = key.reveal() else {
            return exchange::failed(Error::Unauthorized("there is no key any more".into()));
        };
        let (body, dropped) = match body::spell(&request, &self.name) {
            Ok(spelled) => spelled,
            Err(error) => return exchange::failed(error),
        };
        // In a header, not in the query: URLs end up in logs.
        let post =
            Post::json(http::join(base_url, &path(&request.model)), body).secret("x-goog-api-key", key);
        exchange::stream(client.clone(), post, decode::Answer::new(self.name.clone(), dropped))
    }
}

/// Where a model answers. A name with a slash says itself what kind of model it is.
fn path(model: &str) -> String {
    let plain: String = model
        .chars()
        .map(|letter| match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' | '/' => letter,
            _ => '-',
        })
        .collect();
    let kind = if plain.contains('/') { "" } else { "models/" };
    format!("/v1beta/{kind}{plain}:streamGenerateContent?alt=sse")
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
            assert_eq!(path(model), format!("/v1beta/{place}{end}"));
        }
    }
}
