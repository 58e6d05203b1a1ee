//! Attachments of a message: short text goes inline, pictures and other files into the blob store.

use rooftree_protocol::{Part, Principal, ReservedTag, media_type, reserved_tags::escape_tags};

use super::Handle;
use crate::Error;

/// Text up to this size is put into the message itself.
const INLINE_BYTES: usize = 64 * 1024;

impl Handle {
    /// The part of a message for a file; bytes that do not go into the message are put into the store.
    pub async fn attachment(
        &self,
        who: &Principal,
        name: &str,
        bytes: Vec<u8>,
    ) -> Result<Part, Error> {
        if bytes.len() <= INLINE_BYTES
            && let Ok(text) = std::str::from_utf8(&bytes)
            && !text.contains('\0')
        {
            let name = name.replace('"', "'");
            return Ok(Part::text(format!(
                "<file name=\"{name}\">\n{}\n</file>",
                escape_tags(text.trim_end_matches('\n'), &[ReservedTag::closing("file")])
            )));
        }
        let (media_type, length) = (media_type(&bytes), bytes.len() as u64);
        let blob = self.upload(who, bytes).await?;
        Ok(if media_type.starts_with("image/") {
            Part::Image {
                blob,
                media_type: media_type.into(),
                bytes: length,
            }
        } else {
            Part::File {
                blob,
                name: name.to_owned(),
                media_type: media_type.into(),
                bytes: length,
            }
        })
    }
}
