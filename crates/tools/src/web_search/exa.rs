//! Exa: `POST /search`, the key in a header of its own; what it quotes are highlights.

use reqwest::header::HeaderName;
use serde_json::{Value, json};

use super::{
    Hit, Wish,
    wire::{Request, field},
};

pub(super) fn request(wish: &Wish, key: &str) -> Request {
    let mut body = json!({"query": wish.query, "numResults": wish.count, "contents": {"highlights": true}});
    for (name, domains) in [("includeDomains", &wish.allowed), ("excludeDomains", &wish.blocked)] {
        if let (false, Some(body)) = (domains.is_empty(), body.as_object_mut()) {
            body.insert(name.to_owned(), json!(domains));
        }
    }
    let header = HeaderName::from_static("x-api-key");
    Request { path: "/search".to_owned(), headers: vec![(header, key.to_owned())], body: Some(body) }
}

pub(super) fn hits(answer: &Value) -> Option<Vec<Hit>> {
    let results = answer.get("results")?.as_array()?;
    let hit = |result: &Value| {
        let highlights = result.get("highlights").and_then(Value::as_array).into_iter().flatten();
        let highlights: Vec<&str> = highlights.filter_map(Value::as_str).collect();
        let excerpt = if highlights.is_empty() { field(result, "text") } else { highlights.join(" … ") };
        Hit {
            title: field(result, "title"),
            url: field(result, "url"),
            excerpt,
            date: field(result, "publishedDate"),
            ..Hit::default()
        }
    };
    Some(results.iter().map(hit).collect())
}
