//! Builds the prompt for a program: only what is new if it can resume its session, else the whole conversation.

use std::fmt::Write;

use rooftree_protocol::{
    Part, ReservedTag, ToolResult, Usage, event::ReplyPart, reserved_tags::escape_tags,
};
use serde_json::{Value, json};

use crate::{
    MediaBytes, ModelMessage, ModelRequest,
    media::{EncodedPart, MediaLimits, encode_part},
};

/// A longer system prompt does not fit into one argument and is sent as part of the prompt.
const ARGUMENT_BYTES: usize = 100_000;

/// Media that a prompt can carry: none.
const NOTHING: MediaLimits = MediaLimits {
    images: &[],
    image_bytes: 0,
    documents: &[],
    document_bytes: 0,
};

/// Whether to resume the program's own session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionReuse {
    /// Resume it, if there is one.
    Use,
    /// Start a new session.
    Ignore,
}

/// The input of one program start.
#[derive(Debug)]
pub(super) struct ProgramRequest {
    /// Text for its standard input.
    pub(super) text: String,
    /// Whether the system prompt is part of that text.
    pub(super) has_system: bool,
    /// The session it resumes.
    pub(super) session: Option<String>,
    /// Usage of that session so far.
    pub(super) before: Usage,
    /// Content that could not be sent.
    pub(super) dropped: Vec<String>,
}

/// Builds the prompt for a request to this provider.
pub(super) fn build_prompt(
    request: &ModelRequest,
    provider: &str,
    memory: SessionReuse,
) -> ProgramRequest {
    let remembered = if memory == SessionReuse::Use {
        remembered(request, provider)
    } else {
        None
    };
    let (from, session, before) = match remembered {
        Some((at, session, before)) => (at + 1, Some(session), before),
        None => (0, None, Usage::none()),
    };
    let messages: Vec<&ModelMessage> = request
        .messages
        .iter()
        .skip(from)
        .map(AsRef::as_ref)
        .collect();
    let mut dropped = Vec::new();
    let unseen: usize = messages
        .iter()
        .map(|message| unseen_in(message, &request.media))
        .sum();
    if unseen > 0 {
        dropped.push(format!("{unseen} image(s) or file(s)"));
    }
    if request.schema.is_some() {
        dropped.push("the schema of the answer".to_owned());
    }
    let has_system = session.is_none() && request.system.len() > ARGUMENT_BYTES;
    let mut text = if has_system {
        format!("{}\n\n", request.system)
    } else {
        String::new()
    };
    let words = words_of(&messages, &request.media);
    // A program that is asked to continue a truncated answer still needs some input.
    text.push_str(if words.is_empty() { "Go on." } else { &words });
    ProgramRequest {
        text,
        has_system,
        session,
        before,
        dropped,
    }
}

/// The opaque reply part by which the next request finds the program's session again.
pub(super) fn memory_part(
    request: &ModelRequest,
    provider: &str,
    session: &str,
    total: Usage,
) -> ReplyPart {
    let item = json!({"session": session, "of": request.session.as_str(), "total": total});
    ReplyPart::Opaque {
        provider: provider.to_owned(),
        item,
    }
}

/// The last message the program wrote, its session and the usage of that session.
fn remembered(request: &ModelRequest, provider: &str) -> Option<(usize, String, Usage)> {
    request
        .messages
        .iter()
        .enumerate()
        .rev()
        .find_map(|(at, message)| {
            let ModelMessage::Assistant { parts, .. } = message.as_ref() else {
                return None;
            };
            let item = parts.iter().rev().find_map(|part| match part {
                ReplyPart::Opaque {
                    provider: whose,
                    item,
                } if whose == provider => item.get("session").and(Some(item)),
                _ => None,
            })?;
            // A fork shares the journal but must not share the program's session, which has advanced.
            let is_ours = item.get("of").and_then(Value::as_str) == Some(request.session.as_str());
            let session = item
                .get("session")
                .and_then(Value::as_str)
                .filter(|session| is_harmless(session));
            let total = item
                .get("total")
                .and_then(|total| serde_json::from_value(total.clone()).ok());
            session
                .filter(|_| is_ours)
                .map(|session| (at, session.to_owned(), total.unwrap_or_else(Usage::none)))
        })
}

/// Whether a session id is safe as an argument: it comes from a journal that anyone may have written.
fn is_harmless(session: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !session.is_empty()
        && session.len() <= 128
        && !session.starts_with('-')
        && session.chars().all(is_plain)
}

