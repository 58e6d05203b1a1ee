//! Brave Search: `GET /res/v1/web/search`, the key in a header of its own.

use reqwest::header::HeaderName;
use serde_json::Value;
use url::form_urlencoded::Serializer;

use super::{
    WebSearchHit, WebSearchRequest, domains,
    wire::{BackendRequest, field},
};

pub(super) fn request(wish: &WebSearchRequest, key: &str) -> BackendRequest {
    let query = Serializer::new(String::new())
        .append_pair("q", &domains::in_words(wish))
        .append_pair("count", &wish.count.to_string())
        .append_pair("text_decorations", "false")
        .finish();
    let header = HeaderName::from_static("x-subscription-token");
    BackendRequest {
        path: format!("/res/v1/web/search?{query}"),
        headers: vec![(header, key.to_owned())],
        body: None,
    }
}

/// Without any hit there is no `web` at all.
pub(super) fn hits(answer: &Value) -> Option<Vec<WebSearchHit>> {
    let Some(web) = answer.get("web") else {
        return answer.get("type").is_some().then(Vec::new);
    };
    let results = web.get("results")?.as_array()?;
    let hit = |result: &Value| WebSearchHit {
        title: field(result, "title"),
        url: field(result, "url"),
        excerpt: field(result, "description"),
        date: field(result, "age"),
        ..WebSearchHit::default()
    };
    Some(results.iter().map(hit).collect())
}
