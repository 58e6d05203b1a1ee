//! Uploads of files to Telegram as multipart form data, at most 50 MB; pictures and videos are shown as such.

use serde_json::{Map, Value};

use super::{
    LARGEST_UPLOAD, LONGEST_CAPTION, entity_json,
    outgoing::{self, Formatting},
};
use crate::{
    ChatPlace, FailureClass, OutboundFile, OutboundPart, SendError, multipart::MultipartForm,
};

/// Larger pictures are sent as documents.
const LARGEST_PHOTO: usize = 10 << 20;

/// A request that is ready to be sent.
pub(super) struct TelegramUpload {
    pub(super) method: &'static str,
    pub(super) content_type: String,
    pub(super) body: Vec<u8>,
}

/// The request that sends a file.
pub(super) fn multipart(
    to: &ChatPlace,
    part: &OutboundPart,
    file: &OutboundFile,
    formatting: Formatting,
) -> Result<TelegramUpload, SendError> {
    let refuse = |words: &str| Err(SendError::new(FailureClass::InvalidPayload, words));
    if file.bytes.is_empty() {
        return refuse("the file is empty; Telegram takes no empty files");
    }
    if file.bytes.len() as u64 > LARGEST_UPLOAD {
        return refuse("the file is larger than 50 MB, which is the most a bot may send");
    }
    let (caption, entities) = entity_json::caption(&file.caption);
    if caption.encode_utf16().count() > LONGEST_CAPTION {
        return refuse("the caption is longer than 1,024; send it as a message of its own");
    }
    let (method, field) = method(file);
    let mut fields = outgoing::place(to, part)?;
    if !caption.is_empty() {
        fields.insert("caption".to_owned(), Value::String(caption));
    }
    if !entities.is_empty() && formatting == Formatting::Kept {
        fields.insert("caption_entities".to_owned(), Value::Array(entities));
    }
    Ok(encoded(file, method, field, &fields))
}

fn encoded(
    file: &OutboundFile,
    method: &'static str,
    field: &str,
    fields: &Map<String, Value>,
) -> TelegramUpload {
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let fields: Vec<(&str, String)> = fields
        .iter()
        .map(|(name, value)| (name.as_str(), text(value)))
        .collect();
    let form = MultipartForm::new(&fields, field, file);
    TelegramUpload {
        method,
        content_type: form.content_type,
        body: form.body,
    }
}

fn method(file: &OutboundFile) -> (&'static str, &'static str) {
    match file.media_type.as_str() {
        "image/jpeg" | "image/png" | "image/webp" if file.bytes.len() <= LARGEST_PHOTO => {
            ("sendPhoto", "photo")
        }
        "image/gif" => ("sendAnimation", "animation"),
        "video/mp4" => ("sendVideo", "video"),
        "audio/mpeg" | "audio/mp4" => ("sendAudio", "audio"),
        "audio/ogg" => ("sendVoice", "voice"),
        _ => ("sendDocument", "document"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PartBody;

    fn file(media_type: &str, size: usize, caption: &str) -> Result<TelegramUpload, SendError> {
        let file = OutboundFile {
            name: "a\"\r\nb.png".to_owned(),
            media_type: media_type.to_owned(),
            caption: caption.to_owned(),
            bytes: vec![7; size],
            blob: String::new(),
        };
        let mut part = OutboundPart::text("");
        part.body = PartBody::File(file.clone());
        let to = ChatPlace {
            chat: "5".to_owned(),
            thread: None,
            reply_to: None,
            group: false,
        };
        multipart(&to, &part, &file, Formatting::Kept)
    }

    #[test]
    fn a_file_has_the_method_of_its_kind_and_a_name_that_ends_no_header() {
        let cases = [
            ("image/png", "sendPhoto"),
            ("image/gif", "sendAnimation"),
            ("video/mp4", "sendVideo"),
            ("audio/ogg", "sendVoice"),
            ("text/plain", "sendDocument"),
        ];
        for (media_type, method) in cases {
            let upload = file(media_type, 3, "hello").unwrap();
            assert_eq!(upload.method, method);
            let body = String::from_utf8(upload.body).unwrap();
            assert!(body.contains("filename=\"ab.png\"\r\n"), "{body}");
            assert!(body.contains("name=\"caption\"\r\n\r\nhello\r\n"), "{body}");
        }
        assert_eq!(
            file("image/png", (10 << 20) + 1, "").unwrap().method,
            "sendDocument"
        );
    }

    #[test]
    fn files_and_captions_over_the_limit_are_refused_before_they_are_sent() {
        assert!(file("text/plain", (50 << 20) + 1, "").is_err());
        assert!(file("text/plain", 0, "").is_err());
        assert!(file("text/plain", 1, &"👍".repeat(513)).is_err());
        assert!(file("text/plain", 1, &"👍".repeat(512)).is_ok());
    }
}
