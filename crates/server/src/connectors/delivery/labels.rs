//! The visible label of a message that may be a duplicate. Pure.

use rooftree_connectors::{Capabilities, LengthUnit, OutboundPart, PartBody};

/// What a message says that was sent again and may have arrived before.
pub(super) const LABEL: &str = "(may be a duplicate)";

/// The part with the label; none if the platform would not take it with one.
pub(super) fn labelled(
    mut part: OutboundPart,
    capabilities: &Capabilities,
) -> Option<OutboundPart> {
    let (text, longest) = match &mut part.body {
        PartBody::Text { text, .. } => (text, capabilities.max_length),
        PartBody::File(file) => (&mut file.caption, capabilities.caption_length),
    };
    if text.ends_with(LABEL) {
        return Some(part);
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(LABEL);
    let fits = length(text, capabilities.unit) <= longest;
    fits.then_some(part)
}

/// Labels a message that may have arrived, at its end.
pub(super) fn label_last(parts: &mut Vec<OutboundPart>, capabilities: &Capabilities) {
    let Some(last) = parts.pop() else {
        return;
    };
    match labelled(last.clone(), capabilities) {
        Some(labelled) => parts.push(labelled),
        None => parts.extend([last, OutboundPart::text(LABEL)]),
    }
}

fn length(text: &str, unit: LengthUnit) -> usize {
    match unit {
        LengthUnit::Utf16 => text.encode_utf16().count(),
        LengthUnit::Bytes => text.len(),
        LengthUnit::Chars => text.chars().count(),
    }
}

/// The same part without formatting, if it has any.
pub(super) fn without_format(part: &OutboundPart) -> Option<OutboundPart> {
    let PartBody::Text { text, format } = &part.body else {
        return None;
    };
    let mut plain = OutboundPart::text(text.clone());
    (plain.buttons, plain.silent) = (part.buttons.clone(), part.silent);
    (!format.is_empty()).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPABILITIES: Capabilities = Capabilities {
        edit: true,
        buttons: true,
        threads: true,
        files: true,
        typing: true,
        groups: true,
        max_length: 30,
        caption_length: 30,
        button_data: 64,
        upload: 1,
        download: 1,
        unit: LengthUnit::Utf16,
    };

    #[test]
    fn a_label_is_added_once_and_only_where_it_fits() {
        let part = labelled(OutboundPart::text("Hello."), &CAPABILITIES).unwrap();
        let PartBody::Text { text, .. } = &part.body else {
            panic!()
        };
        assert_eq!(text, "Hello.\n(may be a duplicate)");
        assert_eq!(labelled(part.clone(), &CAPABILITIES), Some(part));
        let long = OutboundPart::text("Hello, 🌧🌧 today.");
        assert_eq!(labelled(long.clone(), &CAPABILITIES), None);
        let mut parts = vec![OutboundPart::text("one"), OutboundPart::text("two")];
        label_last(&mut parts, &CAPABILITIES);
        let wanted = OutboundPart::text("two\n(may be a duplicate)");
        assert_eq!(parts, [OutboundPart::text("one"), wanted]);
        let mut parts = vec![long.clone()];
        label_last(&mut parts, &CAPABILITIES);
        assert_eq!(parts, [long, OutboundPart::text(LABEL)]);
    }
}
