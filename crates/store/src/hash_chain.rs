//! The hash chain that ties each event to everything before it.

use rooftree_protocol::BlobId;
use sha2::{Digest, Sha256};

/// The hash of an event: of the hash before it, its number, its type, its data, and who sent the command for it.
pub(crate) fn link(
    previous: &[u8],
    seq: u64,
    name: &str,
    data: &str,
    who: Option<&str>,
) -> Vec<u8> {
    let mut hash = Sha256::new();
    hash.update(previous);
    hash.update(seq.to_be_bytes());
    hash.update(name);
    // A type never holds a zero byte, so type and data cannot be shifted into each other.
    hash.update([0]);
    hash.update(data);
    // Neither does data. Events of earlier versions name no sender, and their hash is as it was.
    if let Some(who) = who {
        hash.update([0]);
        hash.update(who);
    }
    hash.finalize().to_vec()
}

/// The content hash that names a blob. It is computed without the store.
pub fn blob_id(bytes: &[u8]) -> BlobId {
    BlobId::from_digest(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_an_event_changes_its_hash() {
        let first = link(b"", 1, "notice", "{}", None);
        for other in [
            link(b"x", 1, "notice", "{}", None),
            link(b"", 2, "notice", "{}", None),
            link(b"", 1, "notic", "e{}", None),
            link(b"", 1, "notice", "{ }", None),
            link(b"", 1, "notice", "{}", Some("")),
            link(b"", 1, "notice", "{}", Some("x")),
        ] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn bytes_are_named_by_what_they_are() {
        let name = blob_id(b"hello");
        assert_eq!(
            name.as_str(),
            "blb_2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c"
        );
    }
}
