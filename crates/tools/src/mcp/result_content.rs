//! Converts a server's tool result into content for the model: one text, and its images.

use base64::{Engine, engine::general_purpose::STANDARD};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use rooftree_protocol::{ErrorCode, Part};
use serde_json::Value;

use super::{connection::McpConnection, secrets::ServerSecrets};
use crate::{ToolOutput, tool::ToolMedia};

/// Images of one answer that a model sees.
const MOST_IMAGES: usize = 8;
/// Bytes of one image that a model sees.
const LARGEST_IMAGE: usize = 5 * 1024 * 1024;
/// Images that models see.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Invariant: however many pieces an answer has, its text is one part, which is cut as one.
pub(super) fn output(result: CallToolResult, connection: &McpConnection) -> ToolOutput {
    let taken = ResultContent {
        texts: connection.refusals(),
        ..ResultContent::default()
    };
    read(result, taken, connection.secrets())
}

fn read(result: CallToolResult, mut taken: ResultContent, secrets: &ServerSecrets) -> ToolOutput {
    result
        .content
        .into_iter()
        .for_each(|block| taken.block(block));
    if let Some(structured) = result.structured_content {
        taken.structured(&structured);
    }
    let failure = (result.is_error == Some(true)).then_some(ErrorCode::ToolFailed);
    ToolOutput {
        failure,
        ..taken.output(secrets)
    }
}

/// The same of what a resource holds.
pub(super) fn resources(contents: Vec<ResourceContents>, connection: &McpConnection) -> ToolOutput {
    let mut taken = ResultContent {
        texts: connection.refusals(),
        ..ResultContent::default()
    };
    contents
        .into_iter()
        .for_each(|content| taken.resource(content));
    taken.output(connection.secrets())
}

/// For a fuzzer: what is made of an answer.
pub(super) fn taken(result: CallToolResult) -> ToolOutput {
    read(result, ResultContent::default(), &ServerSecrets::default())
}

/// A piece of a prompt as text; what is no text is mentioned.
pub(super) fn words(block: ContentBlock) -> String {
    let mut taken = ResultContent::default();
    taken.block(block);
    let unseen = std::iter::repeat_n("[an image]".to_owned(), taken.media.len());
    taken
        .texts
        .into_iter()
        .chain(unseen)
        .collect::<Vec<_>>()
        .join("\n")
}

#[derive(Default)]
struct ResultContent {
    texts: Vec<String>,
    media: Vec<ToolMedia>,
}

impl ResultContent {
    fn output(self, secrets: &ServerSecrets) -> ToolOutput {
        let text = self.texts.join("\n\n");
        let is_nothing = text.trim().is_empty() && self.media.is_empty();
        let text = if is_nothing {
            "(no output)".to_owned()
        } else {
            text
        };
        let content = if text.is_empty() {
            Vec::new()
        } else {
            vec![Part::text(secrets.redact(text))]
        };
        ToolOutput {
            content,
            media: self.media,
            ..ToolOutput::default()
        }
    }

    fn block(&mut self, block: ContentBlock) {
        match block {
            ContentBlock::Text(text) => self.texts.push(text.text),
            ContentBlock::Image(image) => self.bytes("image", &image.mime_type, &image.data),
            ContentBlock::Audio(audio) => self.bytes("audio", &audio.mime_type, &audio.data),
            ContentBlock::Resource(embedded) => self.resource(embedded.resource),
            ContentBlock::ResourceLink(link) => {
                let about = link
                    .description
                    .map(|words| format!(": {words}"))
                    .unwrap_or_default();
                self.texts
                    .push(format!("[resource {} ({}){about}]", link.uri, link.name));
            }
            _ => self
                .texts
                .push("[something this program cannot show]".to_owned()),
        }
    }

