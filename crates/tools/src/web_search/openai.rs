//! OpenAI's own search: a model of theirs searches, with the tool their servers run.

use reqwest::header::AUTHORIZATION;
use rooftree_protocol::Usage;
use serde_json::{Value, json};

use super::{
    WebSearchHit, WebSearchRequest, domains,
    wire::{BackendRequest, add_excerpt, count, field, list},
};

pub(super) fn request(wish: &WebSearchRequest, model: &str, key: &str) -> BackendRequest {
    let mut tool = json!({"type": "web_search"});
    if let (false, Some(tool)) = (wish.allowed.is_empty(), tool.as_object_mut()) {
        tool.insert(
            "filters".to_owned(),
            json!({"allowed_domains": wish.allowed}),
        );
    }
    let body = json!({
        "model": model,
        "input": wish.as_request(),
        "tools": [tool],
        "tool_choice": "required",
        "include": ["web_search_call.action.sources"],
        "store": false,
    });
    let headers = vec![(AUTHORIZATION, format!("Bearer {key}"))];
    BackendRequest {
        path: "/v1/responses".to_owned(),
        headers,
        body: Some(body),
    }
}

/// Each call of the search is charged for, whatever it did.
pub(super) fn usage(answer: &Value) -> Usage {
    let [input, output, cache_read, reasoning] = [
        "/usage/input_tokens",
        "/usage/output_tokens",
        "/usage/input_tokens_details/cached_tokens",
        "/usage/output_tokens_details/reasoning_tokens",
    ]
    .map(|place| count(answer, place));
    let searches = list(answer, "output")
        .filter(|item| field(item, "type") == "web_search_call")
        .count() as u64;
    Usage {
        input,
        output,
        cache_read,
        reasoning,
        searches,
        ..Usage::default()
    }
}

/// What is cited comes first; what was only looked at has no title.
pub(super) fn hits(answer: &Value) -> Option<Vec<WebSearchHit>> {
    let output = answer.get("output")?.as_array()?;
    let mut hits: Vec<WebSearchHit> = Vec::new();
    for part in output.iter().flat_map(|item| list(item, "content")) {
        let text = field(part, "text");
        for citation in list(part, "annotations") {
            let url = field(citation, "url");
            if !hits.iter().any(|hit| hit.url == url) {
                hits.push(WebSearchHit {
                    title: field(citation, "title"),
                    url: url.clone(),
                    ..WebSearchHit::default()
                });
            }
            add_excerpt(&mut hits, &url, &sentence_before(&text, citation));
        }
    }
    let sources = output
        .iter()
        .filter_map(|item| item.get("action"))
        .flat_map(|action| list(action, "sources"));
    for url in sources.map(|source| field(source, "url")) {
        if !hits.iter().any(|hit| hit.url == url) {
            hits.push(WebSearchHit {
                title: domains::host(&url).unwrap_or_default(),
                url,
                ..WebSearchHit::default()
            });
        }
    }
    Some(hits)
}

/// The line that a citation stands at the end of, up to the citation.
fn sentence_before(text: &str, citation: &Value) -> String {
    let end = citation
        .get("start_index")
        .and_then(Value::as_u64)
        .unwrap_or_default();
    let before: String = text
        .chars()
        .take(usize::try_from(end).unwrap_or_default())
        .collect();
    before
        .lines()
        .next_back()
        .unwrap_or_default()
        .trim_end_matches(['(', ' '])
        .to_owned()
}
