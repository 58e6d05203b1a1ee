//! Brave Search: `GET /res/v1/web/search`, the key in a header of its own.

use reqwest::header::HeaderName;
use serde_json::Value;
use url::form_urlencoded::Serializer;

use super::{
    Hit, Wish, domains,
    wire::{Request, field},
};

pub(super) fn request(wish: &Wish, key: &str) -> Request {
    let query = Serializer::new(String::new())
        .append_pair("q", &domains::in_words(wish))
        .append_pair("count", &wish.count.to_string())
        .append_pair("text_decorations", "false")
        .finish();
    let header = HeaderName::from_static("x-subscription-token");
    Request {
        path: format!("/res/v1/web/search?{query}"),
        headers: vec![(header, key.to_owned())],
        body: None,
    }
}

/// Without any hit there is no `web` at all.
pub(super) fn hits(answer: &Value) -> Option<Vec<Hit>> {
    let Some(web) = answer.get("web") else {
        return answer.get("type").is_some().then(Vec::new);
    };
    let results = web.get("results")?.as_array()?;
    let hit = |result: &Value| Hit {
        title: field(result, "title"),
        url: field(result, "url"),
        excerpt: field(result, "description"),
        date: field(result, "age"),
        ..Hit::default()
    };
    Some(results.iter().map(hit).collect())
}
