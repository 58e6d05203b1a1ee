//! Keeps a request within the vendor's size limit, so that it is not sent in vain.
//!
//! The oldest images and files are replaced by a description first. A request that is too large
//! without them is an `Error::TooLong`, which the runtime handles by compaction.

use std::{collections::HashSet, sync::Arc};

use rooftree_protocol::{BlobId, Part};

use crate::{Error, ModelMessage, ModelRequest};

/// An encoded request, and what could not be sent.
pub(crate) type EncodedRequest = (Vec<u8>, Vec<String>);

/// Encodes a request in at most so many bytes.
pub(crate) fn fit_to_size(
    mut request: ModelRequest,
    most: usize,
    spell: impl Fn(&ModelRequest) -> Result<EncodedRequest, Error>,
) -> Result<EncodedRequest, Error> {
    let (body, dropped) = spell(&request)?;
    let Some(excess) = body.len().checked_sub(most).filter(|excess| *excess > 0) else {
        return Ok((body, dropped));
    };
    drop(body);
    let given_up = oldest_media(&request, excess).ok_or(Error::TooLong { limit: None })?;
    let count = given_up.len();
    let mut media = request.media.as_ref().clone();
    media.retain(|blob, _| !given_up.contains(blob));
    request.media = Arc::new(media);
    let (body, mut dropped) = spell(&request)?;
    if body.len() > most {
        return Err(Error::TooLong { limit: None });
    }
    dropped.push(format!(
        "{count} of the older images and files: the request would be too large"
    ));
    Ok((body, dropped))
}

/// The oldest media that together free so many bytes; none if all of them would not.
fn oldest_media(request: &ModelRequest, excess: usize) -> Option<HashSet<BlobId>> {
    let mut blobs: Vec<&BlobId> = Vec::new();
    for message in request.messages.iter() {
        match message.as_ref() {
            ModelMessage::User(parts) => blobs.extend(parts.iter().filter_map(blob_of)),
            ModelMessage::Results(results) => {
                blobs.extend(
                    results
                        .iter()
                        .flat_map(|result| &result.content)
                        .filter_map(blob_of),
                );
            }
            ModelMessage::Assistant { .. } => {}
        }
    }
    let mut freed = 0_usize;
    let mut given_up = HashSet::new();
    for blob in blobs {
        if freed >= excess {
            break;
        }
        // Media shown twice are sent twice, so each time counts. The description takes some of the room.
        if let Some(bytes) = request.media.get(blob) {
            freed += (bytes.len() / 3 * 4).saturating_sub(200);
            given_up.insert(blob.clone());
        }
    }
    (freed >= excess).then_some(given_up)
}

fn blob_of(part: &Part) -> Option<&BlobId> {
    match part {
        Part::Image { blob, .. } | Part::File { blob, .. } => Some(blob),
        Part::Text { .. } => None,
    }
}
