//! Pages of lists: limits and opaque cursors.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Serialize, de::DeserializeOwned};

use super::ApiProblem;

/// Rows on a page if no number is given.
const PAGE: usize = 50;
/// The most on a page.
const MAX_PAGE: usize = 200;

/// How many rows a page has.
pub(super) fn limit(wanted: Option<usize>) -> usize {
    wanted.unwrap_or(PAGE).clamp(1, MAX_PAGE)
}

/// A cursor: clients send it back as it is.
pub(super) fn encode<T: Serialize>(place: &T) -> String {
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(place).unwrap_or_default())
}

/// The place of a cursor that a client sent.
pub(super) fn decode<T: DeserializeOwned>(cursor: Option<&str>) -> Result<Option<T>, ApiProblem> {
    let Some(cursor) = cursor else {
        return Ok(None);
    };
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
    let place = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    match place {
        Some(place) => Ok(Some(place)),
        None => Err(ApiProblem::invalid("the cursor is not one of this list").at("/cursor")),
    }
}
