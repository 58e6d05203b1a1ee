//! Attachments of a message: short text goes inline, pictures and other files into the blob store.

use rooftree_protocol::{
    BlobId, Part, Principal, ReservedTag, media_type, reserved_tags::escape_tags,
};

use super::Handle;
use crate::Error;

/// Text up to this size is put into the message itself.
const INLINE_BYTES: usize = 64 * 1024;

/// A file to attach to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachedFile {
    /// Its name, as the model is told it.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl AttachedFile {
    /// The part for a short text; none if the bytes must be uploaded.
    pub fn inline_part(&self) -> Option<Part> {
        let text = std::str::from_utf8(&self.bytes).ok()?;
        if text.len() > INLINE_BYTES || text.contains('\0') {
            return None;
        }
        let name = self.name.replace('"', "'");
        Some(Part::text(format!(
            "<file name=\"{name}\">\n{}\n</file>",
            escape_tags(text.trim_end_matches('\n'), &[ReservedTag::closing("file")])
        )))
    }

    /// The part for bytes that were uploaded as this blob.
    pub fn uploaded_part(&self, blob: BlobId) -> Part {
        let (media_type, bytes) = (media_type(&self.bytes), self.bytes.len() as u64);
        if media_type.starts_with("image/") {
            let media_type = media_type.into();
            return Part::Image {
                blob,
                media_type,
                bytes,
            };
        }
        Part::File {
            blob,
            name: self.name.clone(),
            media_type: media_type.into(),
            bytes,
        }
    }
}

impl Handle {
    /// The part of a message for a file; bytes that do not go into the message are put into the store.
    pub async fn attachment(&self, who: &Principal, file: AttachedFile) -> Result<Part, Error> {
        if let Some(inline) = file.inline_part() {
            return Ok(inline);
        }
        let blob = self.upload(who, file.bytes.clone()).await?;
        Ok(file.uploaded_part(blob))
    }
}