/// The messages as text. If only the user has spoken, exactly the user's text.
fn words_of(messages: &[&ModelMessage], media: &MediaBytes) -> String {
    let last = messages
        .iter()
        .rposition(|message| !matches!(message, ModelMessage::User(_)));
    let (past, new) = messages
        .split_at_checked(last.map_or(0, |at| at + 1))
        .unwrap_or((messages, &[]));
    let new: Vec<String> = new
        .iter()
        .map(|message| message_words(message, media))
        .collect();
    let new = new.join("\n\n");
    if past.is_empty() {
        return new;
    }
    let mut text = String::from(
        "The conversation so far, in which others may have answered:\n\n<conversation>\n",
    );
    for message in past {
        let who = match message {
            ModelMessage::User(_) => "user",
            ModelMessage::Assistant { .. } => "assistant",
            ModelMessage::Results(_) => "results",
        };
        // Text of the conversation must not be able to close the quotation, nor a result imitate the runtime.
        let words = message_words(message, media);
        let words = escape_tags(&words, &[ReservedTag::closing("conversation")]);
        let _ = writeln!(text, "[{who}]\n{words}\n");
    }
    let new = if new.is_empty() { "Go on." } else { &new };
    let _ = write!(text, "</conversation>\n\n{new}");
    text
}

fn message_words(message: &ModelMessage, media: &MediaBytes) -> String {
    let lines: Vec<String> = match message {
        ModelMessage::User(parts) => parts.iter().map(|part| part_words(part, media)).collect(),
        ModelMessage::Assistant { parts, .. } => parts.iter().filter_map(reply_words).collect(),
        ModelMessage::Results(results) => {
            let words = |result: &ToolResult| {
                let text = result.text();
                let text = escape_tags(&text, &[ReservedTag::SYSTEM_MESSAGE]);
                format!("{:?}: {text}", result.outcome)
            };
            results.iter().map(words).collect()
        }
    };
    lines.join("\n")
}

/// A part as text. Only a short text file is shown besides text itself.
fn part_words(part: &Part, media: &MediaBytes) -> String {
    match encode_part(part, media, &NOTHING) {
        EncodedPart::Text(text) => text.to_owned(),
        EncodedPart::Words(words) => words,
        EncodedPart::Image { .. } | EncodedPart::Document { .. } => String::new(),
    }
}

fn reply_words(part: &ReplyPart) -> Option<String> {
    match part {
        ReplyPart::Text { text } => Some(text.clone()),
        ReplyPart::Call(call) => Some(format!("[called {} with {}]", call.tool, call.input)),
        ReplyPart::Opaque { item, .. } => {
            let field = |name: &str| item.get(name).and_then(Value::as_str);
            Some(format!("[used {}: {}]", field("tool")?, field("title")?))
        }
        ReplyPart::Thinking { .. } => None,
    }
}

/// Counts parts that are named but not shown.
fn unseen_in(message: &ModelMessage, media: &MediaBytes) -> usize {
    let is_unseen = |part: &&Part| match part {
        Part::Text { .. } => false,
        Part::Image { .. } => true,
        Part::File { .. } => part_words(part, media).starts_with('['),
    };
    match message {
        ModelMessage::User(parts) => parts.iter().filter(is_unseen).count(),
        ModelMessage::Assistant { .. } => 0,
        ModelMessage::Results(results) => results
            .iter()
            .map(|result| result.content.iter().filter(is_unseen).count())
            .sum(),
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, sync::Arc};

    use rooftree_protocol::BlobId;

    use super::*;

    #[test]
    fn a_short_text_file_is_told_and_everything_else_is_named() {
        let file = |name: &str, media_type: &str| Part::File {
            blob: BlobId::from_digest(name.as_bytes()),
            name: name.into(),
            media_type: media_type.into(),
            bytes: 2,
        };
        let (text, pdf) = (
            file("a.txt", "text/plain"),
            file("b.pdf", "application/pdf"),
        );
        let bytes = |content: &'static [u8]| Arc::<[u8]>::from(content);
        let media: MediaBytes = Arc::new(HashMap::from([
            (BlobId::from_digest(b"a.txt"), bytes(b"hi")),
            (BlobId::from_digest(b"b.pdf"), bytes(b"\xff\xfe")),
        ]));
        assert_eq!(
            part_words(&text, &media),
            "<file name=\"a.txt\">\nhi\n</file>"
        );
        assert!(part_words(&pdf, &media).starts_with("[file b.pdf, application/pdf"));
        assert_eq!(
            unseen_in(
                &ModelMessage::User(vec![text, pdf, Part::text("[x]")]),
                &media
            ),
            1
        );
    }
}
