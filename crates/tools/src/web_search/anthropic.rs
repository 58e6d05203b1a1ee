//! Anthropic's own search: a model of theirs searches once, with the tool their servers run.

use reqwest::header::HeaderName;
use rooftree_protocol::Usage;
use serde_json::{Value, json};

use super::{
    WebSearchHit, WebSearchRequest,
    wire::{BackendRequest, add_excerpt, count, field, list},
};

/// The model has to say something about what it found, or nothing is quoted.
const TOKENS: u32 = 2_000;

pub(super) fn request(wish: &WebSearchRequest, model: &str, key: &str) -> BackendRequest {
    let mut tool = json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 1});
    // It takes one list or the other; the list of what is wanted says more.
    let (name, domains) = match wish.allowed.as_slice() {
        [] => ("blocked_domains", &wish.blocked),
        _ => ("allowed_domains", &wish.allowed),
    };
    if let (false, Some(tool)) = (domains.is_empty(), tool.as_object_mut()) {
        tool.insert(name.to_owned(), json!(domains));
    }
    let body = json!({
        "model": model,
        "max_tokens": TOKENS,
        "messages": [{"role": "user", "content": wish.as_request()}],
        "tools": [tool],
    });
    let headers = vec![
        (HeaderName::from_static("x-api-key"), key.to_owned()),
        (
            HeaderName::from_static("anthropic-version"),
            "2023-06-01".to_owned(),
        ),
    ];
    BackendRequest {
        path: "/v1/messages".to_owned(),
        headers,
        body: Some(body),
    }
}

/// The wire counts what the cache gave and took apart from the rest.
pub(super) fn usage(answer: &Value) -> Usage {
    let [fresh, cache_read, cache_write, output, searches] = [
        "/usage/input_tokens",
        "/usage/cache_read_input_tokens",
        "/usage/cache_creation_input_tokens",
        "/usage/output_tokens",
        "/usage/server_tool_use/web_search_requests",
    ]
    .map(|place| count(answer, place));
    let input = fresh + cache_read + cache_write;
    Usage {
        input,
        output,
        cache_read,
        cache_write,
        searches,
        ..Usage::default()
    }
}

pub(super) fn hits(answer: &Value) -> Option<Vec<WebSearchHit>> {
    let content = answer.get("content")?.as_array()?;
    let mut hits: Vec<WebSearchHit> = content
        .iter()
        .filter(|block| field(block, "type") == "web_search_tool_result")
        .flat_map(|block| list(block, "content"))
        .map(|result| WebSearchHit {
            title: field(result, "title"),
            url: field(result, "url"),
            date: field(result, "page_age"),
            ..WebSearchHit::default()
        })
        .collect();
    for citation in content.iter().flat_map(|block| list(block, "citations")) {
        add_excerpt(
            &mut hits,
            &field(citation, "url"),
            &field(citation, "cited_text"),
        );
    }
    Some(hits)
}
