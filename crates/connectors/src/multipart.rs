//! Encodes a form with one file as multipart/form-data.

use crate::{OutboundFile, signature::short_digest};

/// The body of a form and its content type.
pub(crate) struct MultipartForm {
    pub(crate) content_type: String,
    pub(crate) body: Vec<u8>,
}

impl MultipartForm {
    /// Fields, then a file.
    pub(crate) fn new(fields: &[(&str, String)], field: &str, file: &OutboundFile) -> Self {
        // It follows from the bytes of the file, so it cannot stand in them but by a collision.
        let boundary = format!("rooftree-{}", short_digest(&[&file.bytes]));
        let mut body = Vec::with_capacity(file.bytes.len() + 1_024);
        for (name, value) in fields {
            let head =
                format!("--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n");
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(value.as_bytes());
            body.extend_from_slice(b"\r\n");
        }
        let head = format!(
            "--{boundary}\r\ncontent-disposition: form-data; name=\"{field}\"; filename=\"{}\"\r\ncontent-type: {}\r\n\r\n",
            header_text(&file.name),
            header_text(&file.media_type),
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(&file.bytes);
        body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
        Self {
            content_type: format!("multipart/form-data; boundary={boundary}"),
            body,
        }
    }
}

/// A value for a quoted header parameter.
fn header_text(text: &str) -> String {
    let is_fit = |letter: &char| !letter.is_control() && *letter != '"' && *letter != '\\';
    text.chars().filter(is_fit).collect()
}
