//! Tavily: `POST /search`, the key as a bearer token.

use reqwest::header::AUTHORIZATION;
use serde_json::{Value, json};

use super::{
    WebSearchHit, WebSearchRequest,
    wire::{BackendRequest, field},
};

pub(super) fn request(wish: &WebSearchRequest, key: &str) -> BackendRequest {
    let mut body = json!({"query": wish.query, "max_results": wish.count});
    for (name, domains) in [
        ("include_domains", &wish.allowed),
        ("exclude_domains", &wish.blocked),
    ] {
        if let (false, Some(body)) = (domains.is_empty(), body.as_object_mut()) {
            body.insert(name.to_owned(), json!(domains));
        }
    }
    BackendRequest {
        path: "/search".to_owned(),
        headers: vec![(AUTHORIZATION, format!("Bearer {key}"))],
        body: Some(body),
    }
}

pub(super) fn hits(answer: &Value) -> Option<Vec<WebSearchHit>> {
    let results = answer.get("results")?.as_array()?;
    let hit = |result: &Value| WebSearchHit {
        title: field(result, "title"),
        url: field(result, "url"),
        excerpt: field(result, "content"),
        date: field(result, "published_date"),
        ..WebSearchHit::default()
    };
    Some(results.iter().map(hit).collect())
}
