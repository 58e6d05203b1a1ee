//! Exa: `POST /search`, the key in a header of its own; what it quotes are highlights.

use reqwest::header::HeaderName;
use serde_json::{Value, json};

use super::{
    WebSearchHit, WebSearchRequest,
    wire::{BackendRequest, field},
};

pub(super) fn request(wish: &WebSearchRequest, key: &str) -> BackendRequest {
    let mut body =
        json!({"query": wish.query, "numResults": wish.count, "contents": {"highlights": true}});
    for (name, domains) in [
        ("includeDomains", &wish.allowed),
        ("excludeDomains", &wish.blocked),
    ] {
        if let (false, Some(body)) = (domains.is_empty(), body.as_object_mut()) {
            body.insert(name.to_owned(), json!(domains));
        }
    }
    let header = HeaderName::from_static("x-api-key");
    BackendRequest {
        path: "/search".to_owned(),
        headers: vec![(header, key.to_owned())],
        body: Some(body),
    }
}

pub(super) fn hits(answer: &Value) -> Option<Vec<WebSearchHit>> {
    let results = answer.get("results")?.as_array()?;
    let hit = |result: &Value| {
        let highlights = result
            .get("highlights")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let highlights: Vec<&str> = highlights.filter_map(Value::as_str).collect();
        let excerpt = if highlights.is_empty() {
            field(result, "text")
        } else {
            highlights.join(" … ")
        };
        WebSearchHit {
            title: field(result, "title"),
            url: field(result, "url"),
            excerpt,
            date: field(result, "publishedDate"),
            ..WebSearchHit::default()
        }
    };
    Some(results.iter().map(hit).collect())
}
