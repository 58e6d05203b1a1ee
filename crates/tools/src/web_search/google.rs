//! Google's own search: a Gemini model whose answer is grounded in what it found.

use reqwest::header::HeaderName;
use serde_json::{Value, json};

use super::{
    Hit, Wish, domains,
    wire::{Request, field, list},
};

pub(super) fn request(wish: &Wish, model: &str, key: &str) -> Request {
    let asked = Wish { query: domains::in_words(wish), ..wish.clone() }.as_request();
    let body =
        json!({"contents": [{"role": "user", "parts": [{"text": asked}]}], "tools": [{"google_search": {}}]});
    let headers = vec![(HeaderName::from_static("x-goog-api-key"), key.to_owned())];
    Request { path: format!("/v1beta/models/{model}:generateContent"), headers, body: Some(body) }
}

/// Its URLs lead to Google, which redirects; the title is the host they end up at.
pub(super) fn hits(answer: &Value) -> Option<Vec<Hit>> {
    let grounding = list(answer, "candidates").next()?.get("groundingMetadata");
    let Some(grounding) = grounding else { return Some(Vec::new()) };
    let mut hits: Vec<Hit> = list(grounding, "groundingChunks")
        .filter_map(|chunk| chunk.get("web"))
        .map(|web| Hit {
            title: field(web, "title"),
            url: field(web, "uri"),
            host: domains::host(&format!("https://{}/", field(web, "title"))),
            ..Hit::default()
        })
        .collect();
    for support in list(grounding, "groundingSupports") {
        let text = support.get("segment").map(|segment| field(segment, "text")).unwrap_or_default();
        let indices = list(support, "groundingChunkIndices").filter_map(Value::as_u64);
        for index in indices.filter_map(|index| usize::try_from(index).ok()) {
            if let Some(hit) = hits.get_mut(index) {
                hit.quote(&text);
            }
        }
    }
    Some(hits)
}
