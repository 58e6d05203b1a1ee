//! Google's own search: a Gemini model whose answer is grounded in what it found.

use reqwest::header::HeaderName;
use rooftree_protocol::Usage;
use serde_json::{Value, json};

use super::{
    WebSearchHit, WebSearchRequest, domains,
    wire::{BackendRequest, count, field, list},
};

pub(super) fn request(wish: &WebSearchRequest, model: &str, key: &str) -> BackendRequest {
    let asked = WebSearchRequest {
        query: domains::in_words(wish),
        ..wish.clone()
    }
    .as_request();
    let body = json!({"contents": [{"role": "user", "parts": [{"text": asked}]}], "tools": [{"google_search": {}}]});
    let headers = vec![(HeaderName::from_static("x-goog-api-key"), key.to_owned())];
    BackendRequest {
        path: format!("/v1beta/models/{model}:generateContent"),
        headers,
        body: Some(body),
    }
}

pub(super) fn usage(answer: &Value) -> Usage {
    let [asked, found, cache_read, said, reasoning] = [
        "/usageMetadata/promptTokenCount",
        "/usageMetadata/toolUsePromptTokenCount",
        "/usageMetadata/cachedContentTokenCount",
        "/usageMetadata/candidatesTokenCount",
        "/usageMetadata/thoughtsTokenCount",
    ]
    .map(|place| count(answer, place));
    let grounding =
        list(answer, "candidates").filter_map(|candidate| candidate.get("groundingMetadata"));
    let searches = grounding
        .flat_map(|grounding| list(grounding, "webSearchQueries"))
        .count() as u64;
    let (input, output) = (asked + found, said + reasoning);
    Usage {
        input,
        output,
        cache_read,
        reasoning,
        searches,
        ..Usage::default()
    }
}

/// Its URLs lead to Google, which redirects; the title is the host they end up at.
pub(super) fn hits(answer: &Value) -> Option<Vec<WebSearchHit>> {
    let grounding = list(answer, "candidates").next()?.get("groundingMetadata");
    let Some(grounding) = grounding else {
        return Some(Vec::new());
    };
    let mut hits: Vec<WebSearchHit> = list(grounding, "groundingChunks")
        .filter_map(|chunk| chunk.get("web"))
        .map(|web| WebSearchHit {
            title: field(web, "title"),
            url: field(web, "uri"),
            host: domains::host(&format!("https://{}/", field(web, "title"))),
            ..WebSearchHit::default()
        })
        .collect();
    for support in list(grounding, "groundingSupports") {
        let text = support
            .get("segment")
            .map(|segment| field(segment, "text"))
            .unwrap_or_default();
        let indices = list(support, "groundingChunkIndices").filter_map(Value::as_u64);
        for index in indices.filter_map(|index| usize::try_from(index).ok()) {
            if let Some(hit) = hits.get_mut(index) {
                hit.quote(&text);
            }
        }
    }
    Some(hits)
}
