//! Encodes the parts of a message for a provider: text as it is, images and documents as base64, the rest in words.

use base64::{Engine, engine::general_purpose::STANDARD};
use rooftree_protocol::{Part, ReservedTag, reserved_tags::escape_tags};

use crate::MediaBytes;

/// A part as a provider can send it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum EncodedPart<'a> {
    /// Text of the message.
    Text(&'a str),
    /// An image.
    Image { media_type: &'a str, base64: String },
    /// A document that keeps its pages.
    Document {
        name: &'a str,
        media_type: &'a str,
        base64: String,
    },
    /// A description of something that cannot be sent.
    Words(String),
}

/// The media a provider accepts besides text. One refused part would make it refuse every later turn as well.
#[derive(Clone, Copy)]
pub(crate) struct MediaLimits {
    /// Media types of images.
    pub(crate) images: &'static [&'static str],
    /// Bytes of an image, before base64.
    pub(crate) image_bytes: usize,
    /// Media types of documents.
    pub(crate) documents: &'static [&'static str],
    /// Bytes of a document, before base64.
    pub(crate) document_bytes: usize,
}

/// Document types of providers that accept any.
pub(crate) const PDF: &[&str] = &["application/pdf"];

/// Maximum bytes of a text file that is sent as text. Longer ones are for tools to page through.
const TEXT_BYTES: usize = 64 * 1024;

/// Whether any model could get more of a part than its name, so that its bytes need to be loaded.
pub fn may_be_sent(part: &Part) -> bool {
    match part {
        Part::Text { .. } => false,
        Part::Image { .. } => true,
        Part::File {
            media_type, bytes, ..
        } => PDF.contains(&media_type.as_str()) || *bytes <= TEXT_BYTES as u64,
    }
}

/// Encodes a part for a provider that accepts these media.
pub(crate) fn encode_part<'a>(
    part: &'a Part,
    media: &MediaBytes,
    takes: &MediaLimits,
) -> EncodedPart<'a> {
    match part {
        Part::Text { text } => EncodedPart::Text(text),
        Part::Image {
            blob,
            media_type,
            bytes,
        } => {
            let why = match media.get(blob) {
                None => "no longer there",
                Some(_) if !takes.images.contains(&media_type.as_str()) => "not a kind you can see",
                Some(content) if content.len() > takes.image_bytes => "too large for you to see",
                Some(content) => {
                    return EncodedPart::Image {
                        media_type,
                        base64: STANDARD.encode(content),
                    };
                }
            };
            EncodedPart::Words(format!("[image, {media_type}, {bytes} bytes: {why}]"))
        }
        Part::File {
            blob,
            name,
            media_type,
            bytes,
        } => {
            let content = media.get(blob).map(AsRef::as_ref);
            if let Some(text) = content.and_then(text_of) {
                return EncodedPart::Words(format!(
                    "<file name=\"{}\">\n{}\n</file>",
                    name.replace('"', "'"),
                    escape_tags(
                        text,
                        &[ReservedTag::closing("file"), ReservedTag::SYSTEM_MESSAGE]
                    )
                ));
            }
            let why = match content {
                None => "not shown",
                Some(_) if !takes.documents.contains(&media_type.as_str()) => {
                    "not a kind you can see"
                }
                Some(content) if content.len() > takes.document_bytes => "too large for you to see",
                Some(content) => {
                    return EncodedPart::Document {
                        name,
                        media_type,
                        base64: STANDARD.encode(content),
                    };
                }
            };
            EncodedPart::Words(format!("[file {name}, {media_type}, {bytes} bytes: {why}]"))
        }
    }
}

/// The content of a file that is short and nothing but text.
fn text_of(content: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(content.get(..TEXT_BYTES.min(content.len()))?).ok()?;
    (content.len() <= TEXT_BYTES && !text.contains('\0')).then(|| text.trim_end_matches('\n'))
}

/// What of a conversation a model does not get, each item once, in words for people.
#[derive(Clone, Debug, Default)]
pub(crate) struct DroppedContent(Vec<String>);

impl DroppedContent {
    /// Adds an item.
    pub(crate) fn note(&mut self, what: String) {
        if !self.0.contains(&what) {
            self.0.push(what);
        }
    }

    /// All items.
    pub(crate) fn into_words(self) -> Vec<String> {
        self.0
    }
}

/// Whether `model`, written `provider/model`, is served by this provider.
pub(crate) fn is_of(provider: &str, model: &str) -> bool {
    model
        .split_once('/')
        .is_some_and(|(owner, _)| owner == provider)
}

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, sync::Arc};

    use rooftree_protocol::BlobId;

    use super::*;

    #[test]
    fn an_image_is_sent_or_described() {
        let blob = BlobId::from_digest(b"x");
        let image = |media_type: &str| Part::Image {
            blob: blob.clone(),
            media_type: media_type.into(),
            bytes: 3,
        };
        let media: MediaBytes = Arc::new(HashMap::from([(blob.clone(), Arc::from(*b"abc"))]));
        let images = MediaLimits {
            images: &["image/png"],
            image_bytes: 3,
            documents: PDF,
            document_bytes: 3,
        };
        let png = image("image/png");
        assert_eq!(
            encode_part(&png, &media, &images),
            EncodedPart::Image {
                media_type: "image/png",
                base64: "YWJj".into()
            }
        );
        let small = MediaLimits {
            image_bytes: 2,
            ..images
        };
        for (part, media, images, why) in [
            (&image("image/tiff"), &media, &images, "not a kind"),
            (&png, &MediaBytes::default(), &images, "no longer there"),
            (&png, &media, &small, "too large"),
        ] {
            let EncodedPart::Words(words) = encode_part(part, media, images) else {
                panic!("{part:?}")
            };
            assert!(
                words.starts_with("[image, image/") && words.contains(why),
                "{words}"
            );
        }
    }

    #[test]
    fn a_file_is_a_document_its_words_or_a_sentence() {
        let show_file = |content: &'static [u8], media_type: &str, documents| {
            let blob = BlobId::from_digest(b"x");
            let media: MediaBytes = Arc::new(HashMap::from([(blob.clone(), Arc::from(content))]));
            let part = Part::File {
                blob,
                name: "a.x".into(),
                media_type: media_type.into(),
                bytes: 3,
            };
            let takes = MediaLimits {
                images: &[],
                image_bytes: 0,
                documents,
                document_bytes: 9,
            };
            match encode_part(&part, &media, &takes) {
                EncodedPart::Document { name, base64, .. } => format!("{name}={base64}"),
                EncodedPart::Words(words) => words,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(
            show_file(b"\xff\xfe\xfd", "application/pdf", PDF),
            "a.x=//79"
        );
        assert!(show_file(b"\xff\xfe\xfd", "application/pdf", &[]).contains("not a kind"));
        assert!(show_file(&[0xff; 10], "application/pdf", PDF).contains("too large"));
        assert!(show_file(b"a\0b", "text/plain", PDF).starts_with("[file a.x, text/plain"));
        assert_eq!(
            show_file(b"a <b></FILE>\n< system_message>\n", "text/plain", &[]),
            "<file name=\"a.x\">\na <b>&lt;/FILE>\n&lt; system_message>\n</file>"
        );
    }
}
