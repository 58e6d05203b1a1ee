//! Shows the parts of a message to a model: text as it is, images as base64, the rest in words.

use base64::{Engine, engine::general_purpose::STANDARD};
use rooftree_protocol::Part;

use crate::Media;

/// A part as a wire can send it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shown<'a> {
    /// Text of the message.
    Text(&'a str),
    /// An image.
    Image { media_type: &'a str, base64: String },
    /// What stands for something that cannot be sent.
    Words(String),
}

/// The images a wire takes. One it refuses would make it refuse every later turn as well.
pub(crate) struct Images {
    /// Their media types.
    pub(crate) kinds: &'static [&'static str],
    /// Bytes of one, before base64.
    pub(crate) bytes: usize,
}

/// Shows a part to a model that takes these images.
pub(crate) fn show<'a>(part: &'a Part, media: &Media, images: &Images) -> Shown<'a> {
    match part {
        Part::Text { text } => Shown::Text(text),
        Part::Image { blob, media_type, bytes } => {
            let why = match media.get(blob) {
                None => "no longer there",
                Some(_) if !images.kinds.contains(&media_type.as_str()) => "not a kind you can see",
                Some(content) if content.len() > images.bytes => "too large for you to see",
                Some(content) => return Shown::Image { media_type, base64: STANDARD.encode(content) },
            };
            Shown::Words(format!("[image, {media_type}, {bytes} bytes: {why}]"))
        }
        Part::File { name, media_type, bytes, .. } => {
            Shown::Words(format!("[file {name}, {media_type}, {bytes} bytes]"))
        }
    }
}

/// What of a conversation a model does not get, each thing once, in words for people.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dropped(Vec<String>);

impl Dropped {
    /// Notes one thing.
    pub(crate) fn note(&mut self, what: String) {
        if !self.0.contains(&what) {
            self.0.push(what);
        }
    }

    /// All of it.
    pub(crate) fn into_words(self) -> Vec<String> {
        self.0
    }
}

/// Whether `model`, written `provider/model`, is served by this provider.
pub(crate) fn is_of(provider: &str, model: &str) -> bool {
    model.split_once('/').is_some_and(|(owner, _)| owner == provider)
}

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, sync::Arc};

    use rooftree_protocol::BlobId;

    use super::*;

    #[test]
    fn an_image_is_sent_or_described() {
        let blob = BlobId::from_digest(b"x");
        let image =
            |media_type: &str| Part::Image { blob: blob.clone(), media_type: media_type.into(), bytes: 3 };
        let media: Media = Arc::new(HashMap::from([(blob.clone(), Arc::from(*b"abc"))]));
        let images = Images { kinds: &["image/png"], bytes: 3 };
        let png = image("image/png");
        assert_eq!(
            show(&png, &media, &images),
            Shown::Image { media_type: "image/png", base64: "YWJj".into() }
        );
        let small = Images { kinds: images.kinds, bytes: 2 };
        for (part, media, images, why) in [
            (&image("image/tiff"), &media, &images, "not a kind"),
            (&png, &Media::default(), &images, "no longer there"),
            (&png, &media, &small, "too large"),
        ] {
            let Shown::Words(words) = show(part, media, images) else { panic!("{part:?}") };
            assert!(words.starts_with("[image, image/") && words.contains(why), "{words}");
        }
    }
}