    fn resource(&mut self, resource: ResourceContents) {
        match resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                self.texts.push(format!("[resource {uri}]\n{text}"));
            }
            ResourceContents::BlobResourceContents {
                uri,
                mime_type,
                blob,
                ..
            } => {
                self.texts.push(format!("[resource {uri}]"));
                self.bytes("resource", mime_type.as_deref().unwrap_or("unknown"), &blob);
            }
            _ => self
                .texts
                .push("[a resource this program cannot show]".to_owned()),
        }
    }

    /// Bytes that are what they say and that a model sees; the others are only mentioned.
    fn bytes(&mut self, what: &str, media_type: &str, data: &str) {
        let bytes = STANDARD.decode(data.trim()).unwrap_or_default();
        let is_image = infer::get(&bytes).is_some_and(|kind| IMAGES.contains(&kind.mime_type()));
        if is_image && bytes.len() <= LARGEST_IMAGE && self.media.len() < MOST_IMAGES {
            let media_type = infer::get(&bytes)
                .map_or(media_type, |kind| kind.mime_type())
                .to_owned();
            self.media.push(ToolMedia { media_type, bytes });
        } else {
            self.texts.push(format!(
                "[{what} of type {media_type}, {} bytes, is not shown]",
                bytes.len()
            ));
        }
    }

    /// Most servers say the same again as text; then once is enough.
    fn structured(&mut self, value: &Value) {
        let is_said =
            |text: &String| serde_json::from_str::<Value>(text).is_ok_and(|said| said == *value);
        if !self.texts.iter().any(is_said) {
            self.texts
                .push(serde_json::to_string_pretty(value).unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::unknown_parts::recovered, *};

    /// One pixel.
    const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

    fn read(result: Value) -> ToolOutput {
        super::read(
            serde_json::from_value(result).unwrap(),
            ResultContent::default(),
            &ServerSecrets::default(),
        )
    }

    #[test]
    fn every_shape_of_an_answer_becomes_one_text_and_its_images() {
        let table = [
            (json!({"content": []}), "(no output)", 0),
            (
                json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
                "a\n\nb",
                0,
            ),
            (
                json!({"content": [{"type": "image", "mimeType": "image/png", "data": PNG}]}),
                "",
                1,
            ),
            (
                json!({"content": [{"type": "image", "mimeType": "image/png", "data": "bm8gaW1hZ2U="}]}),
                "[image of type image/png, 8 bytes, is not shown]",
                0,
            ),
            (
                json!({"content": [{"type": "audio", "mimeType": "audio/wav", "data": "AAAA"}]}),
                "[audio of type audio/wav, 3 bytes, is not shown]",
                0,
            ),
            (
                json!({"content": [{"type": "resource", "resource": {"uri": "a:b", "text": "t"}}]}),
                "[resource a:b]\nt",
                0,
            ),
            (
                json!({"content": [{"type": "resource", "resource": {"uri": "a:b", "blob": PNG, "mimeType": "image/png"}}]}),
                "[resource a:b]",
                1,
            ),
            (
                json!({"content": [{"type": "resource_link", "uri": "a:b", "name": "n"}]}),
                "[resource a:b (n)]",
                0,
            ),
            (
                json!({"content": [], "structuredContent": {"n": 1}}),
                "{\n  \"n\": 1\n}",
                0,
            ),
            (
                json!({"content": [{"type": "text", "text": "{\"n\":1}"}], "structuredContent": {"n": 1}}),
                "{\"n\":1}",
                0,
            ),
        ];
        for (result, text, images) in table {
            let read = read(result.clone());
            assert_eq!(
                (read.text().as_str(), read.media.len()),
                (text, images),
                "{result}"
            );
            assert!(
                read.content.len() <= 1 && read.failure.is_none(),
                "{result}"
            );
        }
    }

    #[test]
    fn s_l4_a_part_of_unknown_type_is_named_and_the_others_are_kept() {
        let known = json!({"type": "text", "text": "kept"});
        for (unknown, named) in [
            (json!({"type": "video", "data": "AAAA"}), "`video`"),
            (json!({"type": "text"}), "`text`"),
            (json!({"type": 7}), "`none`"),
            (json!("words"), "`none`"),
        ] {
            let result = recovered(json!({"content": [known, unknown, known]})).unwrap();
            let read = super::read(result, ResultContent::default(), &ServerSecrets::default());
            let expected = format!("kept\n\n[a part of unknown type {named} is not shown]\n\nkept");
            assert_eq!(read.text(), expected);
        }
        for other in [json!({}), json!({"content": 1}), json!([])] {
            assert!(recovered(other).is_none());
        }
    }

    #[test]
    fn an_error_is_a_failure_with_its_words() {
        let read =
            read(json!({"content": [{"type": "text", "text": "no such file"}], "isError": true}));
        assert_eq!(
            (read.failure, read.text().as_str()),
            (Some(ErrorCode::ToolFailed), "no such file")
        );
    }

    #[test]
    fn ten_thousand_pieces_are_one_part_and_few_images() {
        let image = json!({"type": "image", "mimeType": "image/png", "data": PNG});
        let read = read(json!({"content": vec![image; 100]}));
        assert_eq!((read.content.len(), read.media.len()), (1, MOST_IMAGES));
    }
}
