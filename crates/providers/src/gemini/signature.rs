//! Keeps the vendor's signature of a part that has no field for it, in an opaque item right before that part.

use rooftree_protocol::event::ReplyPart;
use serde_json::{Value, json};

const FIELD: &str = "thoughtSignature";

/// Replaces the signature of calls that another model made; the vendor's newer models require one.
/// The vendor documents this value for conversations that come from elsewhere.
pub(super) const FOREIGN: &str = "skip_thought_signature_validator";

/// The opaque item that keeps the signature of the part behind it.
pub(super) fn kept(provider: &str, signature: String) -> ReplyPart {
    ReplyPart::Opaque {
        provider: provider.to_owned(),
        item: json!({ FIELD: signature }),
    }
}

/// The signature in an item that holds nothing else.
pub(super) fn read(item: &Value) -> Option<&str> {
    let fields = item.as_object().filter(|fields| fields.len() == 1)?;
    fields.get(FIELD)?.as_str()
}
