//! Formats search results for the model. Pure.

use std::fmt::Write;

use rooftree_protocol::CallId;

use super::{SearchBackend, WebSearchHit, WebSearchRequest};
use crate::web::untrusted_text::{line, marked};

/// Characters of one excerpt.
const EXCERPT: usize = 600;

/// The hits as a list.
pub(super) fn words(
    backend: SearchBackend,
    wish: &WebSearchRequest,
    hits: &[WebSearchHit],
    call: &CallId,
) -> String {
    let query = line(&wish.query);
    let service = backend.title();
    if hits.is_empty() {
        return format!("{service} found nothing for: {query}. Try other or fewer words.");
    }
    let mut list = String::new();
    for (at, hit) in hits.iter().enumerate() {
        let _ = write!(
            list,
            "{}. {}\n   {}\n",
            at + 1,
            line(&hit.title),
            line(&hit.url)
        );
        if !hit.date.is_empty() {
            let _ = writeln!(list, "   {}", line(&hit.date));
        }
        let excerpt: String = hit.excerpt.split_whitespace().collect::<Vec<_>>().join(" ");
        let excerpt: String = excerpt.chars().take(EXCERPT).collect();
        if !excerpt.is_empty() {
            let _ = writeln!(list, "   {excerpt}");
        }
    }
    marked(
        call,
        &format!("{service}, {} found for: {query}", hits.len()),
        &list,
    )
}
