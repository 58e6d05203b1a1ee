//! Splits Markdown into Telegram messages: text with `entities` as JSON, at most 4,000 UTF-16 units each.

use rooftree_markdown::{EntityKind, PartLimit, TextEntity, to_entities, to_parts};
use serde_json::{Value, json};

use crate::{Format, OutboundPart, PartBody};

/// Telegram takes 4,096 units and ignores entities behind the hundredth.
const LIMIT: PartLimit = PartLimit {
    units: 4_000,
    entities: 100,
};

pub(super) fn split(markdown: &str) -> Vec<OutboundPart> {
    let parts = to_parts(markdown, LIMIT).into_iter();
    parts
        .map(|part| OutboundPart {
            body: PartBody::Text {
                text: part.text,
                format: Format(part.entities.iter().map(entity).collect()),
            },
            buttons: Vec::new(),
            silent: false,
        })
        .collect()
}

/// The visible text and the entities of a caption.
pub(super) fn caption(markdown: &str) -> (String, Vec<Value>) {
    let part = to_entities(markdown);
    let entities = part.entities.iter().take(LIMIT.entities).map(entity);
    let entities = entities.collect();
    (part.text, entities)
}

fn entity(entity: &TextEntity) -> Value {
    let kind = match &entity.kind {
        EntityKind::Bold => "bold",
        EntityKind::Italic => "italic",
        EntityKind::Strikethrough => "strikethrough",
        EntityKind::Code => "code",
        EntityKind::Pre { .. } => "pre",
        EntityKind::Link { .. } => "text_link",
        EntityKind::Quote => "blockquote",
    };
    let mut value = json!({"type": kind, "offset": entity.offset, "length": entity.length});
    match (&entity.kind, value.as_object_mut()) {
        (
            EntityKind::Pre {
                language: Some(name),
            },
            Some(fields),
        ) => {
            fields.insert("language".to_owned(), json!(name));
        }
        (EntityKind::Link { url }, Some(fields)) => {
            fields.insert("url".to_owned(), json!(url));
        }
        _ => {}
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_have_telegrams_names_and_fields() {
        let parts = split("**a** [b](https://x.example)\n\n```rust\nc\n```");
        let [part] = parts.as_slice() else {
            panic!("one part")
        };
        let expected = json!({"body": {"kind": "text", "text": "a b\n\nc", "format": [
            {"type": "bold", "offset": 0, "length": 1},
            {"type": "text_link", "offset": 2, "length": 1, "url": "https://x.example"},
            {"type": "pre", "offset": 5, "length": 1, "language": "rust"},
        ]}});
        assert_eq!(serde_json::to_value(part).unwrap(), expected);
    }
}
