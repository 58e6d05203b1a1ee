//! Wire format helpers shared by all search services: a request, and fields of a response.

use reqwest::header::HeaderName;
use serde_json::Value;

use super::WebSearchHit;

/// Request to a search service.
pub(super) struct BackendRequest {
    /// Path and query, behind the base URL.
    pub path: String,
    /// With the key.
    pub headers: Vec<(HeaderName, String)>,
    pub body: Option<Value>,
}

/// The text of a field; empty if it is not there.
pub(super) fn field(value: &Value, name: &str) -> String {
    value
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// The number at a place of an answer; none is zero. What a service says is not added up beyond reason.
pub(super) fn count(value: &Value, place: &str) -> u64 {
    value
        .pointer(place)
        .and_then(Value::as_u64)
        .unwrap_or(0)
        .min(1 << 40)
}

/// The elements of a field; none if it is no list.
pub(super) fn list<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value
        .get(name)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// Adds what is quoted from a page to the hit that is about it.
pub(super) fn add_excerpt(hits: &mut [WebSearchHit], url: &str, text: &str) {
    if let Some(hit) = hits.iter_mut().find(|hit| hit.url == url) {
        hit.quote(text);
    }
}
