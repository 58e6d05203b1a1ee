//! A signature of the vendor's on a part that has no place for it: kept right before that part.

use rooftree_protocol::event::ReplyPart;
use serde_json::{Value, json};

const FIELD: &str = "thoughtSignature";

/// Stands for the signature of calls another model made, which this vendor's newer models ask for.
/// The vendor names this word for conversations that come from elsewhere.
pub(super) const FOREIGN: &str = "skip_thought_signature_validator";

/// The item that keeps the signature of the part behind it.
pub(super) fn kept(provider: &str, signature: String) -> ReplyPart {
    ReplyPart::Opaque {
        provider: provider.to_owned(),
        item: json!({ FIELD: signature }),
    }
}

/// The signature in an item that is nothing but one.
pub(super) fn read(item: &Value) -> Option<&str> {
    let fields = item.as_object().filter(|fields| fields.len() == 1)?;
    fields.get(FIELD)?.as_str()
}
