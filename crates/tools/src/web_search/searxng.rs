//! SearXNG: `GET /search?format=json`, no key.

use serde_json::Value;
use url::form_urlencoded::Serializer;

use super::{
    WebSearchHit, WebSearchRequest, domains,
    wire::{BackendRequest, field},
};

pub(super) fn request(wish: &WebSearchRequest) -> BackendRequest {
    let query = Serializer::new(String::new())
        .append_pair("q", &domains::in_words(wish))
        .append_pair("format", "json")
        .finish();
    BackendRequest {
        path: format!("/search?{query}"),
        headers: Vec::new(),
        body: None,
    }
}

pub(super) fn hits(answer: &Value) -> Option<Vec<WebSearchHit>> {
    let results = answer.get("results")?.as_array()?;
    let hit = |result: &Value| WebSearchHit {
        title: field(result, "title"),
        url: field(result, "url"),
        excerpt: field(result, "content"),
        date: field(result, "publishedDate"),
        ..WebSearchHit::default()
    };
    Some(results.iter().map(hit).collect())
}
